/* reroot.c - a new tree from a session's: each node goes below the place its
 * parent went to, or to the top.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/reroot.h"
#include "analyzer/base/mem.h"

/* Parents come before their children. */
struct cct *merge_tree(struct session *s, const struct merge_options *o)
{
	const size_t n = cct_count(s->cct);
	struct cct *const t = cct_new(SIZE_MAX);
	node_id *const to = mem_alloc((n + 1) * sizeof(*to));
	node_id *const root = mem_alloc((n + 1) * sizeof(*root));

	cct_collect_as(t, s->cct);
	for (node_id id = 1; id <= n; id++) {
		const struct cct_node *const c = cct_get(s->cct, id);

		root[id] = c->parent ? root[c->parent] : id;
		if (o->thread != MERGE_ALL &&
		    cct_get(s->cct, root[id])->thread != o->thread)
			continue;
		if (!c->parent)
			to[id] = cct_root(t, o->by_thread ? c->thread :
					  MERGE_ALL);
		else if (o->by_coroutine && (c->flags & CCT_BODY))
			to[id] = cct_child(t, to[root[id]], c->func,
					   c->flags & CCT_SHAPE);
		else
			to[id] = cct_child(t, to[c->parent], c->func,
					   c->flags & CCT_SHAPE);
		cct_add(t, to[id], s->cct, id);
	}
	mem_free(to);
	mem_free(root);
	return t;
}
