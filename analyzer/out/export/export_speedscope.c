/* export_speedscope.c - for speedscope, the tree or single calls. Writes JSON
 * piece by piece: a document of millions of events would take gigabytes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/export/export_spans.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <string.h>

static void put_head(FILE *to, const char *title)
{
	fputs("{\"$schema\":"
	      "\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"weft\",\"name\":", to);
	out_json_text(to, title);
	fputs(",\"shared\":{\"frames\":[", to);
}

/* What a frame has behind its name. */
static void put_place(FILE *to, const struct func *f)
{
	if (f && f->file[0] != '\0') {
		fputs(",\"file\":", to);
		out_json_text(to, f->file);
	}
	if (f && f->file_line > 0)
		fprintf(to, ",\"line\":%u", f->file_line);
	fputc('}', to);
}

/* Events follow. Times are ns. of: behind the name. */
static void put_profile(FILE *to, const char *name, const char *of,
			const char *unit, uint64_t begin, uint64_t end)
{
	char text[GROUP_NAME + 32];

	snprintf(text, sizeof(text), "%s%s", name, of);
	fputs("{\"type\":\"evented\",\"name\":", to);
	out_json_text(to, text);
	fprintf(to, ",\"unit\":\"%s\",\"startValue\":%" PRIu64
		",\"endValue\":%" PRIu64 ",\"events\":[", unit, begin, end);
}

/* ---- the tree ----------------------------------------------------------- */

/* What stacks are as wide as. */
enum width { TIME, ALLOCATED, IN_USE };

struct tree {
	FILE *to;
	struct session *s;
	enum width by;
	double at;               /* width of the stacks so far: ticks, which
	                          * become ns as a sum, so that errors of
	                          * rounding do not add up, or bytes */
};

static double width_of(const struct tree *w, node_id id)
{
	const struct cct_heap heap = cct_heap_of(w->s->cct, id);

	return w->by == ALLOCATED ? heap.taken.bytes :
	       w->by == IN_USE ? heap.in_use.bytes :
	       (double)cct_get(w->s->cct, id)->self;
}

static unsigned long long at_of(const struct tree *w, double at)
{
	return w->by == TIME ? session_ns(w->s, (ticks)at) :
			       (unsigned long long)(at + 0.5);
}

/* All functions, to which events refer. The viewer adds up by name, file and
 * line, so functions of two languages get different names. */
static void put_functions(struct tree *w)
{
	const size_t count = func_count(w->s->funcs);

	for (func_id id = 1; id <= count; id++) {
		const struct func *const f = func_get(w->s->funcs, id);

		fputs(id > 1 ? ",\n{\"name\":" : "\n{\"name\":", w->to);
		out_json_name(w->to, f);
		put_place(w->to, f);
	}
	fputs("]}", w->to);
}

static void put_node(struct tree *w, char type, const struct cct_node *n)
{
	fprintf(w->to, "{\"type\":\"%c\",\"frame\":%zu,\"at\":%llu}", type,
		(size_t)n->func - 1, at_of(w, w->at));
}

/* Write all below a root, each stack by two events; the time of a function
 * itself comes behind that of its callees. Walks by links, without recursion:
 * stacks may be a million frames deep. is_back: the node was entered before,
 * and all below it is written. */
static void put_stacks(struct tree *w, node_id root)
{
	struct cct *const t = w->s->cct;
	node_id id = root;
	bool is_first = true, is_back = false;

	for (;;) {
		const struct cct_node *const n = cct_get(t, id);

		if (!is_back && id != root) {
			fputs(is_first ? "\n" : ",\n", w->to);
			is_first = false;
			put_node(w, 'O', n);
		}
		if (!is_back && n->child != 0) {
			id = n->child;
			continue;
		}
		w->at += width_of(w, id);
		if (id == root)
			return;
		fputs(",\n", w->to);
		put_node(w, 'C', n);
		is_back = n->sibling == 0;
		id = is_back ? n->parent : n->sibling;
	}
}

static void put_thread(struct tree *w, node_id root, double total)
{
	static const char *const of[] = {
		[TIME] = "", [ALLOCATED] = ", bytes allocated",
		[IN_USE] = ", bytes in use" };
	const uint32_t thread = cct_get(w->s->cct, root)->thread;
	char name[GROUP_NAME] = "all threads";

	if (thread < w->s->thread_count)
		group_name_thread(w->s, thread, name);
	put_profile(w->to, name, of[w->by], w->by == TIME ? "nanoseconds" :
		    "bytes", 0, at_of(w, total));
	w->at = 0;
	put_stacks(w, root);
	fputs("]}", w->to);
}

/* A profile for each root; one without calls would be empty, and so would one
 * of memory where none was taken. */
static void put_threads(struct tree *w)
{
	struct cct *const t = w->s->cct;
	double *const total = mem_alloc((cct_count(t) + 1) * sizeof(*total));
	const char *between = "\n";

	fputs(",\n\"profiles\":[", w->to);
	for (w->by = TIME; w->by <= IN_USE; w->by++) {
		memset(total, 0, (cct_count(t) + 1) * sizeof(*total));
		for (node_id id = (node_id)cct_count(t); id > 0; id--) {
			total[id] += width_of(w, id);
			total[cct_get(t, id)->parent] += total[id];
		}
		for (node_id id = cct_first_root(t); id != 0;
		     id = cct_get(t, id)->sibling) {
			if (cct_get(t, id)->child == 0 ||
			    (w->by != TIME && total[id] <= 0))
				continue;
			fputs(between, w->to);
			between = ",\n";
			put_thread(w, id, total[id]);
		}
	}
	fputs("]}\n", w->to);
	mem_free(total);
}

int export_speedscope_write(FILE *to, const struct export_from *from)
{
	const char *const command = session_note(from->session, "command");
	struct tree w = { .to = to, .s = from->session };

	put_head(to, command ? command : "weft");
	put_functions(&w);
	put_threads(&w);
	return 0;
}

/* ---- single calls: a profile for each track ------------------------------ */

struct calls {
	FILE *to;
	struct export_spans t;
	const char *between;     /* events */
};

/* The names of all spans, to which events refer. */
static void put_names(struct calls *w)
{
	struct func_table *const funcs = w->t.session->funcs;

	for (uint32_t i = 0; i < w->t.names; i++) {
		const func_id id = export_spans_func(&w->t, i);

		fprintf(w->to, "%s\n{\"name\":%s", i > 0 ? "," : "",
			export_spans_json(&w->t, i));
		put_place(w->to, id ? func_get(funcs, id) : NULL);
	}
	fputs("]}", w->to);
}

static void put_event(void *ctx, const struct span *s, bool is_end)
{
	struct calls *const w = ctx;
	char line[128], *at = stpcpy(line, w->between);

	at = stpcpy(at, "\n{\"type\":\"");
	*at++ = is_end ? 'C' : 'O';
	at = stpcpy(at, "\",\"frame\":");
	at = out_number_digits(at, export_spans_name(&w->t, s), 1);
	at = stpcpy(at, ",\"at\":");
	at = out_number_digits(at, export_spans_ns(&w->t, is_end ? s->end :
						   s->begin), 1);
	*at++ = '}';
	fwrite_unlocked(line, 1, (size_t)(at - line), w->to);
	w->between = ",";
}

/* The end of the last span that no other contains. */
static ticks end_of(const struct track *k)
{
	ticks end = 0;

	for (size_t i = 0; i < k->count; i++)
		end = k->spans[i].end > end ? k->spans[i].end : end;
	return end;
}

static void put_track(struct calls *w, size_t track)
{
	const struct track *const k = &w->t.found->tracks[track];
	char name[GROUP_NAME];

	fputc('\n', w->to);
	put_profile(w->to, export_spans_track(&w->t, track, name), "",
		    "nanoseconds", export_spans_ns(&w->t, k->spans[0].begin),
		    export_spans_ns(&w->t, end_of(k)));
	w->between = "";
	export_spans_walk(k, put_event, w);
	fputs("]}", w->to);
}

int export_speedscope_time_write(FILE *to, const struct export_from *from)
{
	struct calls w = { .to = to };
	bool is_first = true;
	char *title;

	export_spans_init(&w.t, from);
	title = export_spans_title(&w.t);
	put_head(to, title);
	put_names(&w);
	fputs(",\n\"profiles\":[", to);
	for (size_t i = 0; i < from->chronicle->count; i++) {
		if (from->chronicle->tracks[i].count == 0)
			continue;
		fputs(is_first ? "" : ",", to);
		is_first = false;
		put_track(&w, i);
	}
	fputs("]}\n", to);
	mem_free(title);
	export_spans_fini(&w.t);
	return 0;
}
