/* hook.c - what -finstrument-functions calls. The common case is laid out
 * here, straight on, and calls nothing, so that it needs no registers saved:
 * whatever is out of the ordinary makes it give up before it has changed
 * anything, and the uncommon case starts anew.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/exclude.h"
#include "tracer/host/thread/thread.h"

HOOK void __cyg_profile_func_enter(void *fn, void *site);
HOOK void __cyg_profile_func_exit(void *fn, void *site);

/* ------------------------------------------------------- the uncommon case */

static SLOW void enter(uint64_t fn, uint64_t site, uint64_t sp, uint64_t ret)
{
	struct thread_state *s;
	struct frame *f;
	uint64_t now, gap;
	uint32_t index;

	if (unlikely(exclude_has(fn)))
		return;
	if (unlikely(exclude_learns())) {
		exclude_add(fn);
		return;
	}
	s = thread_acquire_native(sp);
	if (unlikely(!s)) {
		thread_count_missed();
		return;
	}
	now = chunk_clock(s);
	if (unlikely(s->top[-1].sp <= sp)) {
		const struct frame n = {
			.key = fn, .sp = sp, .site = site, .ret = ret,
		};

		if (!unwind_native_enter(s, &n, now))
			goto out;
	}
	if (unlikely(s->n >= s->limit))
		chunk_switch(s, 0);
	if (unlikely(s->top >= s->frame_limit) && !shadow_grow(s)) {
		s->too_deep++;
		atomic_fetch_add_explicit(&s->slot->lost[LOST_DEPTH], 1,
					  memory_order_relaxed);
		goto out;
	}
	index = chunk_index(s, fn);
	gap = chunk_gap(s, now);
	f = s->top;
	f->key = fn;
	f->sp = sp;
	f->site = site;
	f->ret = ret;
	f->tick = now;
	chunk_put(s, rec_put(REC_ENTER, index, gap));
	s->top = f + 1;
out:
	thread_release(s);
}

/* Was it called before it was known that its calls are not recorded? */
static int began_loud(uint64_t fn, uint64_t site)
{
	const struct thread_state *const s = thread_self;

	return s && s->busy == 0 && s->generation != 0 &&
	       s->top[-1].key == fn && s->top[-1].site == site;
}

static SLOW void leave(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct thread_state *s;
	uint64_t now, before, duration;
	struct frame *f;

	if (unlikely(exclude_has(fn)) && !began_loud(fn, site))
		return;
	s = thread_acquire_native(sp);
	if (unlikely(!s))
		return;
	now = chunk_clock(s);
	f = s->top - 1;
	if (unlikely(f->key != fn || f->site != site ||
		     s->too_deep != 0)) {
		unwind_native_exit(s, fn, site, now);
		thread_release(s);
		return;
	}
	before = s->records[(int64_t)s->n - 1];
	duration = now - s->last;
	if (likely(rec_fits_leaf(before, duration))) {
		s->last = now;
		s->records[(int64_t)s->n - 1] = rec_enter_to_leaf(before,
								  duration);
		s->top = f;
	} else {
		uint32_t index;

		if (unlikely(s->n >= s->limit))
			chunk_switch(s, 0);
		index = chunk_index(s, fn);
		chunk_put(s, rec_put(REC_LEAVE, index, chunk_gap(s, now)));
		s->top--;
	}
	thread_release(s);
}

/* --------------------------------------------------------- the common case */

/* Where this chunk names the function; NULL: it does not as yet. */
INLINE const struct table_entry *known(const struct thread_state *s,
				       uint64_t fn)
{
	const struct table_entry *const w = dictionary_entries(s, fn);

	if (likely(w[0].key == fn && w[0].epoch == s->epoch))
		return &w[0];
	if (likely(w[1].key == fn && w[1].epoch == s->epoch))
		return &w[1];
	return NULL;
}

INLINE int entered(struct thread_state *s, uint64_t fn, uint64_t site,
		   uint64_t sp, uint64_t ret)
{
	struct frame *const f = s->top;
	const struct table_entry *w;
	uint64_t now, gap;

	if (unlikely(f[-1].sp <= sp || s->n >= s->limit ||
		     f >= s->frame_limit || !clock_is_tsc))
		return 0;
	w = known(s, fn);
	if (unlikely(!w))
		return 0;
	now = clock_now();
	gap = now - s->last;
	if (unlikely(gap > REC_GAP_MAX)) /* or negative */
		return 0;
	s->last = now;
	f->key = fn;
	f->sp = sp;
	f->site = site;
	f->ret = ret;
	f->tick = now;
	chunk_put(s, rec_put(REC_ENTER, w->index, gap));
	s->top = f + 1;
	return 1;
}

INLINE int left(struct thread_state *s, uint64_t fn, uint64_t site)
{
	struct frame *const f = s->top - 1;
	uint64_t *const before = &s->records[(int64_t)s->n - 1];
	const struct table_entry *w;
	uint64_t now, gap;

	if (unlikely(f->key != fn || f->site != site || s->too_deep != 0 ||
		     !clock_is_tsc))
		return 0;
	if ((*before & REC_KIND_MASK) == REC_ENTER) {
		now = clock_now();
		gap = now - s->last;
		if (unlikely(!rec_fits_leaf(*before, gap)))
			return 0;
		s->last = now; /* first: a handler may jump away from here */
		*before = rec_enter_to_leaf(*before, gap);
	} else {
		w = known(s, fn);
		if (unlikely(!w || s->n >= s->limit))
			return 0;
		now = clock_now();
		gap = now - s->last;
		if (unlikely(gap > REC_GAP_MAX))
			return 0;
		s->last = now;
		chunk_put(s, rec_put(REC_LEAVE, w->index, gap));
	}
	s->top = f;
	return 1;
}

enum readiness { READY, OFF, UNCOMMON };

/* May the common case be tried? Off costs no more than this. */
INLINE enum readiness readiness(struct thread_state **s)
{
	const struct pool *const pool = thread_native_pool;
	uint32_t generation;

	if (unlikely(!pool))
		return UNCOMMON;
	generation = atomic_load_explicit(&pool->generation,
					  memory_order_relaxed);
	*s = thread_self;
	if (likely(*s && (*s)->generation == generation))
		return likely((*s)->busy == 0) ? READY : UNCOMMON;
	return generation & POOL_ON ? UNCOMMON : OFF;
}

HOOK void __cyg_profile_func_enter(void *fn, void *site)
{
	const uint64_t ret = (uint64_t)__builtin_return_address(0), sp = HERE;
	struct thread_state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		int done;

		s->busy = sp;
		barrier();
		done = entered(s, (uint64_t)fn, (uint64_t)site, sp, ret);
		thread_release(s);
		if (likely(done))
			return;
	}
	if (r != OFF)
		enter((uint64_t)fn, (uint64_t)site, sp, ret);
}

HOOK void __cyg_profile_func_exit(void *fn, void *site)
{
	const uint64_t sp = HERE;
	struct thread_state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		int done;

		s->busy = sp;
		barrier();
		done = left(s, (uint64_t)fn, (uint64_t)site);
		thread_release(s);
		if (likely(done))
			return;
	}
	if (r != OFF)
		leave((uint64_t)fn, (uint64_t)site, sp);
}
