/* export_chrome.c - Trace Event JSON. Complete events take half the room of
 * a beginning and an end each, and no reader can pair them wrongly.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

struct writer {
	FILE *to;
	struct export_spans t;
	size_t flows;            /* numbered so far */
	const char *between;     /* events */
};

/* Events are made in a line of this size, and end where their names begin. */
enum { LINE = 256 };

/* Begin an event: its kind and its track. Returns where it ends. */
static char *begin_event(struct writer *w, char *at, char kind, size_t track)
{
	const uint32_t process = w->t.found->tracks[track].process;

	at = stpcpy(at, w->between);
	at = stpcpy(at, "{\"ph\":\"");
	*at++ = kind;
	at = stpcpy(at, "\",\"pid\":");
	at = out_number_digits(at, export_spans_pid(&w->t, process), 1);
	at = stpcpy(at, ",\"tid\":");
	at = out_number_digits(at, export_spans_tid(&w->t, track), 1);
	w->between = ",\n";
	return at;
}

/* The format counts in us. */
static char *add_us(char *at, const char *key, uint64_t ns)
{
	at = stpcpy(at, key);
	at = out_number_digits(at, ns / 1000, 1);
	*at++ = '.';
	return out_number_digits(at, ns % 1000, 3);
}

static void put_line(struct writer *w, const char *line, const char *end)
{
	fwrite_unlocked(line, 1, (size_t)(end - line), w->to);
}

/* Viewers that add up by name take other arguments for another name: only what
 * is folded has any. */
static void put_span(struct writer *w, size_t track, const struct span *s)
{
	const bool is_folded = s->flags & (SPAN_FOLDED | SPAN_DEEP);
	const bool goes_on = s->kind == SPAN_CALL && s->calls == 0;
	const uint64_t from = export_spans_ns(&w->t, s->begin);
	const uint32_t name = export_spans_name(&w->t, s);
	char line[LINE], *at = begin_event(w, line, 'X', track);

	at = add_us(at, ",\"ts\":", from);
	at = add_us(at, ",\"dur\":", export_spans_ns(&w->t, s->end) - from);
	at = stpcpy(at, ",\"cat\":\"");
	at = stpcpy(at, export_spans_category(&w->t, name));
	at = stpcpy(at, goes_on && !is_folded ? ",continued\",\"name\":" :
		    "\",\"name\":");
	put_line(w, line, at);
	fputs_unlocked(export_spans_json(&w->t, name), w->to);
	if (is_folded) {
		out_number_put(w->to, ",\"args\":{\"calls\":", s->calls);
		putc_unlocked('}', w->to);
	}
	putc_unlocked('}', w->to);
}

/* ---- flows ---- */

/* A point of a flow: 's' begins it, 't' goes on, 'f' ends it, each in the slice
 * that is there at that time. */
static void put_flow(struct writer *w, char kind, size_t track, ticks at)
{
	char line[LINE], *end = begin_event(w, line, kind, track);

	end = add_us(end, ",\"ts\":", export_spans_ns(&w->t, at));
	end = stpcpy(end, ",\"id\":");
	end = out_number_digits(end, w->flows, 1);
	end = stpcpy(end, ",\"cat\":\"run\",\"name\":\"resume\"");
	end = stpcpy(end, kind == 's' ? "}" : ",\"bp\":\"e\"}");
	put_line(w, line, end);
}

/* From who resumes a coroutine, over the coroutine, back to him. */
static void put_run(struct writer *w, size_t track, const struct span *s)
{
	const struct span *const in = chronicle_of_run(w->t.found, s);

	if (!in || s->flags & SPAN_FOLDED)
		return;
	w->flows++;
	put_flow(w, 's', track, s->begin);
	put_flow(w, 't', s->to, in->begin);
	put_flow(w, 'f', track, s->end);
}

/* ---- tracks ---- */

/* The track's name, and its place among the others. */
static void put_track(struct writer *w, size_t track)
{
	char name[GROUP_NAME], line[LINE];

	put_line(w, line, begin_event(w, line, 'M', track));
	fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", w->to);
	out_json_text(w->to, export_spans_track(&w->t, track, name));
	fputs("}}", w->to);
	put_line(w, line, begin_event(w, line, 'M', track));
	fprintf(w->to, ",\"name\":\"thread_sort_index\",\"args\":{"
		"\"sort_index\":%zu}}", track);
}

static void put_spans(struct writer *w, size_t track)
{
	const struct track *const k = &w->t.found->tracks[track];

	if (k->count == 0)
		return;
	put_track(w, track);
	for (size_t i = 0; i < k->count; i++) {
		put_span(w, track, &k->spans[i]);
		if (k->spans[i].kind == SPAN_RUN)
			put_run(w, track, &k->spans[i]);
	}
}

static void put_processes(struct writer *w)
{
	const struct session *const s = w->t.session;
	char name[GROUP_NAME];

	for (uint32_t i = 0; i < s->process_count; i++) {
		fprintf(w->to, "%s{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"name\":"
			"\"process_name\",\"args\":{\"name\":", w->between,
			export_spans_pid(&w->t, i));
		out_json_text(w->to, group_name_process(s, i, name));
		fputs("}}", w->to);
		w->between = ",\n";
	}
}

static void put_marks(struct writer *w)
{
	const struct chronicle_found *const f = w->t.found;
	char line[LINE];

	for (size_t i = 0; i < f->mark_count; i++) {
		char *const at = begin_event(w, line, 'i', f->marks[i].track);

		put_line(w, line, add_us(at, ",\"ts\":",
			export_spans_ns(&w->t, f->marks[i].at)));
		fputs(",\"s\":\"t\",\"cat\":\"mark\",\"name\":", w->to);
		out_json_name(w->to, func_get(w->t.session->funcs,
					      f->marks[i].func));
		fputc('}', w->to);
	}
}

int export_chrome_write(FILE *to, const struct export_from *from)
{
	struct writer w = { .to = to, .between = "\n" };
	char *title;

	export_spans_init(&w.t, from);
	title = export_spans_title(&w.t);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"recorder\":"
	      "\"weft\",\"title\":", to);
	out_json_text(to, title);
	fputs(",\"lost\":", to);
	out_json_texts(to, from->lost, from->lost_count);
	fputs(",\"notes\":", to);
	out_json_texts(to, from->notes, from->note_count);
	fputs("},\"traceEvents\":[", to);
	put_processes(&w);
	for (size_t i = 0; i < from->chronicle->count; i++)
		put_spans(&w, i);
	put_marks(&w);
	fputs("\n]}\n", to);
	mem_free(title);
	export_spans_fini(&w.t);
	return 0;
}
