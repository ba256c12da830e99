/* export_speedscope.c - writes JSON piece by piece: a document of millions of
 * events would take gigabytes. A stack takes two events, however deep it is.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/group.h"
#include "analyzer/out/out_json.h"

struct writer {
	FILE *to;
	struct session *s;
	ticks at;                /* width of the stacks so far, converted to
	                          * ns as a sum: so errors of rounding do
	                          * not add up */
};

/* Write the list of all functions, to which events refer. The viewer adds up by
 * name, file and line, so functions of two languages get different names. */
static void put_frames(struct writer *w)
{
	const size_t count = func_count(w->s->funcs);

	fputs(",\"shared\":{\"frames\":[", w->to);
	for (func_id id = 1; id <= count; id++) {
		const struct func *const f = func_get(w->s->funcs, id);

		fputs(id > 1 ? ",\n{\"name\":" : "\n{\"name\":", w->to);
		out_json_name(w->to, f);
		if (f->file[0] != '\0') {
			fputs(",\"file\":", w->to);
			out_json_text(w->to, f->file);
		}
		if (f->file_line > 0)
			fprintf(w->to, ",\"line\":%u", f->file_line);
		fputc('}', w->to);
	}
	fputs("]}", w->to);
}

static void put_event(struct writer *w, char type, const struct cct_node *n)
{
	fprintf(w->to, "{\"type\":\"%c\",\"frame\":%zu,\"at\":%llu}", type,
		(size_t)n->func - 1,
		(unsigned long long)session_ns(w->s, w->at));
}

/* Write all below a root; the time of a function itself comes behind that of
 * its callees. Walks by links, without recursion: stacks may be a million
 * frames deep. is_back: the node was entered before, and all below it is
 * written. */
static void put_events(struct writer *w, node_id root)
{
	struct cct *const t = w->s->cct;
	node_id id = root;
	bool is_first = true, is_back = false;

	for (;;) {
		const struct cct_node *const n = cct_get(t, id);

		if (!is_back && id != root) {
			fputs(is_first ? "\n" : ",\n", w->to);
			is_first = false;
			put_event(w, 'O', n);
		}
		if (!is_back && n->child != 0) {
			id = n->child;
			continue;
		}
		w->at += n->self;
		if (id == root)
			return;
		fputs(",\n", w->to);
		put_event(w, 'C', n);
		is_back = n->sibling == 0;
		id = is_back ? n->parent : n->sibling;
	}
}

/* Write the profile of a thread. */
static void put_thread(struct writer *w, node_id root, ticks total)
{
	const uint32_t thread = cct_get(w->s->cct, root)->thread;
	char name[GROUP_NAME] = "all threads";

	if (thread < w->s->thread_count)
		group_name_thread(w->s, thread, name);
	fputs("{\"type\":\"evented\",\"name\":", w->to);
	out_json_text(w->to, name);
	fprintf(w->to, ",\"unit\":\"nanoseconds\",\"startValue\":0,"
		"\"endValue\":%llu,\"events\":[",
		(unsigned long long)session_ns(w->s, total));
	w->at = 0;
	put_events(w, root);
	fputs("]}", w->to);
}

/* A profile for each root; one without calls would be empty. */
static void put_threads(struct writer *w)
{
	struct cct *const t = w->s->cct;
	const size_t room = (cct_count(t) + 1) * sizeof(ticks);
	ticks *const total = mem_alloc(room), *const sleep = mem_alloc(room);
	bool is_first = true;

	cct_totals(t, total, sleep);
	fputs(",\n\"profiles\":[", w->to);
	for (node_id id = cct_first_root(t); id != 0;
	     id = cct_get(t, id)->sibling) {
		if (cct_get(t, id)->child == 0)
			continue;
		fputs(is_first ? "\n" : ",\n", w->to);
		is_first = false;
		put_thread(w, id, total[id]);
	}
	fputs("]}\n", w->to);
	mem_free(total);
	mem_free(sleep);
}

int export_speedscope_write(FILE *to, const struct export_from *from)
{
	struct session *const s = from->session;
	const char *const command = session_note(s, "command");
	struct writer w = { .to = to, .s = s };

	fputs("{\"$schema\":"
	      "\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"weft\",\"name\":", to);
	out_json_text(to, command ? command : "weft");
	put_frames(&w);
	put_threads(&w);
	return 0;
}
