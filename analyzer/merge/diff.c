/* diff.c - takes a change of time apart. A function that is called more often
 * is charged with all that it calls; one that costs more a call is charged with
 * its own code only. So every nanosecond is attributed once. With c calls at p
 * each, before and after:
 *   c1 p1 - c0 p0 = (c1 - c0) p0 + c1 (p1 - p0)
 * The first part is that of the calls (weigh_edge), at the old price; the
 * second is that of the price (cost_row), for the new number of calls.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/merge/diff_match.h"
#include "analyzer/merge/merge_steps.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* Rows that add less than this share of the whole are not even tested: each
 * test makes the correction for chance stricter for all others. */
#define LEAST (1.0 / 5000)

/* A function on one side, over all its sessions. Times are ns. */
struct diff_figures {
	uint64_t calls;
	uint64_t timed, outer;   /* those of which a time is known; and of
	                          * these, those while it was not open yet */
	/* off, unknown: of self, off the CPU, or not known to be on or off;
	 * ready: of off, without a core; sleep: suspended as the innermost
	 * frame */
	uint64_t self, off, unknown, ready, sleep;
	uint64_t total;          /* of the outer calls */
	uint64_t total_off;      /* of that, not known to be on the CPU */
	uint64_t total_wait;     /* of that, waiting for something else than
	                          * a core */
	double variance;         /* of a net self, or of a sampled VM's; */
	double total_variance;   /* of total */
};

/* One function that calls another, by their matches; caller 0: a thread. */
struct diff_edge {
	uint32_t caller, func;
	bool is_again;           /* func is open already: direct or indirect
	                          * recursion */
	uint64_t calls[2];       /* by side, over all its sessions */
};

struct maker {
	struct session *side[2]; /* before, after */
	double sessions[2];      /* how many each side has; never 0 */
	struct diff_matches matches;
	struct diff_figures *func[2]; /* by side and match */
	bool *is_apart;          /* by match: see find_apart */
	struct diff_edge *edges;
	size_t edge_count, edge_room;
	struct map *edge_of;     /* by caller, func * 2 + is_again: index + 1 */
	struct diff *out;
	size_t room;
	/* By side, ns a session; waking: on the CPU, or waiting. */
	double sleep[2], waking[2];
	/* Rows by the fastest calls, for the rows of means with that index. */
	struct fastest { size_t mean; struct diff_row row; } *fastest;
	size_t fastest_count, fastest_room;
	/* For each reason of calls, by match: what is added in all, the edge
	 * that adds or takes most (index + 1), and how much that is; and how
	 * exactly added is known, by the cost of a call, which all edges have
	 * in common, and by the counts, which are each edge's own. */
	struct most {
		double added, most, cost_error, count_variance;
		uint32_t edge;
	} *added[DIFF_COST];
};

/* ---- sums over both trees ---- */

/* The rest of what others are a part of; figures of a profile may be wrong. */
static uint64_t rest(uint64_t all, uint64_t part)
{
	return all - MIN(part, all);
}

/* 0 for nothing of nothing. */
static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

/* A walk over one side's tree. */
struct walk {
	struct maker *m;
	struct cct *cct;
	int side;
	uint64_t *total, *off, *wait; /* by node, with all below it */
	double *variance;        /* of total */
	node_id *callers;        /* by node: merge_callers */
	uint32_t *open;          /* by match: how often it is on the path */
};

static uint32_t match_of(const struct walk *w, node_id id)
{
	return w->m->matches.of[w->side][cct_get(w->cct, id)->func];
}

/* Add calls to the edge between two functions. */
static void count_edge(struct walk *w, uint32_t caller, uint32_t func,
		       bool is_again, uint64_t calls)
{
	struct maker *const m = w->m;
	uint32_t *const at = map_put(m->edge_of, caller,
				     (uint64_t)func * 2 + (uint64_t)is_again);

	if (*at == 0) {
		*vec_add(&m->edges, &m->edge_room, &m->edge_count) =
			(struct diff_edge){ caller, func, is_again, { 0, 0 } };
		*at = (uint32_t)m->edge_count;
	}
	m->edges[*at - 1].calls[w->side] += calls;
}

/* Of what a node did itself. */
static double variance_at(struct cct *t, node_id id)
{
	const double self = (double)cct_get(t, id)->self;

	return cct_is_net(t) ? cct_sampled_of(t, id)->variance :
	       ratio(self * self, (double)cct_counted_of(t, id).noted);
}

/* Add what a node did itself to its function. Match 0 has the time of the
 * threads in no function. */
static void count_own(struct maker *m, int side, node_id id)
{
	struct cct *const t = m->side[side]->cct;
	const struct cct_node *const n = cct_get(t, id);
	const struct cct_cpu cpu = cct_cpu_of(t, id);
	const struct cct_counted c = cct_counted_of(t, id);
	struct diff_figures *const f =
		&m->func[side][m->matches.of[side][n->func]];

	f->self += n->self;
	f->unknown += cpu.unknown;
	f->ready += cpu.ready;
	if (n->parent == 0)
		return;
	f->calls += n->calls;
	f->timed += n->calls - c.untimed;
	f->variance += variance_at(t, id);
	f->off += cpu.off;
	f->sleep += n->suspended;
}

static void count_owns(struct maker *m, int side)
{
	m->func[side] = mem_alloc(m->matches.count * sizeof(*m->func[side]));
	for (node_id id = 1; id <= cct_count(m->side[side]->cct); id++)
		count_own(m, side, id);
}

/* A node's function is open from now on. Only calls of a function that is not
 * open yet count for its total: within recursion, the outer call has the time
 * already. A coroutine's body is an ordinary callee here. */
static void enter(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const uint32_t match = match_of(w, id);
	struct diff_figures *const f = &w->m->func[w->side][match];
	const bool is_again = w->open[match] > 0;

	if (!is_again) {
		f->outer += n->calls - cct_counted_of(w->cct, id).untimed;
		f->total += w->total[id];
		f->total_off += w->off[id];
		f->total_wait += w->wait[id];
		f->total_variance += w->variance[id];
	}
	if (n->calls > 0)
		count_edge(w, match_of(w, w->callers[id]), match, is_again,
			   n->calls);
	w->open[match]++;
}

static void leave(struct walk *w, node_id id)
{
	assert(w->open[match_of(w, id)] > 0);
	w->open[match_of(w, id)]--;
}

/* Over all nodes below a root, without recursion: trees may be deep. */
static void walk(struct walk *w, node_id root)
{
	node_id id = root;

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
		enter(w, id);
	}
}

/* Walk over one side's tree, and add up what is below each function, and calls
 * by edge. What functions that are apart work is in no total but waits are. */
static void count_side(struct maker *m, int side)
{
	struct cct *const t = m->side[side]->cct;
	const size_t nodes = cct_count(t) + 1;
	struct walk w = { m, t, side, mem_alloc(nodes * sizeof(uint64_t)),
			  mem_alloc(nodes * sizeof(uint64_t)),
			  mem_alloc(nodes * sizeof(uint64_t)),
			  mem_alloc(nodes * sizeof(double)),
			  merge_callers(m->side[side]),
			  mem_alloc(m->matches.count * sizeof(uint32_t)) };

	for (node_id id = (node_id)nodes - 1; id > 0; id--) {
		const struct cct_cpu cpu = cct_cpu_of(t, id);
		const struct cct_node *const n = cct_get(t, id);
		const node_id parent = n->parent;
		const uint64_t off = cpu.off + cpu.unknown;

		w.total[id] += !m->is_apart[match_of(&w, id)] ? n->self :
			       m->out->has_cpu ? MIN(off, n->self) : 0;
		w.off[id] += off;
		w.wait[id] += rest(cpu.off, cpu.ready);
		w.variance[id] += m->is_apart[match_of(&w, id)] ? 0 :
				  variance_at(t, id);
		w.total[parent] += w.total[id];
		w.off[parent] += w.off[id];
		w.wait[parent] += w.wait[id];
		w.variance[parent] += w.variance[id];
	}
	for (node_id r = cct_first_root(t); r; r = cct_get(t, r)->sibling)
		walk(&w, r);
	mem_free_all(w.total, w.off, w.wait, w.variance, w.callers, w.open);
}

/* ---- statistics over sessions, in lists that are sorted ---- */

static int compare_func(const void *key, const void *row)
{
	return ORDER(*(const func_id *)key,
		     ((const struct func_statistics *)row)->func);
}

/* The function's figures over sessions, by binary search: merge_end has sorted
 * the list. All 0 if there are none. */
static const struct func_statistics *find_func(const struct session *s,
					       func_id f)
{
	static const struct func_statistics none;
	const struct func_statistics *const found =
		f == 0 || !s->statistics ? NULL :
		bsearch(&f, s->statistics, s->statistics_count,
			sizeof(*s->statistics), compare_func);

	return found ? found : &none;
}

ORDER_BY(compare_edge, struct edge_statistics, UP(caller) ?: UP(func))

/* The rate of an edge over sessions, found in the same way. All 0 if there are
 * none. */
static const struct statistics *find_rate(const struct session *s,
					  func_id caller, func_id func)
{
	static const struct statistics none;
	const struct edge_statistics key = { .caller = caller, .func = func };
	const struct edge_statistics *const found = !s->edges ? NULL :
		bsearch(&key, s->edges, s->edge_count, sizeof(*s->edges),
			compare_edge);

	return found ? &found->rate : &none;
}

/* The probability that both means come from sessions of one kind; -1 if a side
 * has a single session, whose deviation is not known. */
static double chance(const struct maker *m, const struct statistics *before,
		     const struct statistics *after)
{
	return statistics_welch(before, (uint64_t)m->sessions[0], after,
				(uint64_t)m->sessions[1]);
}

/* ---- rows ---- */

static bool is_wait(const struct diff_row *row)
{
	return row->reason == DIFF_WAIT || row->reason == DIFF_MORE_WAITS;
}

/* What a change is a part of, by side, ns a session. */
static const double *whole(const struct maker *m, const struct diff_row *row)
{
	return row->reason == DIFF_SLEEP ? m->sleep :
	       is_wait(row) ? m->waking : m->out->time;
}

/* Is the change large enough to be told? */
static bool is_large(const struct maker *m, const struct diff_row *row)
{
	const double *const of = whole(m, row);

	return fabs(row->added) > LEAST * fmax(of[0], of[1]);
}

/* Keep the row if it is large enough; its chance is corrected later. */
static void add_row(struct maker *m, const struct diff_row *row)
{
	struct diff *const d = m->out;

	if (is_large(m, row))
		*vec_add(&d->rows, &m->room, &d->count) = *row;
}

static struct diff_row row_of(const struct maker *m, uint32_t match,
			      enum diff_reason reason, double added)
{
	return (struct diff_row){ .reason = reason, .added = added,
				  .before = m->matches.list[match].id[0],
				  .after = m->matches.list[match].id[1] };
}

/* On the CPU, or all that it took where that is not known. */
static uint64_t work_of(const struct maker *m, const struct diff_figures *f)
{
	return m->out->has_cpu ? rest(rest(f->self, f->off), f->unknown) :
				 f->self;
}

static uint64_t wait_of(const struct maker *m, const struct diff_figures *f)
{
	return m->out->has_cpu ? rest(MIN(f->off, f->self), f->ready) : 0;
}

static uint64_t callers_of(const struct maker *m, int side,
			   const struct diff_edge *e)
{
	return e->caller > 0 ? m->func[side][e->caller].calls :
	       (uint64_t)m->sessions[side];
}

/* Of the calls that an edge has more in one session than for as many of the
 * caller's before. Where a call of its caller makes the same number of calls
 * each time, or the caller did the same again, none is chance. Else what comes
 * may differ, as much as independent events do. */
static double count_variance(const struct maker *m, size_t edge)
{
	const struct diff_edge *const e = &m->edges[edge];
	const uint64_t by[2] = { callers_of(m, 0, e), callers_of(m, 1, e) };
	const double times = ratio((double)by[1], (double)by[0]);

	if (by[0] == 0 || by[1] == 0 ||
	    by[0] * (uint64_t)m->sessions[1] ==
		    by[1] * (uint64_t)m->sessions[0] ||
	    (e->calls[0] % by[0] == 0 && e->calls[1] % by[1] == 0))
		return 0;
	return ((double)e->calls[1] + (double)e->calls[0] * times * times) /
	       ((double)m->sessions[1] * (double)m->sessions[1]);
}

/* Time of one call with all that it calls, ns: of work, or of waits. If the
 * function is open already, it is that of its own code, because the time of
 * what it calls is part of the outer call's. */
static double call_cost(const struct maker *m, int side, uint32_t match,
			bool is_again, bool of_waits)
{
	const struct diff_figures *const f = &m->func[side][match];
	const bool cpu = m->out->has_cpu;

	if (is_again || f->outer == 0)
		return ratio((double)(of_waits ? wait_of(m, f) :
				      m->is_apart[match] ? 0 : work_of(m, f)),
			     (double)f->timed);
	return ratio((double)(!of_waits ? rest(f->total, cpu ? f->total_off : 0)
			      : cpu ? f->total_wait : 0),
		     (double)f->outer);
}

/* One standard error of call_cost's work, likewise; 0: not known. */
static double cost_error(const struct maker *m, int side, uint32_t match,
			 bool is_again)
{
	const struct diff_figures *const f = &m->func[side][match];

	return is_again || f->outer == 0 ?
	       ratio(sqrt(f->variance), (double)f->timed) :
	       ratio(sqrt(f->total_variance), (double)f->outer);
}

/* So many calls more, at that cost; error: of the cost. */
static void charge(struct maker *m, enum diff_reason why, size_t edge,
		   double calls, double cost, double error)
{
	struct most *const most = &m->added[why][m->edges[edge].func];
	const double added = calls * cost;

	if (most->edge == 0 || fabs(added) > fabs(most->most)) {
		most->edge = (uint32_t)edge + 1;
		most->most = added;
	}
	most->added += added;
	most->cost_error += calls * error;
	most->count_variance += cost * cost * count_variance(m, edge);
}

static double rate_of(const struct maker *m, int side,
		      const struct diff_edge *e)
{
	return ratio((double)e->calls[side], (double)callers_of(m, side, e));
}

/* Find what the change of one edge adds, ns a session, and why. What counts is
 * the rate, calls for each call of the caller: if the caller itself is called
 * more often, that is charged to the caller's own edge. */
static void weigh_edge(struct maker *m, size_t i)
{
	const struct diff_edge *const e = &m->edges[i];
	const struct diff_figures *const before = &m->func[0][e->func];
	const enum diff_reason why = before->calls == 0 ? DIFF_NEW :
		e->calls[0] == 0 ? DIFF_NEW_CALLER : DIFF_CALLED;
	const int price = before->calls == 0;
	const double by = (double)callers_of(m, 1, e);
	double calls;

	/* A new function is charged with what it calls; the callees of one that
	 * is gone went with it. */
	if (callers_of(m, 0, e) == 0 || by == 0)
		return;
	calls = (rate_of(m, 1, e) - rate_of(m, 0, e)) * by / m->sessions[1];
	charge(m, why, i, calls,
	       call_cost(m, price, e->func, e->is_again, false),
	       cost_error(m, price, e->func, e->is_again));
	charge(m, DIFF_MORE_WAITS, i, calls,
	       call_cost(m, price, e->func, e->is_again, true), 0);
}

/* The probability of such a difference by these errors alone, if that is too
 * high to be told from chance; else -1: how much single sessions differ beyond
 * these errors is not known. */
static double sampling_chance(double variance, double difference)
{
	double chance;

	if (variance <= 0)
		return -1;
	chance = erfc(fabs(difference) / sqrt(2 * variance));
	return chance > DIFF_CHANCE ? chance : -1;
}

/* The row of a function that is called more often, or less. Statistics exist of
 * single edges, not of their sum, so the chance is that of the edge that adds
 * most. */
static void add_calls(struct maker *m, uint32_t match, enum diff_reason why)
{
	const struct most *const most = &m->added[why][match];
	struct diff_row row = row_of(m, match, why, most->added);
	const struct diff_edge *edge;
	const struct diff_match *caller;

	if (most->edge == 0)
		return;
	edge = &m->edges[most->edge - 1];
	caller = &m->matches.list[edge->caller];
	row.caller_before = caller->id[0];
	row.caller_after = caller->id[1];
	row.was = (double)m->func[0][match].calls / m->sessions[0];
	row.is = (double)m->func[1][match].calls / m->sessions[1];
	row.chance = chance(m,
		find_rate(m->side[0], row.caller_before, row.before),
		find_rate(m->side[1], row.caller_after, row.after));
	for (int k = 0; k < 2; k++)
		row.rate[k] = rate_of(m, k, edge);
	if (row.chance < 0) {
		row.error = sqrt(most->cost_error * most->cost_error +
				 most->count_variance);
		row.chance = sampling_chance(row.error * row.error, row.added);
	}
	add_row(m, &row);
}

/* The variance of a difference of what functions take in one of so many, by the
 * errors of times by samples alone. */
static double variance_of(const struct maker *m, uint32_t match,
			  const double many[2])
{
	double variance = 0;

	for (int side = 0; side < 2; side++)
		variance += m->func[side][match].variance /
			    many[side] / many[side];
	return variance;
}

/* The row of a function that costs more a call, or less. time is over all
 * calls, s over sessions: the means are those of all calls, and the sessions
 * tell how much they vary by chance. Without calls on a side there is no cost
 * to compare: such a function is new or gone, and its edges tell. */
static struct diff_row cost_row(const struct maker *m, uint32_t match,
				enum diff_reason why, const uint64_t time[2],
				const struct statistics *before,
				const struct statistics *after)
{
	struct diff_row row = row_of(m, match, why, 0);
	const double calls[2] = { (double)m->func[0][match].timed,
				  (double)m->func[1][match].timed };

	if (calls[0] <= 0 || calls[1] <= 0)
		return row;
	row.was = (double)time[0] / calls[0];
	row.is = (double)time[1] / calls[1];
	row.added = (row.is - row.was) * calls[1] / m->sessions[1];
	row.chance = chance(m, before, after);
	if (row.chance < 0 && why == DIFF_COST) {
		const double variance = variance_of(m, match, calls);

		row.chance = sampling_chance(variance, row.is - row.was);
		row.error = sqrt(variance) * calls[1] / m->sessions[1];
	}
	return row;
}

/* Profiles of older wefts do not have the ticks that their times are by. */
static bool knows_error(const struct maker *m, uint32_t match)
{
	for (int side = 0; side < 2; side++)
		if (m->func[side][match].self > 0 &&
		    m->func[side][match].variance <= 0)
			return false;
	return true;
}

/* Of the function's calls nothing is known but ticks of a sampled VM. */
static bool is_sampled(const struct maker *m, uint32_t match)
{
	const struct diff_match *const of = &m->matches.list[match];

	return m->func[0][match].calls + m->func[1][match].calls == 0 &&
	       (func_get(m->side[0]->funcs, of->id[0])->noted ||
		func_get(m->side[1]->funcs, of->id[1])->noted);
}

/* How many times as often a function is called in a session. */
static double calls_ratio(const struct maker *m, uint32_t match)
{
	return ratio((double)m->func[1][match].calls / m->sessions[1],
		     (double)m->func[0][match].calls / m->sessions[0]);
}

/* By a reference, times are of another run than calls. That run may have made
 * others, as a loop does that polls until a time is over: then time a call
 * means nothing. Nobody knows where calls and times changed by as much, or
 * calls did not; where they did not agree, what the function itself takes in a
 * session is compared, and the calls are only told. */
static void find_apart(struct maker *m)
{
	const uint32_t kinds = m->side[0]->net.is_net | m->side[1]->net.is_net;
	const bool is_other = kinds & NET_REFERENCE && !(kinds & NET_FITTED);

	m->is_apart = mem_alloc(m->matches.count * sizeof(bool));
	for (uint32_t i = 1; i < m->matches.count && is_other; i++) {
		const double calls = calls_ratio(m, i);
		const double many[2] = { m->sessions[0] / calls,
					 m->sessions[1] };
		const double off = (double)work_of(m, &m->func[1][i]) /
			many[1] - (double)work_of(m, &m->func[0][i]) / many[0];

		m->is_apart[i] = calls > 0 && fabs(calls - 1) > 1e-3 &&
			fabs(off) > 2 * sqrt(variance_of(m, i, many));
	}
}

/* The row of a function whose calls tell nothing of its time: what it takes on
 * the CPU in a session. */
static void add_sampled(struct maker *m, uint32_t match)
{
	const struct diff_match *const of = &m->matches.list[match];
	struct diff_row row = row_of(m, match, DIFF_SAMPLED, 0);
	const struct func_statistics *const s[] = {
		find_func(m->side[0], of->id[0]),
		find_func(m->side[1], of->id[1]) };
	const double variance = !knows_error(m, match) ? 0 :
				variance_of(m, match, m->sessions);

	if (!m->is_apart[match] && !is_sampled(m, match))
		return;
	row.calls = calls_ratio(m, match);
	row.was = (double)work_of(m, &m->func[0][match]) / m->sessions[0];
	row.is = (double)work_of(m, &m->func[1][match]) / m->sessions[1];
	row.added = row.is - row.was;
	row.error = sqrt(variance);
	row.chance = m->out->has_cpu && s[0]->on.sessions > 0 &&
		     s[1]->on.sessions > 0 ?
		     chance(m, &s[0]->on, &s[1]->on) :
		     chance(m, &s[0]->self, &s[1]->self);
	if (row.chance < 0)
		row.chance = sampling_chance(variance, row.added);
	add_row(m, &row);
}

/* Does the fastest call of a side tell of work? It must be known in all
 * sessions, which it is if the function calls nothing, and be no longer than
 * what a call works on the average: else the function waits in every call. */
static bool is_work(const struct maker *m, int side,
		    const struct func_statistics *s)
{
	const struct statistics *const work = m->out->has_cpu ? &s->work :
					      &s->cost;

	return s->fastest.sessions == (uint64_t)m->sessions[side] &&
	       statistics_mean(&s->fastest, s->fastest.sessions) <=
	       statistics_mean(work, work->sessions) / 1000;
}

/* A busy machine makes calls longer, and so their mean, but makes none shorter:
 * what the fastest calls tell is kept beside the row of the means, and
 * choose_fastest decides. They tell nothing of work if waits changed, too:
 * those are in them, and have a row of their own. */
static void add_work(struct maker *m, uint32_t match,
		     const struct diff_row *mean,
		     const struct func_statistics *const s[2])
{
	const struct statistics *const fastest[2] = { &s[0]->fastest,
						      &s[1]->fastest };
	struct diff_row row = *mean;

	row.is_fastest = true;
	row.chance = chance(m, fastest[0], fastest[1]);
	row.was = statistics_mean(fastest[0], fastest[0]->sessions);
	row.is = statistics_mean(fastest[1], fastest[1]->sessions);
	row.added = (row.is - row.was) * (double)m->func[1][match].timed /
		    m->sessions[1];
	if (row.chance < 0 || !is_large(m, &row) || !is_work(m, 0, s[0]) ||
	    !is_work(m, 1, s[1]) || (m->out->has_cpu &&
	    chance(m, &s[0]->wait, &s[1]->wait) <= DIFF_CHANCE)) {
		add_row(m, mean);
		return;
	}
	*vec_add(&m->fastest, &m->fastest_room, &m->fastest_count) =
		(struct fastest){ m->out->count, row };
	*vec_add(&m->out->rows, &m->room, &m->out->count) = *mean;
}

/* Add the rows of a function whose own code, waits or sleep changed. If a side
 * does not know times off the CPU, waits count as work on both, so that like is
 * compared with like. Time without a core tells of other programs: it has no
 * row. */
static void add_costs(struct maker *m, uint32_t match)
{
	const struct func_statistics *s[2];
	uint64_t wait[2], work[2], sleep[2];
	const bool cpu = m->out->has_cpu;
	struct diff_row row;

	for (int k = 0; k < 2; k++) {
		const struct diff_figures *const f = &m->func[k][match];

		s[k] = find_func(m->side[k], m->matches.list[match].id[k]);
		work[k] = work_of(m, f);
		wait[k] = wait_of(m, f);
		sleep[k] = f->sleep;
	}
	row = cost_row(m, match, DIFF_COST, work,
		       cpu ? &s[0]->work : &s[0]->cost,
		       cpu ? &s[1]->work : &s[1]->cost);
	if (!m->is_apart[match])
		add_work(m, match, &row, s);
	row = cost_row(m, match, DIFF_WAIT, wait, &s[0]->wait, &s[1]->wait);
	add_row(m, &row);
	row = cost_row(m, match, DIFF_SLEEP, sleep, &s[0]->sleep,
		       &s[1]->sleep);
	add_row(m, &row);
}

/* ---- the whole ---- */

/* Where a row stands; see diff_new. */
static int place_of(const struct diff_row *row)
{
	return row->chance > DIFF_CHANCE ? 3 : row->reason == DIFF_SLEEP ? 2 :
	       (is_wait(row) && row->chance < 0);
}

ORDER_BY(compare_rows, struct diff_row,
	 ORDER(place_of(x), place_of(y)) ?:
	 DOWN(added) ?: UP(after) ?: UP(before) ?: UP(reason))

static void correct(struct diff_row *row, size_t tests)
{
	if (row->chance > 0)
		row->chance = fmin(row->chance * (double)tests, 1);
}

/* Of a hundred rows some differ by chance: Bonferroni's correction. */
static void correct_chances(struct maker *m)
{
	const size_t tests = m->out->count + m->fastest_count;

	for (size_t i = 0; i < m->out->count; i++)
		correct(&m->out->rows[i], tests);
	for (size_t i = 0; i < m->fastest_count; i++)
		correct(&m->fastest[i].row, tests);
}

/* The fastest calls tell what was added if the means may differ by chance, but
 * the fastest calls do not. */
static void choose_fastest(struct maker *m)
{
	for (size_t i = 0; i < m->fastest_count; i++) {
		struct diff_row *const mean =
			&m->out->rows[m->fastest[i].mean];

		if (mean->chance > DIFF_CHANCE &&
		    m->fastest[i].row.chance <= DIFF_CHANCE)
			*mean = m->fastest[i].row;
	}
}

/* Rows of means that stood for those of the fastest calls may be too small to
 * be told. */
static void end_rows(struct maker *m)
{
	struct diff *const d = m->out;
	size_t kept = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct diff_row row = d->rows[i];

		row.share = 100 * ratio(row.added, whole(m, &row)[0] > 0 ?
			whole(m, &row)[0] : d->time[0]);
		if (is_large(m, &row))
			d->rows[kept++] = row;
	}
	d->count = kept;
	order_sort(d->rows, kept, compare_rows);
}

/* Does a side know how much of its time was off the CPU: in all sessions, and
 * as report does, for nine tenths of the time? Match 0 has the time in no
 * function, which is of no function's whole. */
static bool knows_cpu(const struct session *s, const struct diff_figures *all)
{
	if (s->part_count == 0 || all->unknown >= all->self / 10)
		return false;
	for (size_t i = 0; i < s->part_count; i++)
		if (!s->parts[i].cpu)
			return false;
	return true;
}

static struct diff_figures sum_of(const struct maker *m, int side)
{
	struct diff_figures all = { .self = 0 };

	for (uint32_t i = 0; i < m->matches.count; i++) {
		all.self += m->func[side][i].self;
		all.unknown += m->func[side][i].unknown;
	}
	return all;
}

/* The standard error of a side's time: by how much sessions differ, of one by
 * its samples. 0: not known, as parts say otherwise what they took. */
static double error_of(const struct maker *m, int k)
{
	const struct session *const s = m->side[k];
	struct statistics work = { .sessions = 0 };
	double mean;

	for (size_t i = 0; i < s->part_count; i++)
		statistics_add(&work, s->parts[i].work);
	mean = statistics_mean(&work, s->part_count);
	if (s->part_count == 0 || !s->net.is_net ||
	    fabs(mean - m->out->time[k]) > 0.01 * mean)
		return 0;
	return s->part_count == 1 ? (double)s->parts[0].error :
	       statistics_deviation(&work, s->part_count) /
	       sqrt((double)s->part_count);
}

/* What the functions of each side took, ns a session. */
static void measure(struct maker *m)
{
	const struct diff_figures all[2] = { sum_of(m, 0), sum_of(m, 1) };
	struct diff *const d = m->out;

	d->has_cpu = knows_cpu(m->side[0], &all[0]) &&
		     knows_cpu(m->side[1], &all[1]);
	for (int k = 0; k < 2; k++) {
		uint64_t work = 0, wait = 0, ready = 0, sleep = 0;

		for (uint32_t i = 1; i < m->matches.count; i++) {
			const struct diff_figures *const f = &m->func[k][i];

			work += work_of(m, f);
			wait += wait_of(m, f);
			ready += f->ready;
			sleep += f->sleep;
		}
		d->time[k] = (double)work / m->sessions[k];
		m->waking[k] = (double)(work + wait) / m->sessions[k];
		d->error[k] = error_of(m, k);
		d->no_core[k] = !d->has_cpu ? 0 :
				(double)ready / m->sessions[k];
		m->sleep[k] = (double)(sleep + m->func[k][0].sleep) /
			      m->sessions[k];
	}
}

/* Add all rows that are large enough. All edges are weighed first: a row of
 * calls has the sum over the callers of its function. */
static void add_rows(struct maker *m)
{
	const size_t n = m->matches.count;

	for (int why = 0; why < DIFF_COST; why++)
		m->added[why] = mem_alloc(n * sizeof(struct most));
	for (size_t i = 0; i < m->edge_count; i++)
		weigh_edge(m, i);
	for (uint32_t match = 1; match < n; match++) {
		for (int why = 0; why < DIFF_COST; why++)
			add_calls(m, match, (enum diff_reason)why);
		add_costs(m, match);
		add_sampled(m, match);
	}
	for (int why = 0; why < DIFF_COST; why++)
		mem_free(m->added[why]);
}

/* A session that lists no parts counts as one. */
static double sessions_of(const struct session *s)
{
	return s->part_count > 0 ? (double)s->part_count : 1;
}

/* The order matters: the wholes decide which rows are large enough, and
 * the number of rows decides how chances are corrected. */
struct diff *diff_new(struct session *before, struct session *after)
{
	struct diff *const d = mem_alloc(sizeof(*d));
	struct maker m = { .side = { before, after },
			   .sessions = { sessions_of(before),
					 sessions_of(after) },
			   .edge_of = map_new(), .out = d };

	diff_match_init(&m.matches, m.side);
	count_owns(&m, 0);
	count_owns(&m, 1);
	measure(&m);
	find_apart(&m);
	count_side(&m, 0);
	count_side(&m, 1);
	add_rows(&m);
	correct_chances(&m);
	choose_fastest(&m);
	end_rows(&m);
	diff_match_fini(&m.matches);
	mem_free_all(m.func[0], m.func[1], m.is_apart, m.edges, m.fastest);
	map_free(m.edge_of);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	mem_free_all(d->rows, d);
}

/* ---- words -------------------------------------------------------------- */

/* For a row that adds time, and for one that takes time. */
const char *diff_reason_words(const struct diff_row *r)
{
	static const char *const words[DIFF_REASONS + 2][2] = {
		[DIFF_CALLED] = { "called more", "called less" },
		[DIFF_NEW_CALLER] = { "new caller", "new caller" },
		[DIFF_NEW] = { "new function", "new function" },
		[DIFF_MORE_WAITS] = { "waits in more calls",
				      "waits in fewer calls" },
		[DIFF_COST] = { "costs more a call", "costs less a call" },
		[DIFF_SAMPLED] = { "takes more", "takes less" },
		[DIFF_WAIT] = { "waits longer a call", "waits less a call" },
		[DIFF_SLEEP] = { "sleeps longer a call",
				 "sleeps less a call" },
		[DIFF_REASONS] = { "takes more in more calls",
				   "takes less in more calls" },
		{ "takes more in fewer calls", "takes less in fewer calls" },
	};
	const int reason = r->calls == 0 ? (int)r->reason :
			   DIFF_REASONS + (r->calls < 1);

	return words[reason][r->added < 0];
}
