/* hook.c - what -finstrument-functions calls. The common case calls nothing, so
 * that no registers need to be saved. Whatever is out of the ordinary makes it
 * give up before it has changed anything; then the uncommon case does it all.
 * native/ records native calls, and stands in for functions of libc. It may use
 * base/, pool/ and thread/, and knows nothing of Lua but which of its code must
 * not be recorded.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/exclude.h"
#include "tracer/host/thread/thread.h"

HOOK void __cyg_profile_func_enter(void *fn, void *site);
HOOK void __cyg_profile_func_exit(void *fn, void *site);

/* Is it the call of a function that was inlined into the innermost one, or into
 * what that was inlined into? Those have one stack pointer and one call site,
 * but call the hook from different places: who calls it from the same place
 * again has ended unseen, which the uncommon case finds out. */
INLINE bool is_inlined(const struct thread_state *s, uint64_t site,
		       uint64_t sp)
{
	const uint64_t ret = RETURN_ABOVE(sp);
	const struct frame *f = s->top - 1;

	if (f->sp != sp || f->site != site ||
	    s->segment[s->segments - 1].inferred)
		return false;
	for (; f->sp == sp; f--) {
		if (f->ret == ret)
			return false;
	}
	return true;
}

/* ------------------------------------------------------- the uncommon case */

/* Records an entry whatever the state is. If functions are being learned, the
 * call is one of Lua's own and is not recorded. */
static SLOW void enter(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct frame f = { .key = fn, .sp = sp, .site = site,
			   .ret = RETURN_ABOVE(sp) };
	struct thread_state *s;

	if (exclude_has(fn))
		return;
	if (exclude_learns()) {
		exclude_add(fn);
		return;
	}
	s = thread_acquire_native(sp);
	if (!s) {
		thread_count_missed();
		return;
	}
	f.tick = chunk_clock(s);
	if (s->top[-1].sp > sp || is_inlined(s, site, sp) ||
	    unwind_native_enter(s, &f, f.tick))
		shadow_enter(s, &f, f.tick);
	thread_release(s);
}

/* Was it called before it was known that its calls are not recorded? */
static bool began_recorded(uint64_t fn, uint64_t site)
{
	const struct thread_state *const s = thread_self;

	return s && s->busy == 0 && s->generation != 0 &&
	       s->top[-1].key == fn && s->top[-1].site == site;
}

/* Records a return. If it is not that of the innermost frame, unwind finds out
 * what has ended; but one that is left out says nothing: a frame of its
 * function may be another call's. */
static SLOW void leave(uint64_t fn, uint64_t site, uint64_t sp)
{
	struct thread_state *s;
	uint64_t now;

	if (exclude_has(fn) && !began_recorded(fn, site))
		return;
	s = thread_acquire_native(sp);
	if (!s)
		return;
	now = chunk_clock(s);
	if (s->top[-1].key == fn && s->top[-1].site == site &&
	    s->too_deep == 0)
		shadow_leave(s, now);
	else if (!dictionary_may_skip(s, fn))
		unwind_native_exit(s, fn, site, sp, now);
	thread_release(s);
}

/* -------------------------------------------------------- what is left out
 * The common case has given up. What is left out comes here at each call: it
 * changes nothing, and takes no registers. A handler that runs meanwhile leaves
 * the stack as it was. */

/* An entry that is left out says nothing unless the innermost frame may have
 * ended: its stack pointer is not higher, nor is it that of a caller into which
 * this call was inlined. */
static NOINLINE void enter_unless_skipped(uint64_t fn, uint64_t site,
					  uint64_t sp)
{
	const struct thread_state *const s = thread_hot;
	const struct frame *f;

	if (!chunk_skips(s, fn)) {
		enter(fn, site, sp);
		return;
	}
	f = s->top - 1;
	if (unlikely((f->sp <= sp && (f->sp != sp || f->site != site)) ||
		     (s->segments > 1 && shadow_depth(s) == 0)))
		enter(fn, site, sp);
}

/* A return may be that of a frame from before its function was left out. */
static NOINLINE void leave_unless_skipped(uint64_t fn, uint64_t site,
					  uint64_t sp)
{
	const struct thread_state *const s = thread_hot;
	const struct frame *f;

	if (!chunk_skips(s, fn)) {
		leave(fn, site, sp);
		return;
	}
	f = s->top - 1;
	if (unlikely(f->key == fn && f->site == site))
		leave(fn, site, sp);
}

/* --------------------------------------------------------- the common case */

/* The common case of an entry; false: nothing was changed. A frame below whose
 * stack pointer is not higher may have ended unseen: the uncommon case finds
 * out. The frame is complete before top rises, so a signal handler sees either
 * all of it or nothing. */
INLINE bool entered(struct thread_state *s, uint64_t fn, uint64_t site,
		   uint64_t sp)
{
	struct frame *const f = s->top;
	const struct table_entry *e;
	uint64_t now, gap;

	if (unlikely(s->at >= s->quick) ||
	    (unlikely(f[-1].sp <= sp) && !is_inlined(s, site, sp)))
		return false;
	e = chunk_named(s, fn);
	if (unlikely(!e))
		return false;
	now = clock_ticks();
	if (!chunk_quick_gap(s, now, &gap))
		return false;
	s->last = now;
	f->key = fn;
	f->sp = sp;
	f->site = site;
	f->ret = RETURN_ABOVE(sp);
	f->tick = now;
	chunk_put(s, gap | e->enter);
	s->top++;
	return true;
}

/* The common case of a return; false: nothing was changed. What is left out
 * ends here (an entry that did would take registers from others). If the last
 * record is the ENTER of this call, both become one LEAF; otherwise a LEAVE is
 * written. */
INLINE bool left(struct thread_state *s, uint64_t fn, uint64_t site)
{
	struct frame *const f = s->top - 1;
	uint64_t *const last = s->at - 1;

	if (unlikely(f->key != fn || f->site != site))
		return chunk_skips_at_first(s, fn);
	if (unlikely(s->at >= s->quick))
		return false;
	if (likely(rec_may_be_leaf(*last))) {
		const uint64_t now = clock_ticks(), duration = now - s->last;

		if (unlikely(duration > REC_LEAF_MAX)) /* or negative */
			return false;
		s->last = now; /* first: a handler may jump away from here */
		*last = rec_enter_to_leaf(*last, duration);
	} else {
		const struct table_entry *const e = chunk_named(s, fn);
		uint64_t now, gap;

		if (unlikely(!e))
			return false;
		now = clock_ticks();
		if (!chunk_quick_gap(s, now, &gap))
			return false;
		s->last = now;
		chunk_put(s, gap | (e->enter + (REC_LEAVE - REC_ENTER)));
	}
	barrier();
	s->top--;
	return true;
}

/* --------------------------------------------- where calls are only counted
 * A common case of its own, which the other one never comes to. */

/* The state, busy; NULL: find out. */
INLINE struct thread_state *counting(uint64_t sp)
{
	const struct pool *const pool = thread_native_pool;
	struct thread_state *const s = thread_counting;

	if (unlikely(!pool || s->busy != 0 ||
		     s->generation !=
		     atomic_load_explicit(&pool->generation,
					  memory_order_relaxed)))
		return NULL;
	s->busy = sp;
	barrier();
	return s;
}

static __attribute__((noinline)) void count_enter(uint64_t fn, uint64_t site,
						  uint64_t sp)
{
	struct thread_state *const s = counting(sp);

	if (likely(s)) {
		struct frame *const f = s->top;
		const bool done = (likely(f[-1].sp > sp) ||
				   is_inlined(s, site, sp)) &&
				  counted_call(s, fn);

		if (likely(done)) {
			f->key = fn;
			f->sp = sp;
			f->site = site;
			f->ret = RETURN_ABOVE(sp);
			barrier();
			s->top++;
		}
		thread_release_hot(s);
		if (likely(done))
			return;
	}
	enter(fn, site, sp);
}

static __attribute__((noinline)) void count_leave(uint64_t fn, uint64_t site,
						  uint64_t sp)
{
	struct thread_state *const s = counting(sp);

	if (likely(s)) {
		struct frame *const f = s->top - 1;
		const bool done = f < s->count_limit && f->key == fn &&
				  f->site == site;

		if (likely(done))
			s->top = f;
		thread_release_hot(s);
		if (likely(done))
			return;
	}
	leave(fn, site, sp);
}

/* READY: this thread has a state that is up to date. OFF: nothing is recorded.
 * UNCOMMON: find out. */
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
	*s = thread_hot;
	if (likely((*s)->generation == generation))
		return likely((*s)->busy == 0) ? READY : UNCOMMON;
	return generation & POOL_ON ? UNCOMMON : OFF;
}

HOOK void __cyg_profile_func_enter(void *fn, void *site)
{
	const uint64_t sp = HERE;
	struct thread_state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		bool done;

		s->busy = sp;
		barrier();
		done = entered(s, (uint64_t)fn, (uint64_t)site, sp);
		thread_release_hot(s);
		if (likely(done))
			return;
		enter_unless_skipped((uint64_t)fn, (uint64_t)site, sp);
	} else if (r != OFF) {
		count_enter((uint64_t)fn, (uint64_t)site, sp);
	}
}

HOOK void __cyg_profile_func_exit(void *fn, void *site)
{
	const uint64_t sp = HERE;
	struct thread_state *s;
	const enum readiness r = readiness(&s);

	if (likely(r == READY)) {
		bool done;

		s->busy = sp;
		barrier();
		done = left(s, (uint64_t)fn, (uint64_t)site);
		thread_release_hot(s);
		if (likely(done))
			return;
		leave_unless_skipped((uint64_t)fn, (uint64_t)site, sp);
	} else if (r != OFF) {
		count_leave((uint64_t)fn, (uint64_t)site, sp);
	}
}
