/* export_cpuprofile.c - nodes, then samples, then how long each of these lasts:
 * three walks over the tree. Times are us with three decimals.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/model/group.h"
#include "analyzer/out/out_json.h"

#include <inttypes.h>

/* The id of "(root)"; a node's is one more than its own. */
enum { ROOT = 1 };

static void put_us(FILE *to, uint64_t ns)
{
	fprintf(to, "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
}

/* Lines count from 0 in this format; -1: not known. */
static void put_frame(FILE *to, struct session *s, const struct cct_node *n)
{
	const struct func *const f = func_get(s->funcs, n->func);
	char thread[GROUP_NAME] = "all threads";

	fputs("\"callFrame\":{\"functionName\":", to);
	if (n->func != 0)
		out_json_name(to, f);
	else if (n->thread < s->thread_count)
		out_json_text(to, group_name_thread(s, n->thread, thread));
	else
		out_json_text(to, thread);
	fputs(",\"scriptId\":\"0\",\"url\":", to);
	out_json_text(to, f->file);
	fprintf(to, ",\"lineNumber\":%" PRId64 ",\"columnNumber\":-1}",
		(int64_t)f->file_line - 1);
}

/* The list of the nodes that begins with id. */
static void put_children(FILE *to, struct cct *t, node_id id)
{
	bool is_first = true;

	fputs(",\"children\":[", to);
	for (; id != 0; id = cct_get(t, id)->sibling) {
		fprintf(to, "%s%u", is_first ? "" : ",", ROOT + id);
		is_first = false;
	}
	fputs("]}", to);
}

static void put_nodes(FILE *to, struct session *s)
{
	struct cct *const t = s->cct;

	fprintf(to, "\"nodes\":[\n{\"id\":%d,\"callFrame\":{\"functionName\":"
		"\"(root)\",\"scriptId\":\"0\",\"url\":\"\",\"lineNumber\":-1,"
		"\"columnNumber\":-1},\"hitCount\":0", ROOT);
	put_children(to, t, cct_first_root(t));
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		fprintf(to, ",\n{\"id\":%u,", ROOT + id);
		put_frame(to, s, n);
		fprintf(to, ",\"hitCount\":%d", n->self > 0);
		put_children(to, t, n->child);
	}
	fputs("]", to);
}

/* The node after this one where callees come after their callers; 0: none. */
static node_id next(struct cct *t, node_id id)
{
	if (cct_get(t, id)->child != 0)
		return cct_get(t, id)->child;
	while (id != 0 && cct_get(t, id)->sibling == 0)
		id = cct_get(t, id)->parent;
	return id == 0 ? 0 : cct_get(t, id)->sibling;
}

/* A sample lasts until the next one: behind the last one of a node stands the
 * root. Ticks are added up and then converted, so that errors of rounding do
 * not. Returns the sum in ns. */
static uint64_t put_samples(FILE *to, struct session *s, bool of_times)
{
	struct cct *const t = s->cct;
	uint64_t before = 0;
	ticks at = 0;

	fputs(of_times ? ",\n\"timeDeltas\":[0" : ",\n\"samples\":[", to);
	for (node_id id = cct_first_root(t); id != 0; id = next(t, id)) {
		const ticks self = cct_get(t, id)->self;

		if (self == 0)
			continue;
		at += self;
		fputs(of_times ? ",\n" : "\n", to);
		if (of_times)
			put_us(to, session_ns(s, at) - before);
		else
			fprintf(to, "%u,", ROOT + id);
		before = session_ns(s, at);
	}
	if (!of_times)
		fprintf(to, "\n%d", ROOT);
	fputc(']', to);
	return before;
}

int export_cpuprofile_write(FILE *to, const struct export_from *from)
{
	struct session *const s = from->session;
	uint64_t end;

	fputc('{', to);
	put_nodes(to, s);
	put_samples(to, s, false);
	end = put_samples(to, s, true);
	fputs(",\n\"startTime\":0,\"endTime\":", to);
	put_us(to, end);
	fputs(",\n\"lost\":", to);
	out_json_texts(to, from->lost, from->lost_count);
	fputs("}\n", to);
	return 0;
}
