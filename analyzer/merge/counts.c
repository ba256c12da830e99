/* counts.c - adds up calls and nodes by function on both sides, and compares.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/counts.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/merge/diff_match.h"

#include <math.h>
#include <stdlib.h>

/* Calls in one session, from the statistics; a session that is alone has none
 * of those for functions that were only counted. */
static void set_range(struct counts_side *to, const struct session *s,
		      const struct func_statistics *f)
{
	to->least += f->calls.sessions < s->part_count ? 0 : f->calls.min;
	to->most += f->calls.max;
}

/* Threads do not tell stacks apart: which of several equal ones does what is
 * chance. */
static void count_side(struct counts_row *rows, struct session *s,
		       const struct diff_matches *m, int side)
{
	const struct cct_reroot how = { false, false, CCT_ALL_THREADS };
	struct cct *const t = cct_reroot(s->cct, &how);

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		struct counts_side *const to =
			&rows[m->of[side][n->func]].side[side];

		to->calls += n->calls;
		to->stacks += n->calls > 0;
	}
	for (size_t i = 0; i < s->statistics_count; i++)
		set_range(&rows[m->of[side][s->statistics[i].func]].side[side],
			  s, &s->statistics[i]);
	cct_free(t);
}

static void compare(struct counts_row *r)
{
	const struct counts_side *const was = &r->side[0], *const is =
		&r->side[1];

	if (is->least > was->most)
		r->change = (int64_t)(is->least - was->most);
	else if (is->most < was->least)
		r->change = -(int64_t)(was->least - is->most);
	if (was->least == was->most && is->least == is->most)
		r->stacks = (int64_t)(is->stacks - was->stacks);
}

/* 3: more calls, 2: more stacks, 1: less. */
static int kind_of(const struct counts_row *r)
{
	return r->change > 0 ? 3 : r->change == 0 && r->stacks > 0 ? 2 : 1;
}

static int compare_rows(const void *a, const void *b)
{
	const struct counts_row *const x = a, *const y = b;
	const int64_t dx = x->change ? x->change : x->stacks;
	const int64_t dy = y->change ? y->change : y->stacks;

	return ORDER(kind_of(y), kind_of(x)) ?: ORDER(llabs(dy), llabs(dx)) ?:
	       UP(side[0].func) ?: UP(side[1].func);
}

/* Match 0 is of no function. */
static void keep_different(struct counts *c, const struct diff_matches *m)
{
	for (size_t i = 1; i < m->count; i++) {
		struct counts_row row = c->rows[i];

		compare(&row);
		for (int side = 0; side < 2; side++) {
			row.side[side].func = m->list[i].id[side];
			c->calls[side] += row.side[side].calls;
			c->stacks[side] += row.side[side].stacks;
		}
		if (row.change != 0 || row.stacks != 0)
			c->rows[c->count++] = row;
	}
	order_sort(c->rows, c->count, compare_rows);
}

struct counts *counts_new(struct session *before, struct session *after)
{
	struct session *const sides[2] = { before, after };
	struct counts *const c = mem_alloc(sizeof(*c));
	struct diff_matches matches;

	diff_match_init(&matches, sides);
	c->rows = mem_alloc((matches.count + 1) * sizeof(*c->rows));
	for (int side = 0; side < 2; side++) {
		count_side(c->rows, sides[side], &matches, side);
		c->sessions[side] = sides[side]->part_count > 0 ?
				    sides[side]->part_count : 1;
	}
	keep_different(c, &matches);
	diff_match_fini(&matches);
	return c;
}

void counts_free(struct counts *c)
{
	if (!c)
		return;
	mem_free_all(c->rows, c);
}

double counts_growth(const struct counts_row *r)
{
	const bool by_calls = r->change > 0;
	const int64_t more = by_calls ? r->change :
			     r->change == 0 ? r->stacks : 0;
	const uint64_t was = by_calls ? r->side[0].most : r->side[0].stacks;

	return more <= 0 ? 0 : was == 0 ? INFINITY :
	       100.0 * (double)more / (double)was;
}
