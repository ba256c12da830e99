/* export_collapsed.c - one line a stack. A semicolon in a name would end a
 * frame, so it is written as \x3b.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <inttypes.h>
#include <string.h>

enum { FRAMES_MAX = 1024 };  /* the innermost of a deeper stack */

/* The name as it is written; the caller frees it. */
static char *name_of(const char *name)
{
	char *const safe = out_escape_terminal(name);
	struct mem_stream s;

	mem_stream_begin(&s);
	for (const char *at = safe; *at != '\0'; at++)
		if (*at == ';')
			fputs("\\x3b", s.to);
		else
			fputc(*at, s.to);
	mem_free(safe);
	return mem_stream_end(&s);
}

/* Write the functions of a stack by their names, the outermost first. The tree
 * leads the other way, so they are collected first. */
static void put_stack(FILE *to, struct session *s, char **names, node_id id)
{
	func_id frames[FRAMES_MAX];
	const struct cct_node *n = cct_get(s->cct, id);
	size_t depth = 0;

	for (; n->parent != 0; n = cct_get(s->cct, n->parent)) {
		if (depth == FRAMES_MAX)
			break;
		frames[depth++] = n->func;
	}
	if (n->parent != 0)
		fputs(";[frames left out]", to);
	while (depth > 0) {
		fputc(';', to);
		fputs(names[frames[--depth]], to);
	}
}

/* A root for all threads has no thread; its index is beyond the array. */
static const char *thread_name(const struct session *s, uint32_t thread)
{
	const char *const name = thread < s->thread_count ?
				 s->threads[thread].name : "";

	return name[0] == '\0' ? "[thread]" : name;
}

/* Of a stack that is cut, as if all its frames were as long. */
uint64_t export_collapsed_bytes(const struct session *s)
{
	const size_t count = cct_count(s->cct);
	struct path { uint64_t frames, bytes; } *const path =
		mem_alloc((count + 1) * sizeof(*path));
	uint64_t sum = 0;

	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		struct path *const p = &path[id];

		*p = path[n->parent];
		p->frames += n->parent != 0;
		p->bytes += n->parent == 0 ? 0 :
			    1 + strlen(func_get(s->funcs, n->func)->name);
		if (n->self > 0)
			sum += p->frames <= FRAMES_MAX ? p->bytes :
			       p->bytes / p->frames * FRAMES_MAX;
	}
	mem_free(path);
	return sum;
}

/* Parents come before their children, so each node gets its thread from its
 * parent. */
int export_collapsed_write(FILE *to, const struct export_from *from)
{
	struct session *const s = from->session;
	const size_t count = cct_count(s->cct);
	const size_t funcs = func_count(s->funcs);
	uint32_t *const thread = mem_alloc((count + 1) * sizeof(*thread));
	char **const names = mem_alloc((funcs + 1) * sizeof(*names));

	for (func_id f = 1; f <= funcs; f++)
		names[f] = name_of(func_get(s->funcs, f)->name);
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		const uint64_t ns = session_ns(s, n->self);
		char *root;

		thread[id] = n->parent != 0 ? thread[n->parent] : n->thread;
		if (ns == 0)
			continue;
		root = name_of(thread_name(s, thread[id]));
		fputs(root, to);
		mem_free(root);
		put_stack(to, s, names, id);
		fprintf(to, " %" PRIu64 "\n", ns);
	}
	for (func_id f = 1; f <= funcs; f++)
		mem_free(names[f]);
	mem_free_all(thread, names);
	return 0;
}
