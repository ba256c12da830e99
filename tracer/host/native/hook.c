/* hook.c - what -finstrument-functions calls. The common case is laid out
 * here, straight on, and calls nothing, so that it needs no registers saved:
 * whatever is out of the ordinary makes it give up before it has changed
 * anything, and the uncommon case starts anew.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/process.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/thread/shadow_stack.h"

HOOK void __cyg_profile_func_enter(void *fn, void *site);
HOOK void __cyg_profile_func_exit(void *fn, void *site);

/* ------------------------------------------------------- the uncommon case */

static SLOW void enter(uint64_t fn, uint64_t site, uint64_t sp, uint64_t ret)
{
	struct state *s;
	struct frame *f;
	uint64_t now, gap;
	uint32_t index;

	if (unlikely(quiet_has(fn)))
		return;
	if (unlikely(quiet_learns())) {
		quiet_add(fn);
		return;
	}
	s = state_begin_native(sp);
	if (unlikely(!s)) {
		state_missed();
		return;
	}
	now = state_clock(s);
	if (unlikely(s->top[-1].sp <= sp)) {
		const struct frame n = {
			.key = fn, .sp = sp, .site = site, .ret = ret,
		};

		if (!stack_native_enter(s, &n, now))
			goto out;
	}
	if (unlikely(s->n >= s->limit))
		buffer_switch(s, 0);
	if (unlikely(s->top >= s->frame_limit) && !stack_grow(s)) {
		s->too_deep++;
		atomic_fetch_add_explicit(&s->slot->lost[LOST_DEPTH], 1,
					  memory_order_relaxed);
		goto out;
	}
	index = buffer_index(s, fn);
	gap = buffer_gap(s, now);
	f = s->top;
	f->key = fn;
	f->sp = sp;
	f->site = site;
	f->ret = ret;
	f->tick = now;
	buffer_put(s, rec_put(REC_ENTER, index, gap));
	s->top = f + 1;
out:
	state_end(s);
}

/* Was it called before it was known that its calls are not recorded? */
static int began_loud(uint64_t fn, uint64_t site)
{
	const struct state *const s = state_mine;

	return s && s->busy == 0 && s->generation != 0 &&
	       s->top[-1].key == fn && s->top[-1].site == site;
}

static SLOW void leave(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct state *s;
	uint64_t now, before, duration;
	struct frame *f;

	if (unlikely(quiet_has(fn)) && !began_loud(fn, site))
		return;
	s = state_begin_native(sp);
	if (unlikely(!s))
		return;
	now = state_clock(s);
	f = s->top - 1;
	if (unlikely(f->key != fn || f->site != site ||
		     s->too_deep != 0)) {
		stack_native_exit(s, fn, site, now);
		state_end(s);
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
			buffer_switch(s, 0);
		index = buffer_index(s, fn);
		buffer_put(s, rec_put(REC_LEAVE, index, buffer_gap(s, now)));
		s->top--;
	}
	state_end(s);
}

/* --------------------------------------------------------- the common case */

/* Where this chunk names the function; NULL: it does not as yet. */
INLINE const struct table_way *known(const struct state *s, uint64_t fn)
{
	const struct table_way *const w = buffer_way(s, fn);

	if (likely(w[0].key == fn && w[0].epoch == s->epoch))
		return &w[0];
	if (likely(w[1].key == fn && w[1].epoch == s->epoch))
		return &w[1];
	return NULL;
}

INLINE int entered(struct state *s, uint64_t fn, uint64_t site, uint64_t sp,
		   uint64_t ret)
{
	struct frame *const f = s->top;
	const struct table_way *w;
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
	buffer_put(s, rec_put(REC_ENTER, w->index, gap));
	s->top = f + 1;
	return 1;
}

INLINE int left(struct state *s, uint64_t fn, uint64_t site)
{
	struct frame *const f = s->top - 1;
	uint64_t *const before = &s->records[(int64_t)s->n - 1];
	const struct table_way *w;
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
		buffer_put(s, rec_put(REC_LEAVE, w->index, gap));
	}
	s->top = f;
	return 1;
}

enum readiness { READY, OFF, UNCOMMON };

/* May the common case be tried? Off costs no more than this. */
INLINE enum readiness readiness(struct state **s)
{
	const struct pool *const pool = state_native;
	uint32_t generation;

	if (unlikely(!pool))
		return UNCOMMON;
	generation = atomic_load_explicit(&pool->generation,
					  memory_order_relaxed);
	*s = state_mine;
	if (likely(*s && (*s)->generation == generation))
		return likely((*s)->busy == 0) ? READY : UNCOMMON;
	return generation & POOL_ON ? UNCOMMON : OFF;
}

HOOK void __cyg_profile_func_enter(void *fn, void *site)
{
	const uint64_t ret = (uint64_t)__builtin_return_address(0), sp = HERE;
	struct state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		int done;

		s->busy = sp;
		barrier();
		done = entered(s, (uint64_t)fn, (uint64_t)site, sp, ret);
		state_end(s);
		if (likely(done))
			return;
	}
	if (r != OFF)
		enter((uint64_t)fn, (uint64_t)site, sp, ret);
}

HOOK void __cyg_profile_func_exit(void *fn, void *site)
{
	const uint64_t sp = HERE;
	struct state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		int done;

		s->busy = sp;
		barrier();
		done = left(s, (uint64_t)fn, (uint64_t)site);
		state_end(s);
		if (likely(done))
			return;
	}
	if (r != OFF)
		leave((uint64_t)fn, (uint64_t)site, sp);
}
