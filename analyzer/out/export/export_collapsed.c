/* export_collapsed.c - one line a stack. A semicolon in a name would end a
 * frame, so it is written as \x3b.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/export.h"

#include "analyzer/base/mem.h"
#include "analyzer/out/out_escape.h"

#include <inttypes.h>

enum { FRAMES_MAX = 1024 };  /* the innermost of a deeper stack */

static void put_name(FILE *to, const char *name)
{
	char *const safe = out_escape_terminal(name);

	for (const char *at = safe; *at != '\0'; at++)
		if (*at == ';')
			fputs("\\x3b", to);
		else
			fputc(*at, to);
	mem_free(safe);
}

/* Write the functions of a stack, the outermost first. The tree leads the other
 * way, so they are collected first. */
static void put_stack(FILE *to, struct session *s, node_id id)
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
		put_name(to, func_get(s->funcs, frames[--depth])->name);
	}
}

/* A root for all threads has no thread; its index is beyond the array. */
static const char *thread_name(const struct session *s, uint32_t thread)
{
	const char *const name = thread < s->thread_count ?
				 s->threads[thread].name : "";

	return name[0] == '\0' ? "[thread]" : name;
}

/* Parents come before their children, so each node gets its thread from its
 * parent. */
int export_collapsed_write(FILE *to, const struct export_from *from)
{
	struct session *const s = from->session;
	const size_t count = cct_count(s->cct);
	uint32_t *const thread = mem_alloc((count + 1) * sizeof(*thread));

	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(s->cct, id);
		const uint64_t ns = session_ns(s, n->self);

		thread[id] = n->parent != 0 ? thread[n->parent] : n->thread;
		if (ns == 0)
			continue;
		put_name(to, thread_name(s, thread[id]));
		put_stack(to, s, id);
		fprintf(to, " %" PRIu64 "\n", ns);
	}
	mem_free(thread);
	return 0;
}
