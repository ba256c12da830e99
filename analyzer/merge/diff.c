/* diff.c - a change of time, taken apart: a function called more often by a
 * caller answers for all that it calls; one that costs more a call for its own
 * code only, so that each nanosecond is laid at one door.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff.h"
#include "analyzer/merge/diff_count.h"
#include "analyzer/merge/diff_find.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <math.h>
#include <stdlib.h>

/* Rows that are less of the whole than this are not even tested. */
#define LEAST (1.0 / 5000)

struct maker {
	struct session *side[2];
	double sessions[2];
	struct diff_matches pairs;
	struct diff_count count;
	struct diff *out;
	size_t room;
	/* By reason of calls and pair: what was added, and the edge that adds
	 * or takes most. */
	double *added[DIFF_COST];
	uint32_t *most[DIFF_COST];  /* index + 1 */
};

static double sessions_of(const struct session *s)
{
	return s->part_count > 0 ? (double)s->part_count : 1;
}

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double chance(const struct maker *m, const struct statistics *before,
		     const struct statistics *after)
{
	return statistics_welch(before, (uint64_t)m->sessions[0], after,
			    (uint64_t)m->sessions[1]);
}

/* --- rows ---------------------------------------------------------------- */

static void add_row(struct maker *m, const struct diff_row *row)
{
	struct diff *const d = m->out;
	const double whole = d->before > d->after ? d->before : d->after;

	if (fabs(row->added) <= whole * LEAST)
		return;
	*vec_add(&d->rows, &m->room, &d->count) = *row;
}

static struct diff_row row_of(const struct maker *m, uint32_t pair,
			       enum diff_reason reason, double added)
{
	return (struct diff_row){ .reason = reason, .added = added,
				   .before = m->pairs.pairs[pair].id[0],
				   .after = m->pairs.pairs[pair].id[1] };
}

/* Time of one call with all that it calls; of one inside another of the same
 * function, its own only. */
static double whole_cost(const struct diff_func *f, int is_again)
{
	if (is_again || f->outer == 0)
		return ratio((double)f->self, (double)f->calls);
	return ratio((double)f->total, (double)f->outer);
}

/* What the change of one edge adds, and why. */
static void weigh_edge(struct maker *m, size_t i)
{
	const struct diff_edge *const e = &m->count.edges[i];
	const struct diff_func *const f[2] = {
		&m->count.func[0][e->func], &m->count.func[1][e->func] };
	double rate[2], added;
	uint64_t callers[2];
	enum diff_reason why = DIFF_CALLED;

	for (int k = 0; k < 2; k++) {
		callers[k] = e->caller > 0 ?
			m->count.func[k][e->caller].calls :
			(uint64_t)m->sessions[k];
		rate[k] = ratio((double)e->calls[k], (double)callers[k]);
	}
	/* What a new function calls is its own doing; the callees of one that
	 * is gone went with it. */
	if (callers[0] == 0 || callers[1] == 0)
		return;
	if (f[0]->calls == 0)
		why = DIFF_NEW;
	else if (e->calls[0] == 0)
		why = DIFF_NEW_CALLER;
	added = (rate[1] - rate[0]) * (double)callers[1] / m->sessions[1] *
		whole_cost(f[f[0]->calls == 0], e->is_again);
	if (m->most[why][e->func] == 0 || fabs(added) > fabs(
		(m->added[why] + m->pairs.count)[e->func])) {
		m->most[why][e->func] = (uint32_t)i + 1;
		(m->added[why] + m->pairs.count)[e->func] = added;
	}
	m->added[why][e->func] += added;
}

static void add_calls(struct maker *m, uint32_t pair, enum diff_reason why)
{
	const uint32_t most = m->most[why][pair];
	struct diff_row row = row_of(m, pair, why, m->added[why][pair]);
	const struct diff_match *caller;

	if (most == 0)
		return;
	caller = &m->pairs.pairs[m->count.edges[most - 1].caller];
	row.caller_before = caller->id[0];
	row.caller_after = caller->id[1];
	row.was = (double)m->count.func[0][pair].calls / m->sessions[0];
	row.is = (double)m->count.func[1][pair].calls / m->sessions[1];
	row.chance = chance(m,
		diff_find_rate(m->side[0], row.caller_before, row.before),
		diff_find_rate(m->side[1], row.caller_after, row.after));
	add_row(m, &row);
}

static void add_cost(struct maker *m, uint32_t pair, enum diff_reason why,
		     const uint64_t time[2], const struct statistics *const s[2])
{
	struct diff_row row = row_of(m, pair, why, 0);
	const double calls[2] = { (double)m->count.func[0][pair].calls,
				  (double)m->count.func[1][pair].calls };

	if (calls[0] <= 0 || calls[1] <= 0)
		return;
	row.was = (double)time[0] / calls[0];
	row.is = (double)time[1] / calls[1];
	row.added = (row.is - row.was) * calls[1] / m->sessions[1];
	row.chance = chance(m, s[0], s[1]);
	add_row(m, &row);
}

/* Of a function that calls nothing. */
static int has_fastest(const struct maker *m,
		       const struct statistics *const s[2])
{
	return s[0]->sessions == (uint64_t)m->sessions[0] &&
	       s[1]->sessions == (uint64_t)m->sessions[1];
}

/* A busy machine stretches calls, and means with them; it makes none shorter.
 * Where means may differ by chance, but the fastest calls do not, these tell
 * what was added. */
static void add_work(struct maker *m, uint32_t pair, const uint64_t time[2],
		     const struct statistics *const mean[2],
		     const struct statistics *const fastest[2])
{
	struct diff_row row = row_of(m, pair, DIFF_COST, 0);
	const double calls[2] = { (double)m->count.func[0][pair].calls,
				  (double)m->count.func[1][pair].calls };

	row.chance = has_fastest(m, fastest) && calls[0] > 0 && calls[1] > 0 ?
		     chance(m, fastest[0], fastest[1]) : -1;
	if (row.chance < 0 || chance(m, mean[0], mean[1]) <= row.chance) {
		add_cost(m, pair, DIFF_COST, time, mean);
		return;
	}
	row.was = statistics_mean(fastest[0], fastest[0]->sessions);
	row.is = statistics_mean(fastest[1], fastest[1]->sessions);
	row.added = (row.is - row.was) * calls[1] / m->sessions[1];
	row.is_fastest = 1;
	add_row(m, &row);
}

static void add_costs(struct maker *m, uint32_t pair)
{
	const struct diff_func *const a = &m->count.func[0][pair];
	const struct diff_func *const b = &m->count.func[1][pair];
	const struct func_statistics *const x =
		diff_find_func(m->side[0], m->pairs.pairs[pair].id[0]);
	const struct func_statistics *const y =
		diff_find_func(m->side[1], m->pairs.pairs[pair].id[1]);
	const uint64_t off[2] = {
		!m->out->has_cpu ? 0 : a->off < a->self ? a->off : a->self,
		!m->out->has_cpu ? 0 : b->off < b->self ? b->off : b->self };

	add_work(m, pair,
		 (const uint64_t[]){ a->self - off[0], b->self - off[1] },
		 (const struct statistics *[]){
			 m->out->has_cpu ? &x->work : &x->cost,
			 m->out->has_cpu ? &y->work : &y->cost },
		 (const struct statistics *[]){ &x->fastest, &y->fastest });
	add_cost(m, pair, DIFF_WAIT, off,
		 (const struct statistics *[]){ &x->wait, &y->wait });
	add_cost(m, pair, DIFF_SLEEP,
		 (const uint64_t[]){ a->sleep, b->sleep },
		 (const struct statistics *[]){ &x->sleep, &y->sleep });
}

/* --- the whole ----------------------------------------------------------- */

/* What may be chance comes last; the rest by what it adds. */
static int compare_rows(const void *a, const void *b)
{
	const struct diff_row *const x = a, *const y = b;
	const int cx = x->chance > DIFF_CHANCE, cy = y->chance > DIFF_CHANCE;

	if (cx != cy)
		return cx - cy;
	if (x->added < y->added || x->added > y->added)
		return x->added < y->added ? 1 : -1;
	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->before != y->before ? x->before < y->before ? -1 : 1 :
	       (int)x->reason - (int)y->reason;
}

/* Of a hundred rows some differ by chance: Bonferroni's correction. Costs are
 * looked at in two ways. */
static void correct_chances(struct diff *d)
{
	size_t tests = d->count;

	for (size_t i = 0; i < d->count; i++)
		tests += d->rows[i].reason == DIFF_COST;
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *const row = &d->rows[i];

		if (row->chance > 0)
			row->chance *= (double)tests;
		if (row->chance > 1)
			row->chance = 1;
	}
}

static int knows_cpu(const struct session *s)
{
	for (size_t i = 0; i < s->part_count; i++)
		if (!s->parts[i].cpu)
			return 0;
	return s->part_count > 0;
}

static double whole_of(const struct maker *m, int side)
{
	double sum = 0;

	for (uint32_t i = 0; i < m->pairs.count; i++)
		sum += (double)m->count.func[side][i].self +
		       (double)m->count.func[side][i].sleep;
	return sum / m->sessions[side];
}

static void fill(struct maker *m)
{
	const size_t n = m->pairs.count;

	for (int why = 0; why < DIFF_COST; why++) {
		m->added[why] = mem_alloc(2 * n * sizeof(double));
		m->most[why] = mem_alloc(n * sizeof(uint32_t));
	}
	for (size_t i = 0; i < m->count.edge_count; i++)
		weigh_edge(m, i);
	for (uint32_t pair = 1; pair < n; pair++) {
		for (int why = 0; why < DIFF_COST; why++)
			add_calls(m, pair, (enum diff_reason)why);
		add_costs(m, pair);
	}
	for (int why = 0; why < DIFF_COST; why++) {
		mem_free(m->added[why]);
		mem_free(m->most[why]);
	}
}

struct diff *diff_new(struct session *before, struct session *after)
{
	struct maker m = { .side = { before, after },
			   .sessions = { sessions_of(before),
					 sessions_of(after) } };
	struct diff *const d = mem_alloc(sizeof(*d));

	m.out = d;
	diff_match_init(&m.pairs, m.side);
	diff_count_init(&m.count, &m.pairs, m.side);
	d->before = whole_of(&m, 0);
	d->after = whole_of(&m, 1);
	d->has_cpu = knows_cpu(before) && knows_cpu(after);
	fill(&m);
	correct_chances(d);
	if (d->count > 0)
		qsort(d->rows, d->count, sizeof(*d->rows), compare_rows);
	diff_count_fini(&m.count);
	diff_match_fini(&m.pairs);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	mem_free(d->rows);
	mem_free(d);
}
