/* bottom_up.c - all nodes of the tree in one array. A row is a range of it: the
 * nodes that have the same callers as far as the row goes. The next step up
 * sorts the range by caller: the array is all the memory that rows need.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/bottom_up.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <assert.h>
#include <stdlib.h>

/* A node, and how far up its path its row has come. */
struct climb {
	node_id node, at;
	uint64_t caller;         /* what the range is sorted by: the root at
	                          * first; then func * 2 of where it is, + 1 if
	                          * the last step went from a coroutine's body
	                          * to what resumed it */
};

struct bottom_up {
	const struct recursion *recursion;
	struct cct_path *path;
	struct node_totals totals; /* of what counts; see bottom_up.h */
	node_id *root;               /* by node */
	struct climb *climbs;
	size_t count;
};

ORDER_BY(compare, struct climb, UP(caller))

/* Chains of recursion are sorted already, and checking that is cheaper than
 * qsort. The order of nodes of one caller does not matter: they are added
 * up. */
static void sort(struct climb *climbs, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (climbs[i - 1].caller <= climbs[i].caller)
			continue;
		qsort(climbs, count, sizeof(*climbs), compare);
		return;
	}
}

/* What of a node's times counts for its function's row. A root counts for time
 * in no function: with its own times only. */
static void weigh(struct bottom_up *b, node_id id)
{
	const struct cct_node *const n = cct_get(b->recursion->tree, id);

	if (n->parent == 0)
		b->totals.suspended[id] = n->suspended;
	if (!cct_path_is_first(b->path, id))
		b->totals.suspended[id] = 0;
	if (n->parent == 0 || !cct_path_is_outermost(b->path, id))
		node_totals_cut(&b->totals, b->recursion->tree, id,
				n->parent == 0);
}

struct bottom_up *bottom_up_new(const struct recursion *recursion,
				size_t functions)
{
	struct cct *const tree = recursion->tree;
	const size_t count = cct_count(tree);
	struct bottom_up *const b = mem_alloc(sizeof(*b));

	b->recursion = recursion;
	b->count = count;
	b->path = cct_path_new(tree, functions);
	b->root = mem_alloc((count + 1) * sizeof(*b->root));
	b->climbs = mem_alloc((count + 1) * sizeof(*b->climbs));
	node_totals_init(&b->totals, tree);
	for (node_id id = 1; id <= count; id++) {
		const node_id parent = cct_get(tree, id)->parent;

		assert(parent < id);
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
	node_totals_fini(&b->totals);
	mem_free_all(b->root, b->climbs, b);
}

/* levels are those of the function that the row names: of the node that the
 * climb has come to. */
static void add_node(const struct bottom_up *b, struct tree_row *row,
		     const struct climb *c)
{
	const node_id id = c->node;

	figures_add_own(&row->f, b->recursion->tree, id);
	figures_add_division(&row->f, b->recursion->tree, id);
	figures_add_total(&row->f, &b->totals, id);
	row->f.recursive += b->recursion->recursive[id];
	row->levels = MAX(b->recursion->levels[c->at], row->levels);
	row->f.suspended += b->totals.suspended[id];
}

/* To the functions' rows: no step up yet. */
static void start(const struct bottom_up *b, struct climb *c)
{
	c->at = c->node;
	c->caller = (uint64_t)cct_get(b->recursion->tree, c->at)->func * 2;
}

/* To the next caller. Above a root is node 0, whose function is 0: outside. */
static void step(const struct bottom_up *b, struct climb *c)
{
	const struct cct_node *const n = cct_get(b->recursion->tree, c->at);

	assert(c->at != 0);
	c->at = n->parent;
	c->caller = (uint64_t)cct_get(b->recursion->tree, c->at)->func * 2 +
		    ((n->flags & CCT_BODY) != 0);
}

/* At first the range is sorted by root: each root is a part of it. */
static void add_roots(const struct bottom_up *b, struct tree_rows *to)
{
	struct cct *const cct = b->recursion->tree;

	for (size_t i = 0; i < b->count; ) {
		struct tree_row *const row = tree_add(to);
		const node_id root = b->root[b->climbs[i].node];

		row->kind = TREE_ROOT;
		row->thread = cct_get(cct, root)->thread;
		row->from = i;
		for (; i < b->count &&
		       b->root[b->climbs[i].node] == root; i++)
			figures_add_self(&row->f, cct, b->climbs[i].node);
		row->to = i;
		row->f.total = row->f.self;
		row->f.raw_total = row->f.raw_self;
		row->f.total_variance = row->f.self_variance;
		row->f.total_cpu = row->f.cpu;
		row->f.total_off = row->f.off;
		row->f.total_ready = row->f.ready;
		row->f.total_heap = row->f.heap;
		row->levels = 1;
	}
}

/* A root in which no time was spent outside functions needs no row of its own
 * time. */
static bool is_empty(const struct bottom_up *b, const struct climb *c)
{
	const struct cct_node *const n = cct_get(b->recursion->tree, c->node);

	return n->parent == 0 && n->self == 0 && n->suspended == 0;
}

/* The range is sorted by caller: each caller is a part of it. */
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
		row = tree_add(to);
		row->f.func = (func_id)(caller / 2);
		row->kind = row->f.func == 0 ? TREE_OUTSIDE : TREE_FUNC;
		row->crosses = caller % 2 != 0;
		row->from = i;
		for (; i < end && b->climbs[i].caller == caller; i++)
			add_node(b, row, &b->climbs[i]);
		row->to = i;
	}
}

/* Moves the climbs of the parent's range one step up, so the rows below a row
 * can be asked for only once, as tree_each does. */
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

struct tree_source bottom_up_source(struct bottom_up *b)
{
	return (struct tree_source){ b, add };
}
