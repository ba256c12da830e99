/* thread.h - the state that a thread records with: taking hold of it for the
 * time of a hook, and what happens to the thread as a whole.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/pool/process.h"
#include "tracer/host/thread/unwind.h"

/* The thread's own level; NULL: it has not recorded yet, or not any more. */
extern THREAD_LOCAL struct thread_state *thread_self;

/* The same for the common case, which need not ask whether there is one: in
 * place of NULL a state that is never up to date. To be used once there is a
 * pool. */
extern THREAD_LOCAL struct thread_state *thread_hot;

/* The pool, where native calls are recorded; one that is off for ever where
 * they are not; thread_no_pool, whose generation is 0: find out. It is known by
 * its distance from that one, so that the hooks can look at its generation
 * without asking whether there is one, even before the loader has relocated
 * this library. Of thread_no_pool there is nothing but its generation, which
 * lies in the mailbox behind the distance: both are found by one address. */
#define thread_no_pool                                                         \
	(*(struct pool *)((uint64_t)&process_mailbox.none -                    \
			  offsetof(struct pool, generation)))

INLINE struct pool *thread_native_pool(void)
{
	return (struct pool *)((uint64_t)&thread_no_pool +
			       process_mailbox.native);
}

/* Its generation, read in any order. */
INLINE uint32_t thread_native_generation(void)
{
	uint64_t none = (uint64_t)&process_mailbox.none;

	ARCH_PIN_ADDRESS(none);
	return ARCH_LOAD(none, ((const uint64_t *)none)[-1]);
}

INLINE void thread_set_native_pool(const struct pool *pool)
{
	__atomic_store_n(&process_mailbox.native,
			 (uint64_t)pool - (uint64_t)&thread_no_pool,
			 __ATOMIC_SEQ_CST);
}

/* While it is not 0, each native call finds out, recorded or not. */
extern HIDDEN _Atomic uint32_t thread_native_watched;

/* How often native calls were begun to be recorded here, or no longer. */
extern HIDDEN _Atomic uint32_t thread_natives;

/* The state's invariants (thread_state.h). */
bool thread_valid(const struct thread_state *s);

/* --------------------------------------------------- for the time of a hook */

struct thread_state *thread_sync(struct thread_state *s);
struct thread_state *thread_nested(struct thread_state *s, uint64_t sp);

/* The state to record with, busy, or NULL: record nothing. sp is the caller's
 * frame address. To be given back by thread_release. Hook-safe; does not change
 * errno. */
INLINE struct thread_state *thread_acquire_in(const struct pool *pool,
					      uint64_t sp)
{
	struct thread_state *s = thread_self;

	if (unlikely(!s || s->generation !=
		     atomic_load_explicit(&pool->generation,
					  memory_order_relaxed))) {
		/* Off costs no more than this. */
		if (pool &&
		    !(atomic_load_explicit(&pool->generation,
					   memory_order_relaxed) & POOL_ON))
			return NULL;
		s = thread_sync(s);
		if (!s)
			return NULL;
	}
	if (unlikely(s->busy != 0)) {
		s = thread_nested(s, sp);
		if (!s)
			return NULL;
	}
	s->busy = sp;
	barrier();
	return s;
}

INLINE struct thread_state *thread_acquire(uint64_t sp)
{
	return thread_acquire_in(mapped_pool, sp);
}

/* The same for a native call, which may come before this library is ready to
 * run: nothing of it may be touched but thread_native_pool. NULL: there is no
 * pool as yet. */
struct pool *thread_find_native_pool(void);

INLINE struct thread_state *thread_acquire_native(uint64_t sp)
{
	const struct pool *pool = thread_native_pool();

	if (unlikely(pool == &thread_no_pool)) {
		pool = thread_find_native_pool();
		if (!pool)
			return NULL;
	}
	return thread_acquire_in(pool, sp);
}

/* Of the common case, which has changed nothing but what it may. */
INLINE void thread_release_hot(struct thread_state *s)
{
	CHECKED(thread_valid(s));
	barrier();
	s->busy = 0;
}

INLINE void thread_release(struct thread_state *s)
{
	shadow_set_quick(s);
	thread_release_hot(s);
}

/* Sampled Lua runs on so many frames of this busy state, 0: none. */
void thread_lua_runs(struct thread_state *s, uint32_t top);

/* Does it run there now, so that a call made outside of hooks is one of its? */
INLINE bool thread_lua_calls(const struct thread_state *s)
{
	return unlikely(s->lua_top != 0) && s->busy == 0 && !s->counts &&
	       s->top == s->frames + s->lua_top;
}

/* A call was not recorded, since there is no state for it: counts it, unless
 * the thread is to have none. */
void thread_count_missed(void);

/* ---------------------------------------------------- the thread as a whole */

/* A longjmp is about to set the stack pointer to target: hooks that a signal
 * handler interrupted below it will not come back. */
void thread_jumped(uint64_t target);

/* The thread's signal stack lies there now; 0, 0: it has none. */
void thread_set_alt_stack(uint64_t low, uint64_t high);

/* Hands the thread's chunks over: it ends, or cannot be recorded any more. What
 * it calls from here on is counted there, in the pool. */
void thread_end(_Atomic uint64_t *missed);

/* ----------------------------------------------------------------- regions
 * Recording only inside chosen calls (weft_inside_only): a thread that is in
 * none is shut out, which costs as much as having no state. The common path
 * knows nothing of it. */

/* Set once the program asks for it; never taken back but by whoever set it. */
extern HIDDEN _Atomic int region_only;
/* How many chosen calls this thread is in. */
extern HIDDEN THREAD_LOCAL uint32_t region_depth;

/* Is this thread shut out? */
INLINE bool region_is_shut(void)
{
	return atomic_load_explicit(&region_only, memory_order_relaxed) &&
	       region_depth == 0;
}

/* Sets the depth; back at 0, the calls that are open end, and the thread is
 * shut out. sp: of the caller. */
void region_set(uint32_t depth, uint64_t sp);

/* A coroutine comes off the thread, whose depth was outside before: chosen
 * calls go where it goes. Returns those it sleeps in, if it may come back. */
uint32_t region_go_back(uint32_t outside, bool sleeps, uint64_t sp);

INLINE uint32_t region_back(uint32_t outside, bool sleeps, uint64_t sp)
{
	return likely(region_depth == outside) ? 0 :
	       region_go_back(outside, sleeps, sp);
}
