/* explain_waits.c - what threads wait for: a function that waits, a lock and
 * who has it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain_work.h"

#include <math.h>

/* ---- the function that waits -------------------------------------------- */

/* A thread, and what it does: waits in one function, calls that, and all
 * else. */
struct side { ticks waits, does; uint64_t calls; };

/* By thread's index. The caller frees the array. */
static struct side *sides_of(const struct work *w, func_id func)
{
	struct cct *const t = w->session->cct;
	const size_t threads = w->session->thread_count;
	struct side *const sides = mem_alloc((threads + 1) * sizeof(*sides));
	uint32_t *const of = mem_alloc((cct_count(t) + 1) * sizeof(*of));

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const ticks asleep = work_asleep_at(w, id);

		of[id] = n->parent ? of[n->parent] : n->thread;
		if (of[id] >= threads)
			continue;
		sides[of[id]].does += n->self - MIN(asleep, n->self);
		if (n->func != func)
			continue;
		sides[of[id]].waits += asleep;
		sides[of[id]].calls += n->calls;
	}
	mem_free(of);
	return sides;
}

/* Is most of the function's waiting that of threads which hardly do anything
 * else? And is it that of one thread, of several that call it? */
static void find_sides(const struct work *w, struct explain_finding *f)
{
	const size_t threads = w->session->thread_count;
	struct side *const sides = sides_of(w, f->func), *most = sides;
	size_t callers = 0;
	ticks all = 0, idle = 0;

	for (struct side *i = sides; i < sides + threads; i++) {
		callers += i->calls > 0;
		most = i->waits > most->waits ? i : most;
		all += i->waits;
		idle += i->does < i->waits / IDLE_TIMES ? i->waits : 0;
	}
	f->is_idle = idle > all / 2;
	if (f->kind == EXPLAIN_WAIT && callers > 1 &&
	    (double)most->waits >= ONE_SIDED * (double)f->time) {
		f->thread = (uint32_t)(most - sides);
		f->share = (double)most->waits / (double)f->time;
	}
	mem_free(sides);
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
	find_sides(w, f);
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
	const struct flat_row *const rows = w->flat->rows;
	const struct figures *best = NULL;
	ticks *const wait = mem_alloc((w->flat->count + 1) * sizeof(*wait));
	struct explain_finding *f;
	double most = 0;

	for (size_t i = 0; i < w->flat->count; i++) {
		wait[i] = is_told(w, rows[i].f.func) ? 0 :
			  wait_of(w, &rows[i].f);
		most = fmax(most, (double)wait[i]);
	}
	for (size_t i = 0; i < w->flat->count; i++)
		if (wait[i] > 0 && work_is_long(w, wait[i], LONG_SHARE) &&
		    (double)wait[i] >= AS_LONG * most &&
		    (!best || work_asleep(w, &rows[i].f) <
			      work_asleep(w, best)))
			best = &rows[i].f;
	mem_free(wait);
	if (!best)
		return;
	f = work_add(w, EXPLAIN_WAIT, best->func);
	work_find_caller(w, f, work_asleep_at);
	f->calls = best->calls;
	f->time = work_asleep(w, best);
	f->typical = best->cpu;
	find_sides(w, f);
}
