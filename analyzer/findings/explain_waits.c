/* explain_waits.c - what threads wait for: a function that waits, a lock and
 * who has it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain_work.h"

#include <math.h>

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
		off[of[id]] += work_asleep_at(w, id);
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
	const ticks time = work_asleep(w, f), busy = time - MIN(time, w->idle);

	if (!work_is_waiting(w, f) || work_is_for(w, f->func, EVENTS))
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
		const ticks asleep = work_asleep_at(w, id);

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

void explain_find_lock(struct work *w, enum explain_kind kind,
		       const struct explain_lock *lock)
{
	const double least = kind == EXPLAIN_LOCK ? LOCK_SHARE : LONG_SHARE;
	struct explain_finding *f;

	if (lock->func == 0 || !work_is_long(w, lock->waiting, least))
		return;
	f = work_add(w, kind, lock->func);
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
void explain_find_wait(struct work *w)
{
	const struct flat_row *const rows = w->flat->rows, *best = NULL;
	struct explain_finding *f;
	double most = 0;

	for (size_t i = 0; i < w->flat->count; i++)
		if (!is_told(w, rows[i].f.func))
			most = fmax(most, (double)wait_of(w, &rows[i].f));
	for (size_t i = 0; i < w->flat->count; i++) {
		const struct figures *const row = &rows[i].f;
		const ticks wait = wait_of(w, row);

		if (!is_told(w, rows[i].f.func) &&
		    work_is_long(w, wait, LONG_SHARE) &&
		    (double)wait >= AS_LONG * most &&
		    (!best || work_asleep(w, row) < work_asleep(w, &best->f)))
			best = &rows[i];
	}
	if (!best)
		return;
	f = work_add(w, EXPLAIN_WAIT, best->f.func);
	work_find_caller(w, f, work_asleep_at);
	f->calls = best->f.calls;
	f->time = work_asleep(w, &best->f);
	f->typical = best->f.cpu;
	f->is_idle = is_idle(w, f->func);
	find_side(w, f);
}
