/* explain_slow.c - calls that took much longer than others of their function:
 * one, or a few among very many.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain_work.h"

#include "analyzer/base/vec.h"
#include "analyzer/model/hist.h"

#include <math.h>

/* ---- the slow call ------------------------------------------------------ */

/* By function: of its nodes, the most time waited, below it and in it, by
 * functions that wait. The caller frees the array. */
static ticks *waits_below(const struct work *w)
{
	struct cct *const t = w->session->cct;
	const size_t funcs = func_count(w->session->funcs) + 1;
	ticks *const waits = mem_alloc((cct_count(t) + 1) * sizeof(*waits));
	ticks *const most = mem_alloc(funcs * sizeof(*most));
	bool *const is_in = mem_alloc(funcs * sizeof(*is_in));

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct figures *const f = &w->flat->rows[i].f;

		is_in[f->func] = work_is_waiting(w, f) &&
				 !work_is_for(w, f->func, EVENTS | INPUT);
	}
	for (node_id id = (node_id)cct_count(t); id > 0; id--) {
		const struct cct_node *const n = cct_get(t, id);

		if (is_in[n->func])
			waits[id] += work_asleep_at(w, id);
		waits[n->parent] += waits[id];
		most[n->func] = MAX(waits[id], most[n->func]);
	}
	mem_free_all(is_in, waits);
	return most;
}

/* When it returns is not known, nor what a call took. */
static bool is_untold(const struct work *w, const struct flat_row *row)
{
	return func_get(w->session->funcs, row->f.func)->untold_return != 0;
}

static bool is_outlier(const struct work *w, const struct flat_row *row)
{
	return row->f.calls >= SLOW_CALLS && !is_untold(w, row) &&
	       row->max / SLOW_TIMES >= row->p50 &&
	       work_is_long(w, row->max - row->p50, LONG_SHARE);
}

/* A call is long, too, while its thread has no core. Then its function has no
 * time on the CPU beyond that of usual calls, nor do functions below it
 * wait. */
static bool is_busy(const struct work *w, const struct flat_row *row,
		    const ticks *waits)
{
	const struct figures *const f = &row->f;
	const double net = f->raw_total == 0 ? 1 :
			   (double)f->total / (double)f->raw_total;
	const double usual = (double)f->calls * (double)row->p50 * net;

	return !w->out->has_switches ||
	       (double)f->total_cpu - usual >= LONG_SHARE * (double)w->cpu ||
	       work_is_long(w, waits[f->func], LONG_SHARE);
}

static struct explain_finding slow_of(const struct flat_row *row)
{
	return (struct explain_finding){
		.kind = EXPLAIN_SLOW, .func = row->f.func,
		.thread = CCT_ALL_THREADS, .calls = row->f.calls,
		.time = row->max, .typical = row->p50 };
}

/* Callers of the slow call are slow, too. The innermost of those that took most
 * of the time is what a person wants to look at. */
static struct explain_finding find_long(const struct work *w)
{
	const struct flat_row *const rows = w->flat->rows, *best = NULL;
	ticks *const waits = waits_below(w);
	bool *const is_slow = mem_alloc(w->flat->count + 1);
	ticks most = 0;

	for (size_t i = 0; i < w->flat->count; i++) {
		is_slow[i] = is_outlier(w, &rows[i]) &&
			     is_busy(w, &rows[i], waits) &&
			     !work_is_for(w, rows[i].f.func,
					  EVENTS | INPUT | SLEEP);
		if (is_slow[i] && rows[i].max > most)
			most = rows[i].max;
	}
	for (size_t i = 0; i < w->flat->count; i++)
		if (is_slow[i] && rows[i].max >= most / 10 * 8 &&
		    (!best || rows[i].max < best->max))
			best = &rows[i];
	mem_free_all(waits, is_slow);
	return best ? slow_of(best) : (struct explain_finding){ .func = 0 };
}

/* ---- a few slow calls ---------------------------------------------------
 * Each is short beside the whole time, but they stand apart: however long the
 * tail of a distribution is, it has no gap with several calls beyond it. What
 * single calls waited for a core, which makes long tails, the tree does not
 * tell: it tells only where to look. */

/* A function, and how long all its calls took. Those of libc that are recorded
 * are what others wait in: their callers are told. */
struct few {
	const struct flat_row *row;
	uint64_t counts[HIST_STEPS];
};

static bool may_be_few(const struct work *w, const struct flat_row *row)
{
	return row->f.calls >= FEW_CALLS && !is_untold(w, row) &&
	       row->max / SLOW_TIMES >= row->p50 &&
	       !work_is_waiting(w, &row->f) &&
	       !func_is_libc(w->session->funcs, row->f.func);
}

static double sum_of_long(const struct few *few)
{
	double sum = 0;

	for (uint32_t i = HIST_STEPS; i-- > 0 &&
	     hist_least(i) / SLOW_TIMES >= few->row->p50; )
		sum += (double)few->counts[i] * (double)hist_least(i);
	return sum;
}

/* Of the time below a function: what was without a core, and blocked time that
 * may be its threads' idleness, in functions that wait in many of its calls. */
static ticks idle_below(const struct work *w, const struct flat_row *row,
			ticks *ready)
{
	struct cct *const t = w->session->cct;
	bool *const is_in = mem_alloc(func_count(w->session->funcs) + 1);
	bool *const is_below = mem_alloc(cct_count(t) + 1);
	ticks idle = 0;

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct figures *const f = &w->flat->rows[i].f;

		is_in[f->func] = work_is_waiting(w, f) &&
				 f->calls >= row->f.calls / MANY_CALLS;
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		is_below[id] = n->func == row->f.func || is_below[n->parent];
		if (is_below[id])
			*ready += cct_cpu_of(t, id).ready;
		if (is_below[id] && is_in[n->func])
			idle += work_asleep_at(w, id);
	}
	mem_free_all(is_in, is_below);
	return idle;
}

static struct explain_suspect suspect_of(const struct work *w,
					 const struct few *few)
{
	ticks ready = 0;
	const ticks idle = idle_below(w, few->row, &ready);

	return (struct explain_suspect){
		.finding = slow_of(few->row),
		.most = MIN(few->row->f.calls / FEW_OF, MOST_FEW),
		.idle = idle < w->out->matters ? 0 : idle,
		.long_max = few->row->max,
		.long_sum = fmax(0, sum_of_long(few) - (double)ready) };
}

bool explain_may_be_idle(const struct explain_suspect *s)
{
	return s->idle > 0 && (double)s->idle >= s->long_sum / 2;
}

/* Callers of what is slow are slow, too: the innermost come first. */
ORDER_BY(compare_suspects, struct explain_suspect,
	 ORDER(explain_may_be_idle(x), explain_may_be_idle(y)) ?: UP(long_max))

/* There is no room for all: those that took less at most than others go
 * first. */
static void choose_suspects(struct work *w, struct explain_suspect *s, size_t n)
{
	ticks most = 0;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		most = MAX(most, s[i].long_max);
	order_sort(s, n, compare_suspects);
	for (int is_short = 0; is_short < 2; is_short++)
		for (size_t i = 0; i < n && kept < EXPLAIN_SUSPECTS; i++)
			if ((s[i].long_max < most / 10 * 8) == is_short)
				w->out->suspect[kept++] = s[i];
	w->out->suspects = kept;
}

static void add_suspects(struct work *w, const struct few *few, size_t count)
{
	struct explain_suspect *const all = mem_alloc((count + 1) *
						      sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (sum_of_long(&few[i]) >= (double)w->out->matters)
			all[n++] = suspect_of(w, &few[i]);
	choose_suspects(w, all, n);
	mem_free(all);
}

static void find_few(struct work *w)
{
	struct cct *const t = w->session->cct;
	const size_t funcs = func_count(w->session->funcs) + 1;
	struct few *few = NULL;
	size_t *const of = mem_alloc(funcs * sizeof(*of));
	size_t count = 0, room = 0;

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct flat_row *const row = &w->flat->rows[i];

		if (of[row->f.func] != 0 || !may_be_few(w, row))
			continue;
		*vec_add(&few, &room, &count) = (struct few){ .row = row };
		of[row->f.func] = count;
	}
	for (node_id id = 1; id <= cct_count(t) && count > 0; id++) {
		const size_t i = of[cct_get(t, id)->func];

		if (i != 0)
			cct_hist_counts(t, id, few[i - 1].counts);
	}
	add_suspects(w, few, count);
	mem_free_all(few, of);
}

void explain_find_slow(struct work *w)
{
	const struct explain_finding slowest = find_long(w);

	if (slowest.func)
		*work_add(w, EXPLAIN_SLOW, slowest.func) = slowest;
	/* Otherwise it is not known what had no core, or was idle. */
	if (w->out->has_switches)
		find_few(w);
}

ORDER_BY(compare_calls, struct explain_call, DOWN(did))

static bool is_apart(ticks call, ticks next, uint64_t count)
{
	const double ratio = (double)call / (double)MAX(next, 1);

	return ratio >= FEW_APART && pow(ratio, (double)count) >= ONE_APART;
}

/* How many calls stand apart; 0: none do. Of all gaps the lowest counts: what
 * is beyond it belongs together. In it may lie a quarter as many calls, which
 * something else on the machine made long; a tail has more. others: no call
 * that is not here took as long. */
static uint64_t count_apart(const struct explain *e,
			    const struct explain_suspect *s,
			    const struct explain_call *call, size_t n,
			    ticks others)
{
	uint64_t apart = 0;
	ticks sum = 0;

	for (size_t i = 0; i < n && i < s->most; i++) {
		const size_t k = i + 1 + (i + 1) / FEW_APART;
		const ticks next = k < n ? call[k].did : 0;

		if (call[i].did / SLOW_TIMES < s->finding.typical)
			break;
		sum += call[i].did;
		if (sum >= e->matters &&
		    is_apart(call[i].did, MAX(next, others), i + 1))
			apart = i + 1;
	}
	return apart;
}

void explain_judge(const struct explain *e, struct explain_suspect *s,
		   struct explain_call *call, size_t n)
{
	const bool is_idle = explain_may_be_idle(s);
	struct explain_finding *const f = &s->finding;

	for (size_t i = 0; i < n; i++) {
		const ticks out = is_idle ? call[i].off : call[i].ready;

		call[i].did = call[i].total - MIN(out, call[i].total);
	}
	order_sort(call, n, compare_calls);
	f->few = count_apart(e, s, call, n, n < EXPLAIN_LONGEST ? 0 :
			     call[n - 1].did);
	if (f->few == 0)
		return;
	f->is_idle = is_idle;
	f->time = call[0].total;
	f->did = call[0].did;
	f->least = call[f->few - 1].did;
	for (size_t i = 0; i < f->few; i++) {
		f->on += call[i].total - MIN(call[i].off, call[i].total);
		f->blocked += figures_blocked(call[i].off, call[i].ready);
		f->ready += call[i].ready;
		f->suspended += call[i].suspended;
	}
}
