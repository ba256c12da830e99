/* thread.c - the threads' states: when one is needed, what a change of the
 * pool's generation means for it, levels above a hook at work, its end.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/thread_state.h"
#include "tracer/host/thread/chunk.h"
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/thread/region.h"
#include "tracer/host/thread/nesting.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/shadow_stack.h"
#include "tracer/host/thread/thread_birth.h"

#include <errno.h>

struct pool *process_pool, *thread_native_pool;

/* Not its own address as long as the loader has not relocated this library: it
 * calls resolvers of IFUNC symbols of others, and these may call us. */
static void *volatile self = (void *)&self;
THREAD_LOCAL struct thread_state *thread_self;

/* Set when the thread's state was given back: what its last destructors call is
 * counted, not recorded. */
static THREAD_LOCAL int ended;

THREAD_LOCAL uint32_t thread_refused;

/* ----------------------------------------------------------- generations */

/* The pool says that something changed: find out what concerns this state. */
static int catch_up(struct thread_state *s, uint32_t generation)
{
	struct pool *const p = process_pool;
	const uint32_t window = atomic_load(&p->window);
	const int forked = s->generation == 0;

	thread_check_table(s);
	if (forked) {
		chunk_disown(s);
		if (!thread_identify(s)) {
			thread_count_unslotted();
			return 0;
		}
		s->last = clock_now();
	}
	if (s->window != window) {
		chunk_close(s, CHUNK_LAST);
		shadow_forget(s);
		s->last = clock_now();
		s->window = window;
		chunk_switch(s, 0);
	} else if (forked || chunk_is_scrap(s) ||
		   s->opened < atomic_load(&p->cut_before)) {
		chunk_switch(s, 0);
	}
	s->generation = generation;
	return 1;
}

/* Recording that begins in the middle of a thread's life (--paused, or a state
 * made after the window opened) cannot know what is open; a thread that the
 * recording saw from its first instruction on has nothing open. */
static int began_late(void)
{
	return atomic_load(&process_pool->window) > 0;
}

static struct thread_state *begin(uint32_t generation, int late)
{
	struct thread_state *const s = thread_birth(NULL);

	if (!s)
		return NULL;
	s->base_unknown = (uint32_t)late;
	s->generation = generation;
	chunk_switch(s, 0);
	thread_self = s;
	process_watch_thread();
	return s;
}

/* A handler that interrupted a hook forked: that hook will go on here, too, and
 * must find a state to finish with, which nobody sees. */
static struct thread_state *begin_beside(struct thread_state *old,
					 uint32_t generation)
{
	struct thread_state *const s = begin(generation, 1);

	if (!s)
		return NULL;
	old->slot = s->slot;
	chunk_disown(old);
	old->published = (_Atomic uint32_t *)&old->scrap_head.records;
	return s;
}

static void settle_fiber(struct thread_state *s)
{
	s->busy = (uint64_t)__builtin_frame_address(0);
	barrier();
	fiber_catch_up(s);
	thread_release(s);
}

SLOW struct thread_state *thread_sync(struct thread_state *s)
{
	const int saved = errno;
	uint32_t generation;

	if (!process_ready() || ended || region_shut())
		return NULL;
	generation = atomic_load(&process_pool->generation);
	if (!(generation & POOL_ON) ||
	    (thread_refused == generation && (!s || s->generation == 0)))
		return NULL;
	if (!s)
		s = begin(generation, began_late() || thread_refused != 0);
	else if (s->busy == 0)
		s = catch_up(s, generation) ? s : NULL;
	else if (s->generation == 0)
		s = begin_beside(s, generation);
	/* else a hook at work here was interrupted: that comes first */
	if (!s)
		thread_refused = generation;
	else if (s->busy == 0 && s->level == 0 && fiber_is_missed(s))
		settle_fiber(s);
	errno = saved;
	return s;
}

SLOW struct pool *thread_find_native_pool(void)
{
	int saved;

	if (self != (void *)&self)
		return NULL;
	saved = errno;
	if (process_ready() && !atomic_load(&process_no_native)) {
		__atomic_store_n(&thread_native_pool, process_pool,
				 __ATOMIC_SEQ_CST);
		/* weft_native may have said no meanwhile. */
		if (atomic_load(&process_no_native))
			__atomic_store_n(&thread_native_pool, NULL,
					 __ATOMIC_SEQ_CST);
	}
	errno = saved;
	return thread_native_pool;
}

SLOW void thread_count_missed(void)
{
	if (ended && process_pool && !region_shut() &&
	    atomic_load_explicit(&process_pool->generation,
				 memory_order_relaxed) &
		    POOL_ON)
		atomic_fetch_add_explicit(&process_pool->after_destructors, 1,
					  memory_order_relaxed);
}

/* ------------------------------------------------------------- levels */

/* Left by a handler that jumped out over the hook it had interrupted: our frame
 * is not below that hook's, on the same stack. */
static int stale(const struct thread_state *s, uint64_t sp)
{
	return s->busy <= sp &&
	       shadow_in_alt(s, sp) == shadow_in_alt(s, s->busy);
}

/* The hook that was at work here will not come back. What it did is half done by
 * one record at most: a new chunk, which carries the stack as it is, begins. */
static void abandon(struct thread_state *s, uint64_t sp)
{
	if (s->moving) {
		/* Its stack may lie anywhere: this thread is not recorded
		 * any more. */
		thread_self = NULL;
		ended = 1;
		return;
	}
	s->busy = sp;
	barrier();
	s->resync = 1;
	chunk_switch(s, 0);
	barrier();
	s->busy = 0;
}

static void count_nested(struct thread_state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_NESTED], 1,
				  memory_order_relaxed);
}

static struct thread_state *level_above(struct thread_state *s)
{
	struct thread_state *const n = s->next;
	const uint32_t generation = atomic_load(&process_pool->generation);

	if (!n) {
		struct thread_state *const made =
			thread_refused == generation ? NULL : thread_birth(s);

		if (!made) {
			thread_refused = generation;
			count_nested(s);
		} else {
			made->generation = generation;
			made->alt_low = s->alt_low;
			made->alt_high = s->alt_high;
			made->stack_high = s->stack_high;
			chunk_switch(made, 0);
			barrier();
			s->next = made;
		}
		return made;
	}
	if (n->busy == 0 && n->generation != generation &&
	    !catch_up(n, generation))
		return NULL;
	return n;
}

SLOW struct thread_state *thread_nested(struct thread_state *s, uint64_t sp)
{
	const int saved = errno;

	if (BROKEN(busy))
		return s;
	while (s && s->busy != 0) {
		if (stale(s, sp)) {
			abandon(s, sp);
			s = !thread_self ? NULL : s;
			break;
		}
		if (s->level + 1 >= LEVELS) {
			count_nested(s);
			s = NULL;
			break;
		}
		s = level_above(s);
	}
	if (s && s->level > 0) {
		s->busy = sp;
		barrier();
		nesting_begin(s);
	}
	errno = saved;
	return s;
}

SLOW uint64_t thread_clock_stepped(struct thread_state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_CLOCK], 1,
				  memory_order_relaxed);
	return s->last;
}

/* ------------------------------------------------------------------ end */

void thread_jumped(uint64_t target)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);

	for (struct thread_state *s = thread_self; s && thread_self != NULL;
	     s = s->next) {
		if (s->busy != 0 && s->busy < target && s->generation != 0 &&
		    shadow_in_alt(s, target) == shadow_in_alt(s, s->busy))
			abandon(s, here);
	}
}

void thread_set_alt_stack(uint64_t low, uint64_t high)
{
	for (struct thread_state *s = thread_self; s != NULL; s = s->next) {
		s->alt_low = low;
		s->alt_high = high;
	}
}

void thread_end(void)
{
	struct thread_state *s = thread_self;

	if (!s || s->busy != 0)
		return;
	ended = 1;
	barrier();
	thread_self = NULL;
	barrier();
	while (s) {
		struct thread_state *const next = s->next;

		if (s->generation != 0) {
			const uint64_t now = clock_now();

			if (s->level == 0 && (int64_t)(now - s->last) > 0) {
				chunk_put(s, rec_put_value(REC_TIME,
							   now - s->last));
				s->last = now;
			}
			chunk_close(s, CHUNK_LAST);
		}
		thread_give_back(s);
		s = next;
	}
}
