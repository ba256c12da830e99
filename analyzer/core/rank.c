/* rank.c - the flat table: every node of the tree goes to its function's row.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/rank.h"
#include "analyzer/base/mem.h"

#include <stdlib.h>

/* A walk over the tree; "the path" leads from the root to the node at hand. */
struct walk {
	struct cct *cct;
	const uint64_t *total, *susp;
	struct rank_row *row;    /* by func */
	uint8_t *seen;           /* by func: it has a node */
	node_id *same;           /* by func: its innermost node on the path */
	node_id *above;          /* by node: what same was before it */
	node_id *body;           /* by node: where its coroutine begins */
};

static void add_range(struct rank_row *row, const struct cct_node *n)
{
	if (!(n->flags & CCT_TIMED))
		return;
	/* row.func is 0 until the first finished call. */
	if (row->func == 0 || n->min < row->min)
		row->min = n->min;
	if (row->func == 0 || n->max > row->max)
		row->max = n->max;
	row->func = n->func;
}

/* Going down into a node. A parent's id is below its children's, so body[] of
 * the parent is known. */
static void visit(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	struct rank_row *const row = &w->row[n->func];

	w->body[id] = n->flags & CCT_BODY ? id : w->body[n->parent];
	w->seen[n->func] = 1;
	row->calls += n->calls;
	row->self += n->self;
	if (!w->same[n->func])
		row->total += w->total[id];
	if (!w->same[n->func] || w->body[w->same[n->func]] != w->body[id])
		row->suspended += w->susp[id];
	w->above[id] = w->same[n->func];
	w->same[n->func] = id;
	add_range(row, n);
}

static void leave(struct walk *w, node_id id)
{
	w->same[cct_get(w->cct, id)->func] = w->above[id];
}

/* All nodes below the root, without recursion: stacks may be deep. */
static void walk(struct walk *w, node_id root)
{
	node_id id = root;

	w->body[root] = root;
	for (;;) {
		node_id next = cct_get(w->cct, id)->child;

		while (!next && id != root) {
			leave(w, id);
			next = cct_get(w->cct, id)->sibling;
			id = cct_get(w->cct, id)->parent;
		}
		if (!next)
			return;
		id = next;
		visit(w, id);
	}
}

static void collect(struct rank *r, const struct walk *w, size_t funcs)
{
	r->rows = mem_alloc((funcs + 1) * sizeof(*r->rows));
	for (func_id f = 1; f <= funcs; f++) {
		if (!w->seen[f])
			continue;
		w->row[f].func = f;
		r->rows[r->count++] = w->row[f];
		r->self += w->row[f].self;
		r->calls += w->row[f].calls;
	}
}

static struct walk new_walk(struct session *s)
{
	const size_t nodes = cct_count(s->cct) + 1;
	const size_t funcs = func_count(s->funcs) + 1;
	uint64_t *const total = mem_alloc(2 * nodes * sizeof(*total));

	cct_totals(s->cct, total, total + nodes);
	return (struct walk){
		.cct = s->cct, .total = total, .susp = total + nodes,
		.row = mem_alloc(funcs * sizeof(struct rank_row)),
		.same = mem_alloc(funcs * sizeof(node_id)),
		.above = mem_alloc(nodes * sizeof(node_id)),
		.body = mem_alloc(nodes * sizeof(node_id)) };
}

static void free_walk(struct walk *w)
{
	mem_free((void *)(uintptr_t)w->total);
	mem_free(w->row);
	mem_free(w->same);
	mem_free(w->above);
	mem_free(w->body);
}

struct rank *rank_new(struct session *s, enum rank_key key, uint32_t thread)
{
	const size_t funcs = func_count(s->funcs);
	struct rank *const r = mem_alloc(sizeof(*r));
	struct walk w = new_walk(s);

	w.seen = mem_alloc(funcs + 1);
	for (node_id root = cct_first_root(s->cct); root;
	     root = cct_get(s->cct, root)->sibling) {
		if (thread != RANK_ALL_THREADS &&
		    cct_get(s->cct, root)->thread != thread)
			continue;
		r->root_self += cct_get(s->cct, root)->self;
		walk(&w, root);
	}
	collect(r, &w, funcs);
	rank_sort(r, key);
	mem_free(w.seen);
	free_walk(&w);
	return r;
}

void rank_free(struct rank *r)
{
	if (!r)
		return;
	mem_free(r->rows);
	mem_free(r);
}

ticks rank_average(const struct rank_row *row)
{
	return row->calls ? row->total / row->calls : 0;
}

static uint64_t value(const struct rank_row *row, enum rank_key key)
{
	switch (key) {
	case RANK_SELF:
		return row->self;
	case RANK_TOTAL:
		return row->total;
	case RANK_WALL:
		return row->total + row->suspended;
	case RANK_SUSPENDED:
		return row->suspended;
	case RANK_CALLS:
		return row->calls;
	case RANK_AVERAGE:
		return rank_average(row);
	case RANK_MIN:
		return row->min;
	case RANK_MAX:
		return row->max;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct rank_row *const x = a, *const y = b;
	const enum rank_key key = *(const enum rank_key *)ctx;
	const uint64_t vx = value(x, key), vy = value(y, key);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	return x->func < y->func ? -1 : x->func > y->func;
}

void rank_sort(struct rank *r, enum rank_key key)
{
	qsort_r(r->rows, r->count, sizeof(*r->rows), compare, &key);
}
