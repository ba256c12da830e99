/* explain_find.c - all findings, in the order of what they cost; here are those
 * of functions, coroutines and memory. explain_slow.c has those of single
 * calls, explain_waits.c what threads wait for, explain_work.c what is long.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain_work.h"

#include "analyzer/tables/callers.h"

#include <math.h>

/* ---- the hot function ---------------------------------------------------
 * LuaJIT does not tell when some C functions return. What they seem to take is
 * theirs or their caller's, so that has both: no more is known. */

/* told: by node, it or the nearest caller whose return is told, which may be
 * none. Callers have lower ids. */
static node_id who_told(const struct work *w, node_id *told, node_id id)
{
	struct cct *const t = w->session->cct;
	const struct cct_node *const n = cct_get(t, id);

	told[id] = func_get(w->session->funcs, n->func)->untold_return ?
		   told[n->parent] : id;
	return cct_get(t, told[id])->func ? told[id] : id;
}

/* By function, what each has itself; the same by node in w->self. The caller
 * frees both arrays. */
static struct figures *sum_up_own(struct work *w)
{
	struct cct *const t = w->session->cct;
	struct figures *const own = mem_alloc(
		(func_count(w->session->funcs) + 1) * sizeof(*own));
	node_id *const told = mem_alloc((cct_count(t) + 1) * sizeof(*told));

	w->self = mem_alloc((cct_count(t) + 1) * sizeof(*w->self));
	for (node_id id = 1; id <= cct_count(t); id++) {
		const node_id by = who_told(w, told, id);
		struct figures *const f = &own[cct_get(t, by)->func];

		f->func = cct_get(t, by)->func;
		w->self[by] += cct_get(t, id)->self;
		figures_add_self(f, t, id);
		if (by == id)
			figures_add_division(f, t, id);
		else if (cct_is_net(t))
			cct_division_add_given(&f->given, t, id);
	}
	mem_free(told);
	return own;
}

static ticks self_at(const struct work *w, node_id id)
{
	return w->self[id];
}

/* If it has as much of the time. */
static void add_hot(struct work *w, enum explain_kind kind,
		    const struct flat_row *row, const struct figures *own,
		    double share)
{
	struct explain_finding *f;

	if (!work_is_long(w, work_on_cpu(w, own), share))
		return;
	f = work_add(w, kind, row->f.func);
	work_find_caller(w, f, self_at);
	f->calls = row->f.calls;
	f->time = work_on_cpu(w, own);
	f->untold = f->time - MIN(work_on_cpu(w, &row->f), f->time);
	f->error = (ticks)sqrt(own->self_variance +
			       cct_division_variance(&own->division) +
			       cct_division_variance(&own->given));
	f->share = (double)f->time / (double)w->cpu;
}

static void find_hot(struct work *w)
{
	struct figures *const own = sum_up_own(w);
	const struct flat_row *best = NULL;

	for (size_t i = 0; i < w->flat->count; i++) {
		const struct flat_row *const row = &w->flat->rows[i];
		const struct figures *const f = &own[row->f.func];

		if (func_is_special(w->session->funcs, row->f.func,
				    "[garbage collector]"))
			add_hot(w, EXPLAIN_COLLECTOR, row, f, COLLECTOR_SHARE);
		else if (!best || work_on_cpu(w, f) >
				  work_on_cpu(w, &own[best->f.func]))
			best = row;
	}
	if (best && w->cpu > 0) {
		const struct figures *const f = &own[best->f.func];

		w->out->top = best->f.func;
		w->out->top_share = (double)work_on_cpu(w, f) / (double)w->cpu;
		add_hot(w, EXPLAIN_HOT, best, f, HOT_SHARE);
	}
	mem_free_all(own, w->self);
}

/* ---- the function that is called too often ------------------------------ */

/* A budget may have sampled it at times: it was called more often then. */
static bool is_at_times(const struct work *w, func_id id)
{
	const struct func *const f = func_get(w->session->funcs, id);

	return f->kind == FUNC_LUA && f->noted;
}

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
		    !is_at_times(w, arc->from) &&
		    by >= OFTEN_CALLS && arc->of.calls / OFTEN_TIMES >= by &&
		    (double)arc->of.calls >=
			    OFTEN_SHARE * (double)c->all.calls &&
		    work_matters(w, arc->of.total) &&
		    (!best || arc->of.calls > best->of.calls))
			best = arc;
	}
	if (best) {
		f = work_add(w, EXPLAIN_OFTEN, best->of.func);
		f->other = best->from;
		f->calls = best->of.calls;
		f->other_calls = c->of[best->from].calls;
		f->time = best->of.total;
		f->share = (double)f->calls / (double)c->all.calls;
	}
	callers_free(c);
}

/* ---- the coroutine that sleeps ------------------------------------------ */

/* Without the time in which the thread had no core: all of its coroutines sleep
 * then, whatever the program does. */
static ticks itself(const struct explain_sleep *s)
{
	return s->longest - s->no_core;
}

static void find_sleep(struct work *w, const struct explain_seen *seen)
{
	const struct explain_sleep *const s = seen->sleeps, *best = NULL;
	uint64_t count = 0;
	ticks sum = 0;
	struct explain_finding *f;

	for (size_t i = 0; i < seen->sleep_count; i++) {
		count += s[i].count;
		sum += s[i].sum;
		if (!best || itself(&s[i]) > itself(best))
			best = &s[i];
	}
	if (!best || !work_is_long(w, itself(best), LONG_SHARE))
		return;
	/* What others slept meanwhile tells whether that is unusual. */
	const ticks others = count > 1 ? (sum - best->longest) / (count - 1) :
			     0;

	if (itself(best) / SLEEP_TIMES < others ||
	    itself(best) / 2 < seen->second)
		return;
	f = work_add(w, EXPLAIN_SLEEP, best->where);
	f->other = best->body;
	f->calls = count;
	f->time = best->longest;
	f->ready = best->no_core;
	f->typical = others;
	f->at = best->at;
	f->coroutine = best->coroutine;
	f->process = best->process;
}

/* ---- memory that grows -------------------------------------------------- */

/* A collector may have given much back just before the end. */
double explain_heap_growth(const struct explain_heap *heap)
{
	return fmax(heap->end - heap->half, heap->steady);
}

bool explain_keeps(const struct explain_heap *heap)
{
	const double kept = heap->error > 0 ? 0 : heap->steady;

	return kept >= fmax(LEAST_GROWTH, KEPT_SHARE * heap->end);
}

/* Not what only the first part of the time fills, nor what may be chance. What
 * is known to be kept all the time is neither. */
static void find_heap(struct work *w, const struct explain_heap *heap)
{
	const double all = explain_heap_growth(heap);
	struct explain_finding *f;

	if (heap->func == 0 || all < LEAST_GROWTH || all < 3 * heap->error ||
	    (!explain_keeps(heap) &&
	     (all < GROWTH_SHARE * heap->end ||
	      heap->later - heap->half < STEADY * all ||
	      heap->end - heap->later < STEADY * all)))
		return;
	f = work_add(w, EXPLAIN_HEAP, heap->func);
	f->heap = heap;
	f->share = heap->stays > 0 ? heap->stays : fmin(1, heap->grown / all);
}

/* ---- all ---------------------------------------------------------------- */

ORDER_BY(compare_findings, struct explain_finding, DOWN(rank) ?: UP(kind))

/* A function that only sleeps, once a call, does so for its own caller: who
 * that is, for the most part, is told, and through what. Of calls that began
 * before the recording, only the sleeps are seen. */
static void pass_wrapper(const struct work *w, struct explain_finding *f)
{
	struct cct *const t = w->session->cct;
	const size_t funcs = func_count(w->session->funcs) + 1;
	ticks *const of = mem_alloc(funcs * sizeof(*of)), ran = 0;
	uint64_t calls = 0, sleeps = 0, others = 0;
	func_id best = 0;

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const struct cct_node *const by = cct_get(t, n->parent);

		if (n->func == f->other) {
			calls += n->calls;
			ran += n->self - MIN(cct_cpu_of(t, id).off, n->self);
		}
		if (by->func != f->other)
			continue;
		if (n->func != f->func) {
			others += n->calls;
			continue;
		}
		const func_id from = cct_get(t, by->parent)->func;

		sleeps += n->calls;
		of[from] += work_asleep_at(w, id);
		best = of[from] > of[best] ? from : best;
	}
	const bool is_most = of[best] > f->time / 2;

	mem_free(of);
	if (best == 0 || others > 0 || sleeps > calls + calls / 10 + 1 ||
	    ran > f->time / WAIT_TIMES)
		return;
	f->through = f->other;
	f->other = best;
	f->is_most = is_most;
}

/* Who does nothing but wait for a condition, so many times as long as others
 * take, may yet wait for what is too slow. */
enum { IDLE_RANK = 50 };

/* Threads that nobody joins are a fault, not only what may be one. Who has a
 * lock tells more than what waits: that may have the lock, or be idle. Threads
 * that do nothing but wait are. What sleeps because the program wants it, and
 * who is idle, come after all that takes time. */
static ticks rank_of(const struct work *w, const struct explain_finding *f)
{
	const struct explain *const e = w->out;
	ticks rank = f->kind == EXPLAIN_JOIN ? UINT64_MAX : f->time;

	if (f->kind == EXPLAIN_SLEEP)
		return f->time - f->ready;
	if (f->kind != EXPLAIN_WAIT && f->kind != EXPLAIN_EVENT)
		return rank;
	if (f->is_idle)
		return f->kind == EXPLAIN_EVENT ? f->time / IDLE_RANK : 0;
	if (work_is_for(w, f->func, SLEEP))
		return 0;
	for (size_t i = 0; i < e->count; i++)
		if (e->finding[i].kind == EXPLAIN_LOCK &&
		    f->time / IDLE_TIMES < e->finding[i].time)
			rank = MIN(rank, e->finding[i].time - 1);
	return rank;
}

void explain_find(struct explain *e, struct session *s,
		  const struct explain_seen *seen)
{
	struct work w = { .out = e, .session = s, .flat = flat_new(s, NULL) };

	*e = (struct explain){ .has_switches = w.flat->has_switches };
	for (size_t i = 0; i < w.flat->count; i++)
		w.cpu += work_on_cpu(&w, &w.flat->rows[i].f);
	work_measure(&w);
	find_hot(&w);
	e->matters = (ticks)(LEAST_SHARE * (double)w.elapsed);
	if (w.flat->has_quantiles)
		explain_find_slow(&w);
	find_often(&w);
	find_sleep(&w, seen);
	explain_find_lock(&w, EXPLAIN_LOCK, &seen->lock);
	explain_find_lock(&w, EXPLAIN_EVENT, &seen->event);
	explain_find_wait(&w);
	find_heap(&w, &seen->heap);
	if (seen->unjoined > 0)
		work_add(&w, EXPLAIN_JOIN, seen->maker)->calls = seen->unjoined;
	for (size_t i = 0; i < e->count; i++) {
		struct explain_finding *const f = &e->finding[i];

		f->rank = rank_of(&w, f);
		if (f->kind == EXPLAIN_WAIT && f->other != 0 &&
		    work_is_for(&w, f->func, SLEEP))
			pass_wrapper(&w, f);
	}
	order_sort(e->finding, e->count, compare_findings);
	flat_free(w.flat);
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
				most = MAX(most, s->finding.did);
			else if (s->finding.did >= most / 10 * 8 &&
				 (!best ||
				  s->finding.did < best->finding.did))
				best = s;
		}
	if (!best)
		return;
	while (f < e->finding + e->count && f->kind != EXPLAIN_SLOW)
		f++;
	e->count += f == e->finding + e->count;
	*f = best->finding;
	f->rank = f->did;
	order_sort(e->finding, e->count, compare_findings);
}
