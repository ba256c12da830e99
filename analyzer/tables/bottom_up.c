/* bottom_up.c - the nodes of the tree in one array; a row is a range of it, and
 * its nodes have come from the same callers so far. To go up a step sorts the
 * range by caller, so that what all rows need together is that array.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/bottom_up.h"
#include "analyzer/model/cct.h"
#include "analyzer/base/mem.h"

#include <stdlib.h>

/* A node, how far up its path the range at hand has come, and what its range is
 * sorted by: first the root, then func * 2 of where it is; + 1 if the last step
 * crossed from a coroutine's body to what resumed it. */
struct climb { node_id node, at; uint64_t caller; };

struct bottom_up {
	const struct recursion *fold;
	struct cct_path *path;
	uint64_t *total, *suspended; /* by node; see bottom_up.h */
	node_id *root;               /* by node */
	struct climb *climbs;
	size_t count;
};

static int compare(const void *a, const void *b)
{
	const struct climb *const x = a, *const y = b;

	return x->caller < y->caller ? -1 : x->caller > y->caller;
}

/* Chains of recursion are in order already. */
static void sort(struct climb *climbs, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (climbs[i - 1].caller <= climbs[i].caller)
			continue;
		qsort(climbs, count, sizeof(*climbs), compare);
		return;
	}
}

/* What counts of a node for its function's row. */
static void weigh(struct bottom_up *b, node_id id)
{
	const struct cct_node *const n = cct_get(b->fold->tree, id);

	if (n->parent == 0) {
		b->total[id] = n->self;
		b->suspended[id] = n->suspended;
	}
	if (!cct_path_is_first(b->path, id))
		b->suspended[id] = 0;
	if (!cct_path_is_outermost(b->path, id))
		b->total[id] = 0;
}

struct bottom_up *bottom_up_new(const struct recursion *fold, size_t functions)
{
	const size_t count = cct_count(fold->tree);
	struct bottom_up *const b = mem_alloc(sizeof(*b));

	b->fold = fold;
	b->count = count;
	b->path = cct_path_new(fold->tree, functions);
	b->total = mem_alloc((count + 1) * sizeof(*b->total));
	b->suspended = mem_alloc((count + 1) * sizeof(*b->suspended));
	b->root = mem_alloc((count + 1) * sizeof(*b->root));
	b->climbs = mem_alloc((count + 1) * sizeof(*b->climbs));
	cct_totals(fold->tree, b->total, b->suspended);
	for (node_id id = 1; id <= count; id++) {
		const node_id parent = cct_get(fold->tree, id)->parent;

		b->root[id] = parent == 0 ? id : b->root[parent];
		b->climbs[id - 1] = (struct climb){ id, id, b->root[id] };
		weigh(b, id);
	}
	sort(b->climbs, count);
	return b;
}

void bottom_up_free(struct bottom_up *b)
{
	if (!b)
		return;
	cct_path_free(b->path);
	mem_free(b->total);
	mem_free(b->suspended);
	mem_free(b->root);
	mem_free(b->climbs);
	mem_free(b);
}

static void add_node(const struct bottom_up *b, struct tree_row *row,
		     const struct climb *c)
{
	const node_id id = c->node;
	const struct cct_node *const n = cct_get(b->fold->tree, id);

	row->calls += n->calls;
	row->recursive += b->fold->recursive[id];
	if (b->fold->levels[c->at] > row->levels)
		row->levels = b->fold->levels[c->at];
	row->self += n->self;
	row->total += b->total[id];
	row->suspended += b->suspended[id];
}

/* The functions' rows: no step up yet. A root's own time is in none. */
static void start(const struct bottom_up *b, struct climb *c)
{
	c->at = c->node;
	c->caller = (uint64_t)cct_get(b->fold->tree, c->at)->func * 2;
}

static void step(const struct bottom_up *b, struct climb *c)
{
	const struct cct_node *const n = cct_get(b->fold->tree, c->at);

	c->at = n->parent;
	c->caller = (uint64_t)cct_get(b->fold->tree, c->at)->func * 2 +
		    ((n->flags & CCT_BODY) != 0);
}

static void add_roots(const struct bottom_up *b, struct tree_rows *to)
{
	struct cct *const cct = b->fold->tree;

	for (size_t i = 0; i < b->count; ) {
		struct tree_row *const row = tree_walk_add(to);
		const node_id root = b->root[b->climbs[i].node];

		row->kind = TREE_ROOT;
		row->thread = cct_get(cct, root)->thread;
		row->from = i;
		for (; i < b->count &&
		       b->root[b->climbs[i].node] == root; i++)
			row->total += cct_get(cct, b->climbs[i].node)->self;
		row->to = i;
		row->self = row->total;
		row->levels = 1;
	}
}

/* A root in which no time was spent outside of functions needs no row that
 * says so. */
static int is_empty(const struct bottom_up *b, const struct climb *c)
{
	const struct cct_node *const n = cct_get(b->fold->tree, c->node);

	return n->parent == 0 && n->self == 0 && n->suspended == 0;
}

static void add_callers(const struct bottom_up *b, size_t from, size_t end,
			struct tree_rows *to)
{
	for (size_t i = from; i < end; ) {
		const uint64_t caller = b->climbs[i].caller;
		struct tree_row *row;

		if (is_empty(b, &b->climbs[i])) {
			i++;
			continue;
		}
		row = tree_walk_add(to);
		row->func = (func_id)(caller / 2);
		row->kind = row->func == 0 ? TREE_OUTSIDE : TREE_FUNC;
		row->crosses = caller % 2 != 0;
		row->from = i;
		for (; i < end && b->climbs[i].caller == caller; i++)
			add_node(b, row, &b->climbs[i]);
		row->to = i;
	}
}

static void add(void *of, const struct tree_row *parent, struct tree_rows *to)
{
	struct bottom_up *const b = of;

	if (!parent) {
		add_roots(b, to);
		return;
	}
	if (parent->kind == TREE_OUTSIDE)
		return;
	for (size_t i = parent->from; i < parent->to; i++)
		if (parent->kind == TREE_ROOT)
			start(b, &b->climbs[i]);
		else
			step(b, &b->climbs[i]);
	sort(b->climbs + parent->from, parent->to - parent->from);
	add_callers(b, parent->from, parent->to, to);
}

struct tree_view bottom_up_view(struct bottom_up *b)
{
	return (struct tree_view){ b, add };
}
