/* top_down.c - a row for each node of the folded tree.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/top_down.h"
#include "analyzer/base/mem.h"

struct top_down {
	const struct recursion *fold;
	uint64_t *total, *suspended; /* by node */
};

struct top_down *top_down_new(const struct recursion *fold)
{
	const size_t nodes = cct_count(fold->tree) + 1;
	struct top_down *const t = mem_alloc(sizeof(*t));

	t->fold = fold;
	t->total = mem_alloc(nodes * sizeof(*t->total));
	t->suspended = mem_alloc(nodes * sizeof(*t->suspended));
	cct_totals(fold->tree, t->total, t->suspended);
	return t;
}

void top_down_free(struct top_down *t)
{
	if (!t)
		return;
	mem_free(t->total);
	mem_free(t->suspended);
	mem_free(t);
}

/* A row's `from` is its node. */
static void add(void *of, const struct tree_row *parent, struct tree_rows *to)
{
	const struct top_down *const t = of;
	struct cct *const cct = t->fold->tree;
	node_id id = !parent ? cct_first_root(cct) :
		     cct_get(cct, (node_id)parent->from)->child;

	for (; id != 0; id = cct_get(cct, id)->sibling) {
		const struct cct_node *const n = cct_get(cct, id);
		struct tree_row *const row = tree_walk_add(to);

		row->kind = n->parent == 0 ? TREE_ROOT : TREE_FUNC;
		row->func = n->func;
		row->thread = n->thread;
		row->crosses = (n->flags & CCT_BODY) != 0;
		row->calls = n->calls;
		row->recursive = t->fold->recursive[id];
		row->levels = t->fold->levels[id];
		row->self = n->self;
		row->total = t->total[id];
		row->suspended = t->suspended[id];
		row->from = id;
	}
}

struct tree_view top_down_view(struct top_down *t)
{
	return (struct tree_view){ t, add };
}
