/* export_firefox.c - a "processed" profile. The format is that of version 60,
 * which later viewers bring up to theirs; its tables are lists of columns. A
 * frame, its function and its name have the same number here.
 *
 * Samples are three columns, each of which is written by going over the spans
 * once more: all of them together would not fit in memory.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

/* A stack: one more frame on top of another stack. */
struct stack { uint32_t below, frame; }; /* below: number + 1; 0: none */

/* What is written of each stretch of time. */
enum column { NONE, STACK, TIME, WEIGHT };

struct writer {
	FILE *to;
	struct export_spans t;
	struct map *stack_of;    /* below and frame: number + 1 */
	struct stack *stack; size_t stacks, stack_room;
	/* Going over a track: the stack until now, since when. */
	uint32_t *open; size_t depth, room; /* numbers + 1, outermost first */
	uint64_t at;             /* ns */
	enum column column;      /* that is written */
	uint64_t count;          /* of stretches */
	const char *between;     /* values */
};

static char *add_ms(char *at, uint64_t ns)
{
	at = out_number_digits(at, ns / 1000000, 1);
	*at++ = '.';
	return out_number_digits(at, ns % 1000000, 6);
}

static void put_ms(struct writer *w, uint64_t ns)
{
	char text[40];

	fwrite_unlocked(text, 1, (size_t)(add_ms(text, ns) - text), w->to);
}

/* ---- stretches in which the stack is the same ---- */

static uint32_t stack_number(struct writer *w, uint32_t below, uint32_t frame)
{
	uint32_t *const number = map_put(w->stack_of, below, frame);

	if (*number == 0) {
		*vec_add(&w->stack, &w->stack_room, &w->stacks) =
			(struct stack){ below, frame };
		*number = (uint32_t)w->stacks;
	}
	return *number;
}

/* The next value of the column. */
static void put_stretch(struct writer *w, uint32_t stack, uint64_t from,
			uint64_t to)
{
	char text[40], *end = stpcpy(text, w->between);

	if (w->column != STACK)
		end = add_ms(end, w->column == TIME ? from : to - from);
	else if (stack == 0)
		end = stpcpy(end, "null");
	else
		end = out_number_digits(end, stack - 1, 1);
	fwrite_unlocked(text, 1, (size_t)(end - text), w->to);
	w->between = ",";
}

static void on_span(void *ctx, const struct span *s, bool is_end)
{
	struct writer *const w = ctx;
	const uint64_t now = export_spans_ns(&w->t, is_end ? s->end : s->begin);
	const uint32_t below = w->depth > 0 ? w->open[w->depth - 1] : 0;

	if (now > w->at && w->column != NONE)
		put_stretch(w, below, w->at, now);
	w->count += now > w->at;
	w->at = now;
	if (is_end) {
		w->depth--;
		return;
	}
	vec_need(&w->open, &w->room, w->depth + 1);
	w->open[w->depth++] = stack_number(w, below,
					   export_spans_name(&w->t, s));
}

/* Write a column; NONE: only number the stacks. */
static void each_stretch(struct writer *w, const struct track *k,
			 enum column column)
{
	w->column = column;
	w->at = k->count > 0 ? export_spans_ns(&w->t, k->spans[0].begin) : 0;
	w->count = 0;
	w->between = "";
	export_spans_walk(k, on_span, w);
}

/* ---- tables that all threads share ---- */

/* Write a column with the value of each row; fn NULL: `same` for all. */
static void put_column(struct writer *w, const char *name, size_t count,
		       void (*fn)(struct writer *, uint32_t row),
		       const char *same)
{
	fprintf(w->to, "\"%s\":[", name);
	for (uint32_t i = 0; i < count; i++) {
		fputs(i > 0 ? "," : "", w->to);
		if (fn)
			fn(w, i);
		else
			fputs(same, w->to);
	}
	fputs("],", w->to);
}

/* The last of a table's columns says how long they are. */
static void put_length(struct writer *w, size_t count)
{
	fprintf(w->to, "\"length\":%zu}", count);
}

/* The categories, by whose colours the viewer tells frames apart. The first one
 * with the colour grey is that of what is in no frame. */
static const char *const categories[][2] = {
	{ "other", "grey" }, { "native", "blue" }, { "lua", "yellow" },
	{ "folded", "lightblue" }, { "missing", "red" }, { "zone", "green" },
};
enum { CATEGORIES = sizeof(categories) / sizeof(*categories) };

static void put_category(struct writer *w, uint32_t row)
{
	const char *const name = export_spans_category(&w->t, row);
	size_t i = CATEGORIES - 1;

	while (i > 0 && strcmp(categories[i][0], name) != 0)
		i--;
	fprintf(w->to, "%zu", i);
}

static const struct func *func_of(const struct writer *w, uint32_t row)
{
	return func_get(w->t.session->funcs, export_spans_func(&w->t, row));
}

static void put_row(struct writer *w, uint32_t row)
{
	fprintf(w->to, "%" PRIu32, row);
}

/* A function's file is the source of the same number, if it has one. */
static void put_source(struct writer *w, uint32_t row)
{
	if (func_of(w, row)->file[0] == '\0')
		fputs("null", w->to);
	else
		put_row(w, row);
}

static void put_line(struct writer *w, uint32_t row)
{
	const struct func *const f = func_of(w, row);

	if (f->file_line == 0)
		fputs("null", w->to);
	else
		fprintf(w->to, "%" PRIu32, f->file_line);
}

/* Names come first in the list of strings, then files, then "mark". */
static void put_filename(struct writer *w, uint32_t row)
{
	fprintf(w->to, "%zu", w->t.names + row);
}

static void put_string(struct writer *w, uint32_t i)
{
	if (i < w->t.names)
		fputs(export_spans_json(&w->t, i), w->to);
	else
		out_json_text(w->to, func_of(w, (uint32_t)(i -
						w->t.names))->file);
}

static void put_frame(struct writer *w, uint32_t i)
{
	out_number_put(w->to, "", w->stack[i].frame);
}

static void put_prefix(struct writer *w, uint32_t i)
{
	if (w->stack[i].below == 0)
		fputs("null", w->to);
	else
		out_number_put(w->to, "", w->stack[i].below - 1);
}

static void put_funcs(struct writer *w)
{
	const size_t n = w->t.names;

	fputs(",\n\"frameTable\":{", w->to);
	put_column(w, "address", n, NULL, "-1");
	put_column(w, "inlineDepth", n, NULL, "0");
	put_column(w, "category", n, put_category, NULL);
	put_column(w, "subcategory", n, NULL, "0");
	put_column(w, "func", n, put_row, NULL);
	put_column(w, "nativeSymbol", n, NULL, "null");
	put_column(w, "innerWindowID", n, NULL, "null");
	put_column(w, "line", n, put_line, NULL);
	put_column(w, "column", n, NULL, "null");
	put_length(w, n);
	fputs(",\n\"funcTable\":{", w->to);
	put_column(w, "name", n, put_row, NULL);
	put_column(w, "isJS", n, NULL, "false");
	put_column(w, "relevantForJS", n, NULL, "false");
	put_column(w, "resource", n, NULL, "-1");
	put_column(w, "source", n, put_source, NULL);
	put_column(w, "lineNumber", n, put_line, NULL);
	put_column(w, "columnNumber", n, NULL, "null");
	put_length(w, n);
}

static void put_shared(struct writer *w)
{
	const size_t n = w->t.names;

	fputs("\"shared\":{\"stackTable\":{", w->to);
	put_column(w, "frame", w->stacks, put_frame, NULL);
	put_column(w, "prefix", w->stacks, put_prefix, NULL);
	put_length(w, w->stacks);
	put_funcs(w);
	fputs(",\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],"
	      "\"type\":[],\"length\":0},\n\"nativeSymbols\":{\"libIndex\":[],"
	      "\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0},\n"
	      "\"sources\":{", w->to);
	put_column(w, "uuid", n, NULL, "null");
	put_column(w, "filename", n, put_filename, NULL);
	put_length(w, n);
	fputs(",\n\"stringArray\":[", w->to);
	for (uint32_t i = 0; i < 2 * n; i++) {
		put_string(w, i);
		fputc(',', w->to);
	}
	fputs("\"mark\"]}", w->to);
}

/* ---- threads ---- */

static void put_mark_name(struct writer *w, uint32_t row)
{
	(void)row;
	fprintf(w->to, "%zu", 2 * w->t.names);
}

/* The marks of a track as a table: names are texts of their own in data. */
static void put_marks(struct writer *w, size_t track)
{
	const struct chronicle_found *const f = w->t.found;
	size_t count = 0;

	fputs("{\"data\":[", w->to);
	for (size_t i = 0; i < f->mark_count; i++) {
		if (f->marks[i].track != track)
			continue;
		fputs(count++ > 0 ? "," : "", w->to);
		fputs("{\"type\":\"mark\",\"name\":", w->to);
		out_json_text(w->to, func_get(w->t.session->funcs,
					      f->marks[i].func)->name);
		fputc('}', w->to);
	}
	fputs("],\"startTime\":[", w->to);
	count = 0;
	for (size_t i = 0; i < f->mark_count; i++) {
		if (f->marks[i].track != track)
			continue;
		fputs(count++ > 0 ? "," : "", w->to);
		put_ms(w, export_spans_ns(&w->t, f->marks[i].at));
	}
	fputs("],", w->to);
	put_column(w, "name", count, put_mark_name, NULL);
	put_column(w, "endTime", count, NULL, "null");
	put_column(w, "phase", count, NULL, "0");
	put_column(w, "category", count, NULL, "0");
	put_length(w, count);
}

static void put_samples(struct writer *w, const struct track *k)
{
	fputs(",\n\"samples\":{\"weightType\":\"tracing-ms\",\"stack\":[",
	      w->to);
	each_stretch(w, k, STACK);
	fputs("],\n\"time\":[", w->to);
	each_stretch(w, k, TIME);
	fputs("],\n\"weight\":[", w->to);
	each_stretch(w, k, WEIGHT);
	fprintf(w->to, "],\n\"length\":%" PRIu64 "},\n\"markers\":", w->count);
}

static void put_thread(struct writer *w, size_t track)
{
	const struct track *const k = &w->t.found->tracks[track];
	const uint32_t pid = export_spans_pid(&w->t, k->process);
	const uint32_t tid = export_spans_tid(&w->t, track);
	char name[GROUP_NAME];

	fputs("{\"name\":", w->to);
	out_json_text(w->to, export_spans_track(&w->t, track, name));
	fprintf(w->to, ",\"processType\":\"default\",\"processStartupTime\":0,"
		"\"processShutdownTime\":null,\"registerTime\":0,"
		"\"unregisterTime\":null,\"pausedRanges\":[],"
		"\"isMainThread\":%s,\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32
		",\"processName\":", pid == tid ? "true" : "false", pid, tid);
	out_json_text(w->to, group_name_process(w->t.session, k->process,
						name));
	put_samples(w, k);
	put_marks(w, track);
	fputc('}', w->to);
}

/* ---- the whole ---- */

/* What was lost, and what else a reader should know. */
static void put_sentences(struct writer *w, const char *label,
			  const char **text, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(w->to, "%s{\"label\":\"%s\",\"format\":\"string\","
			"\"value\":", w->between, label);
		out_json_text(w->to, text[i]);
		fputc('}', w->to);
		w->between = ",";
	}
}

static void put_categories(struct writer *w)
{
	fputs(",\n\"categories\":[", w->to);
	for (size_t i = 0; i < CATEGORIES; i++)
		fprintf(w->to, "%s{\"name\":\"%s\",\"color\":\"%s\","
			"\"subcategories\":[\"Other\"]}", i > 0 ? "," : "",
			categories[i][0], categories[i][1]);
	fputc(']', w->to);
}

static void put_meta(struct writer *w, const struct export_from *from)
{
	const struct session *const s = w->t.session;
	char *const title = export_spans_title(&w->t);

	fputs("{\"meta\":{\"preprocessedProfileVersion\":60,\"version\":31,"
	      "\"interval\":0.001,\"processType\":0,\"stackwalk\":0,"
	      "\"debug\":false,\"symbolicated\":true,\"importedFrom\":\"weft\","
	      "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":"
	      "true,\"keepProfileThreadOrder\":true,\"startTime\":", w->to);
	put_ms(w, session_real(s, session_first_tick(s)));
	fputs(",\"product\":", w->to);
	out_json_text(w->to, title);
	put_categories(w);
	fputs(",\n\"markerSchema\":[{\"name\":\"mark\",\"tooltipLabel\":"
	      "\"{marker.data.name}\",\"tableLabel\":\"{marker.data.name}\","
	      "\"chartLabel\":\"{marker.data.name}\",\"display\":["
	      "\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
	      "\"fields\":[{\"key\":\"name\",\"label\":\"Name\",\"format\":"
	      "\"string\"}]}],\n\"extra\":[{\"label\":\"weft\",\"entries\":[",
	      w->to);
	w->between = "";
	put_sentences(w, "Lost", from->lost, from->lost_count);
	put_sentences(w, "Note", from->notes, from->note_count);
	fputs("]}]},\n\"libs\":[],\n", w->to);
	mem_free(title);
}

int export_firefox_write(FILE *to, const struct export_from *from)
{
	const struct chronicle_found *const f = from->chronicle;
	struct writer w = { .to = to, .stack_of = map_new() };
	bool is_first = true;

	export_spans_init(&w.t, from);
	put_meta(&w, from);
	for (size_t i = 0; i < f->count; i++)
		each_stretch(&w, &f->tracks[i], NONE);
	put_shared(&w);
	fputs(",\n\"threads\":[", to);
	for (size_t i = 0; i < f->count; i++) {
		if (f->tracks[i].count == 0)
			continue;
		fputs(is_first ? "\n" : ",\n", to);
		is_first = false;
		put_thread(&w, i);
	}
	fputs("]}\n", to);
	map_free(w.stack_of);
	mem_free(w.stack);
	mem_free(w.open);
	export_spans_fini(&w.t);
	return 0;
}
