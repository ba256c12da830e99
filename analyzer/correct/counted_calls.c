/* counted_calls.c - native functions whose calls were only counted, at times or
 * always: they have no frames, so samples in their code have no node until
 * net_place gives them one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/correct/correct.h"

#include <string.h>

bool counted_calls_are_all(const struct session *s)
{
	const char *const mode = session_note(s, "mode");

	return mode && strcmp(mode, "count-only") == 0;
}

/* Where all calls are only counted, nothing has times. */
void counted_calls_find(struct session *s)
{
	if (!session_has_times(s))
		return;
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		struct func *const f =
			func_get(s->funcs, cct_get(s->cct, id)->func);

		if (f->kind == FUNC_NATIVE &&
		    cct_counted_of(s->cct, id).untimed > 0)
			f->counted = FUNC_COUNTED;
	}
}

uint8_t *counted_calls_mark(struct session *s)
{
	uint8_t *of = NULL;

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const struct cct_node *const n = cct_get(s->cct, id);

		if (!func_get(s->funcs, n->func)->counted)
			continue;
		if (!of)
			of = mem_alloc(func_count(s->funcs) + 1);
		of[n->func] = 1;
		of[cct_get(s->cct, n->parent)->func] = 1;
	}
	return of;
}

void counted_calls_time(struct session *s)
{
	if (!(s->net.is_net & (NET_SAMPLED | NET_REFERENCE)))
		return;
	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const uint64_t calls = cct_counted_of(s->cct, id).untimed;

		if (calls == 0 ||
		    !func_get(s->funcs, cct_get(s->cct, id)->func)->counted)
			continue;
		cct_time_untimed(s->cct, id);
		s->counted -= calls < s->counted ? calls : s->counted;
	}
}
