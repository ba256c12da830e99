/* heaps.c - adds up memory by function on both sides, and compares.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/heaps.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/merge/diff_match.h"

#include <math.h>

static void divide(struct heap_sum *sum, double sessions)
{
	sum->blocks /= sessions;
	sum->bytes /= sessions;
	sum->variance /= sessions * sessions;
	sum->unseen /= sessions * sessions;
}

static void add_side(struct heaps_row *rows, const struct session *s,
		     const struct diff_matches *m, int side)
{
	const double sessions = s->part_count > 0 ? (double)s->part_count : 1;

	for (node_id id = 1; id <= cct_count(s->cct); id++) {
		const uint32_t at = m->of[side][cct_get(s->cct, id)->func];
		const struct cct_heap heap = cct_heap_of(s->cct, id);
		struct heaps_side *const to = &rows[at].side[side];

		cct_heap_add(&to->taken, &heap.taken);
		cct_heap_add(&to->in_use, &heap.in_use);
	}
	for (size_t i = 0; i < m->count; i++) {
		divide(&rows[i].side[side].taken, sessions);
		divide(&rows[i].side[side].in_use, sessions);
	}
}

static void compare(struct heaps_row *r)
{
	const struct heaps_side *const was = &r->side[0], *const is =
		&r->side[1];

	r->taken = is->taken.bytes - was->taken.bytes;
	r->in_use = is->in_use.bytes - was->in_use.bytes;
	r->taken_error = hypot(cct_heap_error(&is->taken),
			       cct_heap_error(&was->taken));
	r->in_use_error = hypot(cct_heap_error(&is->in_use),
				cct_heap_error(&was->in_use));
	r->is_chance = fabs(r->taken) <= 2 * r->taken_error &&
		       fabs(r->in_use) <= 2 * r->in_use_error;
}

static int compare_rows(const void *a, const void *b)
{
	const struct heaps_row *const x = a, *const y = b;

	return ORDER(x->is_chance, y->is_chance) ?:
	       ORDER(fabs(y->in_use), fabs(x->in_use)) ?:
	       ORDER(fabs(y->taken), fabs(x->taken)) ?:
	       UP(side[0].func) ?: UP(side[1].func);
}

/* Match 0 is of threads: what was taken outside of all functions. */
struct heaps *heaps_new(struct session *before, struct session *after)
{
	struct session *const sides[2] = { before, after };
	struct heaps *const h = mem_alloc(sizeof(*h));
	struct diff_matches m;

	diff_match_init(&m, sides);
	h->rows = mem_alloc((m.count + 1) * sizeof(*h->rows));
	for (int side = 0; side < 2; side++)
		add_side(h->rows, sides[side], &m, side);
	for (size_t i = 0; i < m.count; i++) {
		struct heaps_row row = h->rows[i];

		compare(&row);
		for (int side = 0; side < 2; side++) {
			row.side[side].func = m.list[i].id[side];
			cct_heap_add(&h->all.side[side].taken,
				     &row.side[side].taken);
			cct_heap_add(&h->all.side[side].in_use,
				     &row.side[side].in_use);
		}
		if (row.taken != 0 || row.in_use != 0)
			h->rows[h->count++] = row;
	}
	compare(&h->all);
	order_sort(h->rows, h->count, compare_rows);
	diff_match_fini(&m);
	return h;
}

void heaps_free(struct heaps *h)
{
	if (h)
		mem_free_all(h->rows, h);
}
