/* cct_division.c - how exactly a function's time is divided among its nodes:
 * what lies below a node, for totals (cct_samples.c has one node's part). A
 * node's part is its weight in the sum of all weights, each of which is known
 * with an error: where one part is too long, others are too short, and the sum
 * is exact.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/cct_private.h"

#include <math.h>

/* A node's part, and its place in the order of a walk from the roots down. */
struct at { const struct cct_division *of; uint32_t order; node_id node; };

ORDER_BY(by_function, struct at, UP(of->all) ?: UP(of->func) ?:
	 UP(order))

static node_id walk_on(struct cct *t, node_id id)
{
	if (cct_get(t, id)->child)
		return cct_get(t, id)->child;
	while (id != 0 && cct_get(t, id)->sibling == 0)
		id = cct_get(t, id)->parent;
	return id != 0 ? cct_get(t, id)->sibling : 0;
}

/* Those that have errors, by function, each in the order of the walk. */
static struct at *sort_parts(struct cct *t, size_t *count)
{
	struct at *const at = mem_alloc((t->count + t->givens + 1) *
					sizeof(*at));
	uint32_t order = 0;

	*count = 0;
	for (node_id id = cct_first_root(t); id != 0; id = walk_on(t, id)) {
		const struct cct_sampled *const of = &t->sampled[id];

		if (of->division.all > 0)
			at[(*count)++] = (struct at){ &of->division, order++,
						      id };
		for (uint32_t i = of->given; i > 0; i = t->given[i - 1].next)
			at[(*count)++] = (struct at){ &t->given[i - 1].of,
						      order++, id };
	}
	qsort(at, *count, sizeof(*at), by_function);
	return at;
}

/* The innermost node that is on both paths, 0: none. Parents have lower
 * numbers. */
static node_id common(struct cct *t, node_id a, node_id b)
{
	while (a != b)
		if (a > b)
			a = cct_get(t, a)->parent;
		else
			b = cct_get(t, b)->parent;
	return a;
}

/* One function's nodes, and those where its nodes' paths part: those of the
 * path that is being walked, with the sums of what was walked below each. */
struct fork { node_id node; struct cct_division sum; };
struct forks {
	struct cct *t;
	struct fork *at; size_t count, room;
	const struct cct_division *of; /* the function's */
	double *variance;   /* by node: the sum of those below it is its own */
	double *own;        /* of these, the part of the node's function */
};

static void push(struct forks *f, node_id node)
{
	*vec_add(&f->at, &f->room, &f->count) = (struct fork){ .node = node };
}

/* All below the last one was walked. above: what its path shares with that of
 * the next, 0: nothing. */
static void pop(struct forks *f, node_id above)
{
	const struct fork last = f->at[--f->count];
	const double variance = cct_division_variance(&last.sum);

	f->variance[last.node] += variance;
	if (cct_division_is_one(&f->t->sampled[last.node].division, f->of))
		f->own[last.node] = variance;
	if (above != 0 && (f->count == 0 || f->at[f->count - 1].node < above))
		push(f, above);
	if (f->count == 0)
		return;
	f->variance[f->at[f->count - 1].node] -= variance;
	cct_division_add(&f->at[f->count - 1].sum, &last.sum);
}

static void walk_function(struct forks *f, const struct at *at, size_t count)
{
	f->of = at->of;
	for (size_t i = 0; i < count; i++) {
		const node_id above = f->count == 0 ? 0 :
			common(f->t, f->at[f->count - 1].node, at[i].node);

		while (f->count > 0 && f->at[f->count - 1].node > above)
			pop(f, above);
		push(f, at[i].node);
		f->at[f->count - 1].sum = *at[i].of;
	}
	while (f->count > 0)
		pop(f, 0);
}

double *cct_division_below(struct cct *t)
{
	const size_t n = cct_count(t) + 1;
	struct forks f = { .t = t, .variance = mem_alloc(n * sizeof(double)),
			   .own = mem_alloc(n * sizeof(double)) };
	size_t count;
	struct at *const at = sort_parts(t, &count);

	for (size_t i = 0, next; i < count; i = next) {
		next = i + 1;
		while (next < count &&
		       cct_division_is_one(at[next].of, at[i].of))
			next++;
		walk_function(&f, at + i, next - i);
	}
	for (node_id id = (node_id)n - 1; id > 0; id--) {
		f.variance[cct_get(t, id)->parent] += f.variance[id];
		f.variance[id] = fmax(f.variance[id] - f.own[id], 0);
	}
	mem_free_all(at, f.own, f.at);
	return f.variance;
}

/* Of the parts of one function, what each row has together. */
static void add_rows(struct cct *t, const uint32_t *of, const node_id *up,
		     const struct at *part, const struct at *end,
		     struct cct_division *sum, uint32_t *rows, double *to)
{
	size_t count = 0;

	for (const struct at *p = part; p < end; p++)
		for (node_id id = up[p->node]; id != 0;
		     id = up[cct_get(t, id)->parent]) {
			struct cct_division *const row = &sum[of[id]];

			if (cct_division_is_one(&t->sampled[id].division,
						p->of))
				continue;
			if (row->all <= 0)
				rows[count++] = of[id];
			cct_division_add(row, p->of);
		}
	while (count-- > 0) {
		to[rows[count]] += cct_division_variance(&sum[rows[count]]);
		sum[rows[count]] = (struct cct_division){ .all = 0 };
	}
}

double *cct_division_of_rows(struct cct *t, const uint32_t *of, size_t rows)
{
	double *const variance = mem_alloc((rows + 1) * sizeof(*variance));
	struct cct_division *const sum = mem_alloc((rows + 1) * sizeof(*sum));
	uint32_t *const list = mem_alloc((rows + 1) * sizeof(*list));
	node_id *const up = mem_alloc((cct_count(t) + 1) * sizeof(*up));
	size_t count;
	struct at *const at = sort_parts(t, &count);

	for (node_id id = 1; id <= cct_count(t); id++)
		up[id] = of[id] ? id : up[cct_get(t, id)->parent];
	for (size_t i = 0, next; i < count; i = next) {
		next = i + 1;
		while (next < count &&
		       cct_division_is_one(at[next].of, at[i].of))
			next++;
		add_rows(t, of, up, at + i, at + next, sum, list, variance);
	}
	mem_free_all(sum, list, up, at);
	return variance;
}
