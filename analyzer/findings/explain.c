/* explain.c - one function for each kind of finding. What is long is measured
 * by the time that the whole program had on the CPU, which does not depend on
 * what else the machine did; but next to nothing of the elapsed time is not
 * long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/model/hist.h"
#include "analyzer/tables/callers.h"
#include "analyzer/tables/flat.h"

#include <math.h>
#include <string.h>

/* What makes a finding. Shares are of the program's time on the CPU, or of its
 * calls. */
#define HOT_SHARE 0.30     /* own time */
#define COLLECTOR_SHARE 0.15 /* that the garbage collector has */
#define LONG_SHARE 0.20    /* of a single call or sleep, or of waiting */
#define LOCK_SHARE 0.05    /* of waiting for a lock: nobody means to */
#define OFTEN_SHARE 0.20   /* of all calls */
#define LEAST_SHARE 0.01   /* of the elapsed time: all findings */
enum {
	SLOW_CALLS = 20,   /* so many calls at least tell what is usual; */
	SLOW_TIMES = 20,   /* so many times the usual is slow */
	MANY_CALLS = 10,   /* one of so many is many */
	FEW_CALLS = 1000,  /* of so many, a call is one of few, */
	FEW_APART = 4,     /* if it took so many times as long as the longest
	                    * of the others, */
	ONE_APART = 32,    /* or one alone so many times; or two so many in
	                    * the product: for one, chance is enough */
	OFTEN_TIMES = 100, /* so many calls for one of the caller is often, */
	OFTEN_CALLS = 10,  /* unless that is a loop that runs once */
	SLEEP_TIMES = 10,  /* so many times the others is long */
	WAIT_CALLS = 10,   /* fewer calls may wait for the end of what the
	                    * program does meanwhile */
	WAIT_TIMES = 10,   /* waits so many times longer than it runs */
	IDLE_TIMES = 20,   /* waits so many times longer than for a lock: that
	                    * is not what the time is spent on; than it does
	                    * anything else: a thread is idle */
};
#define ONE_SIDED 0.8      /* one thread has so much of the waiting */
#define LEAST_GROWTH 100e3 /* bytes of memory in use, */
#define GROWTH_SHARE 0.1   /* of it, in the second half of the time, */
#define STEADY 0.1         /* so much of that in each half of that */
#define AS_LONG 0.95       /* so much of the longest wait is as long */

struct work {
	struct explain *out;
	struct session *session;
	struct flat *flat;
	ticks cpu;               /* of all functions */
	ticks elapsed;           /* in the thread that was recorded longest */
	ticks idle;              /* of that: no thread ran or could have run,
	                          * at least */
};

ORDER_BY(compare_findings, struct explain_finding, DOWN(rank) ?: UP(kind))

static struct explain_finding *add(struct work *w, enum explain_kind kind,
				   func_id func)
{
	struct explain_finding *const f = &w->out->finding[w->out->count++];

	*f = (struct explain_finding){ .kind = kind, .func = func,
				       .thread = CCT_ALL_THREADS };
	return f;
}

/* Where switches are not known, the functions of libc that are recorded are
 * known to wait. */
static bool is_known_wait(const struct work *w, func_id func)
{
	return !w->out->has_switches && func_is_libc(w->session->funcs, func);
}

static ticks on_cpu(const struct work *w, const struct flat_row *row)
{
	return is_known_wait(w, row->f.func) ? 0 :
	       w->out->has_switches ? row->f.cpu : row->f.self;
}

static bool matters(const struct work *w, ticks time)
{
	return (double)time >= LEAST_SHARE * (double)w->elapsed;
}

static bool is_long(const struct work *w, ticks time, double share)
{
	return w->cpu > 0 && (double)time >= share * (double)w->cpu &&
	       matters(w, time);
}

/* ---- what waits, for something else than a core ------------------------- */

static ticks asleep_at(const struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->session->cct, id);
	const struct cct_cpu cpu = cct_cpu_of(w->session->cct, id);

	return is_known_wait(w, n->func) ? n->self :
	       cpu.off - MIN(cpu.ready, cpu.off);
}

static ticks asleep(const struct work *w, const struct figures *f)
{
	return is_known_wait(w, f->func) ? f->self :
	       figures_blocked(f->off, f->ready);
}

static bool is_waiting(const struct work *w, const struct figures *f)
{
	return asleep(w, f) > 0 && asleep(w, f) / WAIT_TIMES >= f->cpu;
}

/* Calls of libc that wait until somebody wants something: events, and input. As
 * long as nobody does, they are not slow. A slow answer comes as input, too:
 * that calls wait for input is worth being told. */
enum { EVENTS = 1, INPUT = 2 };

static bool is_for(const struct work *w, func_id func, unsigned what)
{
	static const char *const names[] = {
		"accept", "accept4", "poll", "ppoll", "select", "pselect",
		"epoll_wait", "epoll_pwait", "epoll_pwait2", "sigwait",
		"sigwaitinfo", "sigtimedwait", "sigsuspend", "pause",
		/* INPUT: */
		"recv", "recvfrom", "recvmsg", "recvmmsg" };
	enum { COUNT = sizeof(names) / sizeof(*names), FIRST_INPUT = 14 };
	struct func_table *const funcs = w->session->funcs;
	const char *name = func_get(funcs, func)->name;

	name += strspn(name, "_");
	for (size_t i = what & EVENTS ? 0 : FIRST_INPUT;
	     i < (size_t)(what & INPUT ? COUNT : FIRST_INPUT); i++)
		if (strcmp(name, names[i]) == 0)
			return func_is_libc(funcs, func);
	return false;
}

/* Threads may run at the same time: idle is not too long. */
static void measure(struct work *w)
{
	struct cct *const t = w->session->cct;
	const size_t nodes = cct_count(t) + 1;
	uint64_t *const total = mem_alloc(nodes * sizeof(*total));
	uint64_t *const suspended = mem_alloc(nodes * sizeof(*suspended));
	ticks busy = 0;

	cct_totals(t, total, suspended);
	for (node_id id = 1; id < nodes; id++) {
		const ticks self = cct_get(t, id)->self;

		if (!cct_get(t, id)->parent)
			w->elapsed = MAX(w->elapsed, total[id]);
		busy += self - MIN(asleep_at(w, id), self);
	}
	w->idle = w->elapsed - MIN(w->elapsed, busy);
	mem_free_all(total, suspended);
}

/* ---- the hot function --------------------------------------------------- */

static ticks self_at(const struct work *w, node_id id)
{
	return cct_get(w->session->cct, id)->self;
}

/* The caller for which the function has most of a time, in all nodes. */
static func_id main_caller(const struct work *w, func_id func,
			   ticks (*time_at)(const struct work *, node_id))
{
	struct cct *const t = w->session->cct;
	const size_t funcs = func_count(w->session->funcs) + 1;
	ticks *const of = mem_alloc(funcs * sizeof(*of));
	func_id best = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		func_id from;

		if (n->func != func)
			continue;
		from = cct_get(t, n->parent)->func;
		of[from] += time_at(w, id);
		best = of[from] > of[best] ? from : best;
	}
	mem_free(of);
	return best;
}

/* If it has as much of the time. */
static void add_hot(struct work *w, enum explain_kind kind,
		    const struct flat_row *row, double share)
{
	struct explain_finding *f;

	if (!is_long(w, on_cpu(w, row), share))
		return;
	f = add(w, kind, row->f.func);
	f->other = main_caller(w, row->f.func, self_at);
	f->calls = row->f.calls;
	f->time = on_cpu(w, row);
	f->share = (double)f->time / (double)w->cpu;
}

static void find_hot(struct work *w)
{
	const struct flat_row *best = NULL;

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct flat_row *const row = &w->flat->rows[i];

		if (func_is_special(w->session->funcs, row->f.func,
				    "[garbage collector]"))
			add_hot(w, EXPLAIN_COLLECTOR, row, COLLECTOR_SHARE);
		else if (!best || on_cpu(w, row) > on_cpu(w, best))
			best = row;
	}
	if (best)
		add_hot(w, EXPLAIN_HOT, best, HOT_SHARE);
}

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

		is_in[f->func] = is_waiting(w, f) &&
				 !is_for(w, f->func, EVENTS | INPUT);
	}
	for (node_id id = (node_id)cct_count(t); id > 0; id--) {
		const struct cct_node *const n = cct_get(t, id);

		if (is_in[n->func])
			waits[id] += asleep_at(w, id);
		waits[n->parent] += waits[id];
		most[n->func] = MAX(waits[id], most[n->func]);
	}
	mem_free_all(is_in, waits);
	return most;
}

static bool is_outlier(const struct work *w, const struct flat_row *row)
{
	return row->f.calls >= SLOW_CALLS &&
	       row->max / SLOW_TIMES >= row->p50 &&
	       is_long(w, row->max - row->p50, LONG_SHARE);
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
	       is_long(w, waits[f->func], LONG_SHARE);
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
			     !is_for(w, rows[i].f.func, EVENTS | INPUT);
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

/* A function, and how long all its calls took. */
struct few {
	const struct flat_row *row;
	uint64_t counts[HIST_STEPS];
};

static bool may_be_few(const struct work *w, const struct flat_row *row)
{
	return row->f.calls >= FEW_CALLS &&
	       row->max / SLOW_TIMES >= row->p50 &&
	       !is_waiting(w, &row->f) &&
	       !is_for(w, row->f.func, EVENTS | INPUT);
}

static double sum_of_long(const struct few *few)
{
	double sum = 0;

	for (uint32_t i = HIST_STEPS; i-- > 0 &&
	     hist_least(i) / SLOW_TIMES >= few->row->p50; )
		sum += (double)few->counts[i] * (double)hist_least(i);
	return sum;
}

/* Blocked time below a function that may be its threads' idleness: in functions
 * that wait in many of its calls. */
static ticks idle_below(const struct work *w, const struct flat_row *row)
{
	struct cct *const t = w->session->cct;
	bool *const is_in = mem_alloc(func_count(w->session->funcs) + 1);
	bool *const is_below = mem_alloc(cct_count(t) + 1);
	ticks idle = 0;

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct figures *const f = &w->flat->rows[i].f;

		is_in[f->func] = is_waiting(w, f) &&
				 f->calls >= row->f.calls / MANY_CALLS;
	}
	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		is_below[id] = n->func == row->f.func || is_below[n->parent];
		if (is_below[id] && is_in[n->func])
			idle += asleep_at(w, id);
	}
	mem_free_all(is_in, is_below);
	return idle;
}

static struct explain_suspect suspect_of(const struct work *w,
					 const struct few *few)
{
	return (struct explain_suspect){
		.finding = slow_of(few->row),
		.most = MIN(few->row->f.calls / FEW_CALLS, EXPLAIN_LONGEST - 1),
		.idle = idle_below(w, few->row),
		.long_max = few->row->max, .long_sum = sum_of_long(few) };
}

static bool may_be_idle(const struct explain_suspect *s)
{
	return (double)s->idle >= s->long_sum / 2;
}

/* Callers of what is slow are slow, too: the innermost come first. */
ORDER_BY(compare_suspects, struct explain_suspect,
	 ORDER(may_be_idle(x), may_be_idle(y)) ?: UP(long_max))

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

static void find_slow(struct work *w)
{
	const struct explain_finding slowest = find_long(w);

	if (slowest.func)
		*add(w, EXPLAIN_SLOW, slowest.func) = slowest;
	/* Otherwise it is not known what had no core, or was idle. */
	if (w->out->has_switches)
		find_few(w);
}

/* Sorted by what they did themselves, which is put into total. */
ORDER_BY(compare_calls, struct explain_call, DOWN(total))

static bool is_apart(ticks call, ticks next, uint64_t count)
{
	const double ratio = (double)call / (double)MAX(next, 1);

	return ratio >= FEW_APART && pow(ratio, (double)count) >= ONE_APART;
}

/* How many calls stand apart; 0: none do. Of all gaps the lowest counts: what
 * is beyond it belongs together. others: no call that is not here took as
 * long. */
static uint64_t count_apart(const struct explain *e,
			    const struct explain_suspect *s,
			    const struct explain_call *call, size_t n,
			    ticks others)
{
	uint64_t apart = 0;
	ticks sum = 0;

	for (size_t i = 0; i < n && i < s->most; i++) {
		const ticks next = i + 1 < n ? call[i + 1].total : 0;

		if (call[i].total / SLOW_TIMES < s->finding.typical)
			break;
		sum += call[i].total;
		if (sum >= e->matters &&
		    is_apart(call[i].total, MAX(next, others), i + 1))
			apart = i + 1;
	}
	return apart;
}

void explain_judge(const struct explain *e, struct explain_suspect *s,
		   struct explain_call *call, size_t n)
{
	ticks others = n < EXPLAIN_LONGEST ? 0 : UINT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const ticks out = may_be_idle(s) ? call[i].off : call[i].ready;

		others = MIN(others, call[i].total);
		call[i].total -= MIN(out, call[i].total);
	}
	order_sort(call, n, compare_calls);
	s->finding.few = count_apart(e, s, call, n, others);
	if (s->finding.few == 0)
		return;
	s->finding.time = call[0].total;
	s->finding.least = call[s->finding.few - 1].total;
}

void explain_settle(struct explain *e)
{
	const struct explain_suspect *best = NULL;
	struct explain_finding *f = e->finding;
	ticks most = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < e->suspects; i++) {
			const struct explain_suspect *const s = &e->suspect[i];

			if (s->finding.few == 0)
				continue;
			if (pass == 0)
				most = MAX(most, s->finding.time);
			else if (s->finding.time >= most / 10 * 8 &&
				 (!best ||
				  s->finding.time < best->finding.time))
				best = s;
		}
	if (!best)
		return;
	while (f < e->finding + e->count && f->kind != EXPLAIN_SLOW)
		f++;
	e->count += f == e->finding + e->count;
	*f = best->finding;
	f->rank = f->time;
	order_sort(e->finding, e->count, compare_findings);
}

/* ---- the function that is called too often ------------------------------ */

static void find_often(struct work *w)
{
	struct callers *const c = callers_new(w->session->cct,
					      func_count(w->session->funcs));
	const struct callers_arc *best = NULL;
	struct explain_finding *f;

	for (size_t i = 0; i < c->arc_count; i++) {
		const struct callers_arc *const arc = &c->arcs[i];
		const uint64_t by = c->of[arc->from].calls;

		if (arc->from != 0 && arc->from != arc->of.func &&
		    by >= OFTEN_CALLS && arc->of.calls / OFTEN_TIMES >= by &&
		    (double)arc->of.calls >=
			    OFTEN_SHARE * (double)c->all.calls &&
		    matters(w, arc->of.total) &&
		    (!best || arc->of.calls > best->of.calls))
			best = arc;
	}
	if (best) {
		f = add(w, EXPLAIN_OFTEN, best->of.func);
		f->other = best->from;
		f->calls = best->of.calls;
		f->other_calls = c->of[best->from].calls;
		f->time = best->of.total;
		f->share = (double)f->calls / (double)c->all.calls;
	}
	callers_free(c);
}

/* ---- the coroutine that sleeps ------------------------------------------ */

static void find_sleep(struct work *w, const struct explain_seen *seen)
{
	const struct explain_sleep *const s = seen->sleeps, *best = NULL;
	uint64_t count = 0;
	ticks sum = 0;
	struct explain_finding *f;

	for (size_t i = 0; i < seen->sleep_count; i++) {
		count += s[i].count;
		sum += s[i].sum;
		if (!best || s[i].longest > best->longest)
			best = &s[i];
	}
	if (!best || !is_long(w, best->longest, LONG_SHARE))
		return;
	/* What others slept meanwhile tells whether that is unusual. */
	const ticks others = count > 1 ? (sum - best->longest) / (count - 1) :
			     0;

	/* While a thread has no core, all of its coroutines sleep. */
	if (best->longest / SLEEP_TIMES < others ||
	    best->longest / 2 < seen->second)
		return;
	f = add(w, EXPLAIN_SLEEP, best->where);
	f->other = best->body;
	f->calls = count;
	f->time = best->longest;
	f->typical = others;
	f->at = best->at;
	f->coroutine = best->coroutine;
	f->process = best->process;
}

/* ---- the function that waits -------------------------------------------- */

/* By node: the index of its thread. The caller frees the array. */
static uint32_t *threads_of(struct cct *t)
{
	uint32_t *const of = mem_alloc((cct_count(t) + 1) * sizeof(*of));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		of[id] = n->parent ? of[n->parent] : n->thread;
	}
	return of;
}

/* Is most of the function's waiting that of one thread, of several that call
 * it? */
static void find_side(const struct work *w, struct explain_finding *f)
{
	struct cct *const t = w->session->cct;
	const size_t threads = w->session->thread_count;
	uint32_t *const of = threads_of(t);
	ticks *const off = mem_alloc((threads + 1) * sizeof(*off));
	uint64_t *const calls = mem_alloc((threads + 1) * sizeof(*calls));
	size_t callers = 0, most = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);

		if (n->func != f->func || of[id] >= threads)
			continue;
		off[of[id]] += asleep_at(w, id);
		calls[of[id]] += n->calls;
	}
	for (size_t i = 0; i < threads; i++) {
		callers += calls[i] > 0;
		most = off[i] > off[most] ? i : most;
	}
	if (callers > 1 && (double)off[most] >= ONE_SIDED * (double)f->time) {
		f->thread = (uint32_t)most;
		f->share = (double)off[most] / (double)f->time;
	}
	mem_free_all(of, off, calls);
}

/* How long the function waits, if it does. Fewer calls may wait for other
 * threads: what of their time cannot be idle is, and counts against them. */
static ticks wait_of(const struct work *w, const struct figures *f)
{
	const ticks time = asleep(w, f), busy = time - MIN(time, w->idle);

	if (!is_waiting(w, f) || is_for(w, f->func, EVENTS))
		return 0;
	return f->calls >= WAIT_CALLS ? time : time - MIN(time, 2 * busy);
}

/* Is most of the function's waiting that of threads which hardly do anything
 * else? */
static bool is_idle(const struct work *w, func_id func)
{
	struct cct *const t = w->session->cct;
	const size_t threads = w->session->thread_count;
	uint32_t *const of = threads_of(t);
	ticks *const waits = mem_alloc((threads + 1) * sizeof(*waits));
	ticks *const does = mem_alloc((threads + 1) * sizeof(*does));
	ticks all = 0, idle = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const ticks asleep = asleep_at(w, id);

		if (of[id] >= threads)
			continue;
		does[of[id]] += n->self - MIN(asleep, n->self);
		if (n->func == func)
			waits[of[id]] += asleep;
	}
	for (size_t i = 0; i < threads; i++) {
		all += waits[i];
		idle += does[i] < waits[i] / IDLE_TIMES ? waits[i] : 0;
	}
	mem_free_all(of, waits, does);
	return idle > all / 2;
}

/* ---- the lock that threads wait for ------------------------------------- */

static void find_lock(struct work *w, enum explain_kind kind,
		      const struct explain_lock *lock)
{
	struct explain_finding *f;

	if (lock->func == 0 || !is_long(w, lock->waiting, kind == EXPLAIN_LOCK ?
					LOCK_SHARE : LONG_SHARE))
		return;
	f = add(w, kind, lock->func);
	f->other = lock->holder;
	f->calls = lock->waits;
	f->time = lock->waiting;
	f->typical = lock->because;
	f->lock = lock;
	f->is_idle = is_idle(w, f->func);
}

/* Is the function named as what waits for an object? */
static bool is_told(const struct work *w, func_id func)
{
	for (size_t i = 0; i < w->out->count; i++)
		if (w->out->finding[i].lock &&
		    w->out->finding[i].func == func)
			return true;
	return false;
}

/* Who waits for one that waits does so for a little longer. */
static void find_wait(struct work *w)
{
	const struct flat_row *const rows = w->flat->rows, *best = NULL;
	struct explain_finding *f;
	double most = 0;

	for (size_t i = 0; i < w->flat->count; i++)
		if (!is_told(w, rows[i].f.func))
			most = fmax(most, (double)wait_of(w, &rows[i].f));
	for (size_t i = 0; i < w->flat->count; i++) {
		const ticks wait = wait_of(w, &rows[i].f);

		if (!is_told(w, rows[i].f.func) &&
		    is_long(w, wait, LONG_SHARE) &&
		    (double)wait >= AS_LONG * most &&
		    (!best || asleep(w, &rows[i].f) < asleep(w, &best->f)))
			best = &rows[i];
	}
	if (!best)
		return;
	f = add(w, EXPLAIN_WAIT, best->f.func);
	f->other = main_caller(w, best->f.func, asleep_at);
	f->calls = best->f.calls;
	f->time = asleep(w, &best->f);
	f->typical = best->f.cpu;
	f->is_idle = is_idle(w, f->func);
	find_side(w, f);
}

/* ---- memory that grows -------------------------------------------------- */

/* Not what only the first part of the time fills, nor what may be chance. */
static void find_heap(struct work *w, const struct explain_heap *heap)
{
	const double all = heap->end - heap->half;
	struct explain_finding *f;

	if (heap->func == 0 || all < LEAST_GROWTH ||
	    all < GROWTH_SHARE * heap->end || all < 3 * heap->error ||
	    heap->later - heap->half < STEADY * all ||
	    heap->end - heap->later < STEADY * all)
		return;
	f = add(w, EXPLAIN_HEAP, heap->func);
	f->heap = heap;
	f->share = heap->stays > 0 ? heap->stays : fmin(1, heap->grown / all);
}

/* ---- all ---------------------------------------------------------------- */

/* Threads that nobody joins are a fault, not only what may be one. Who has a
 * lock tells more than what waits: that may have the lock, or be idle. Threads
 * that do nothing but wait are. */
static ticks rank_of(const struct explain *e, const struct explain_finding *f)
{
	ticks rank = f->kind == EXPLAIN_JOIN ? UINT64_MAX : f->time;

	if (f->kind != EXPLAIN_WAIT && f->kind != EXPLAIN_EVENT)
		return rank;
	for (size_t i = 0; i < e->count; i++)
		if (e->finding[i].kind == EXPLAIN_LOCK &&
		    (f->is_idle ||
		     f->time / IDLE_TIMES < e->finding[i].time))
			rank = MIN(rank, e->finding[i].time - 1);
	return rank;
}

void explain_find(struct explain *e, struct session *s,
		  const struct explain_seen *seen)
{
	struct work w = { .out = e, .session = s, .flat = flat_new(s, NULL) };

	*e = (struct explain){ .has_switches = w.flat->has_switches };
	for (size_t i = 0; i < w.flat->count; i++)
		w.cpu += on_cpu(&w, &w.flat->rows[i]);
	measure(&w);
	find_hot(&w);
	e->matters = (ticks)(LEAST_SHARE * (double)w.elapsed);
	if (w.flat->has_quantiles)
		find_slow(&w);
	find_often(&w);
	find_sleep(&w, seen);
	find_lock(&w, EXPLAIN_LOCK, &seen->lock);
	find_lock(&w, EXPLAIN_EVENT, &seen->event);
	find_wait(&w);
	find_heap(&w, &seen->heap);
	if (seen->unjoined > 0)
		add(&w, EXPLAIN_JOIN, seen->maker)->calls = seen->unjoined;
	for (size_t i = 0; i < e->count; i++)
		e->finding[i].rank = rank_of(e, &e->finding[i]);
	order_sort(e->finding, e->count, compare_findings);
	flat_free(w.flat);
}
