/* recursion.c - node by node: to the place its parent went to, or to that of the
 * same function above it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/recursion.h"
#include "analyzer/model/cct.h"
#include "analyzer/base/mem.h"

#include <stdint.h>

/* The node that this one is folded into, or 0. */
static node_id target(struct cct *cct, const struct cct_path *p, node_id id,
		      enum recursion_kind what)
{
	const node_id same = p->same[id];

	if (what == RECURSION_NONE || same == 0 || p->body[same] != p->body[id])
		return 0;
	return what == RECURSION_ALL || same == cct_get(cct,
							id)->parent ? same : 0;
}

/* Parents come before their children. level[id]: how many activations of its
 * function the path has folded, this one included. */
struct recursion *recursion_new(struct cct *cct, enum recursion_kind what,
				size_t functions)
{
	const size_t count = cct_count(cct);
	struct recursion *const f = mem_alloc(sizeof(*f));
	struct cct_path *const p = cct_path_new(cct, functions);
	node_id *const to = mem_alloc((count + 1) * sizeof(*to));
	uint32_t *const level = mem_alloc((count + 1) * sizeof(*level));

	f->tree = cct_new(SIZE_MAX);
	f->recursive = mem_alloc((count + 1) * sizeof(*f->recursive));
	f->levels = mem_alloc((count + 1) * sizeof(*f->levels));
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(cct, id);
		const node_id into = target(cct, p, id, what);

		to[id] = into != 0 ? to[into] : n->parent == 0 ?
			 cct_root(f->tree, n->thread) :
			 cct_child(f->tree, to[n->parent], n->func, n->flags);
		level[id] = into != 0 ? level[into] + 1 : 1;
		if (level[id] > f->levels[to[id]])
			f->levels[to[id]] = level[id];
		if (!cct_path_is_outermost(p, id))
			f->recursive[to[id]] += n->calls;
		cct_add(f->tree, to[id], cct, id);
	}
	mem_free(to);
	mem_free(level);
	cct_path_free(p);
	return f;
}

void recursion_free(struct recursion *f)
{
	if (!f)
		return;
	cct_free(f->tree);
	mem_free(f->recursive);
	mem_free(f->levels);
	mem_free(f);
}
