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

struct pool *state_pool, *state_native;

/* Not its own address as long as the loader has not relocated this library: it
 * calls resolvers of IFUNC symbols of others, and these may call us. */
static void *volatile self = (void *)&self;
__thread struct state *state_mine __attribute__((tls_model("initial-exec")));

/* Set when the thread's state was given back: what its last destructors call is
 * counted, not recorded. */
static __thread int ended __attribute__((tls_model("initial-exec")));

__thread uint32_t state_refused __attribute__((tls_model("initial-exec")));

/* ----------------------------------------------------------- generations */

/* The pool says that something changed: find out what concerns this state. */
static int catch_up(struct state *s, uint32_t generation)
{
	struct pool *const p = state_pool;
	const uint32_t window = atomic_load(&p->window);
	const int forked = s->generation == 0;

	state_check_table(s);
	if (forked) {
		buffer_disown(s);
		if (!state_identify(s)) {
			state_count_unslotted();
			return 0;
		}
		s->last = clock_now();
	}
	if (s->window != window) {
		buffer_close(s, CHUNK_LAST);
		stack_forget(s);
		s->last = clock_now();
		s->window = window;
		buffer_switch(s, 0);
	} else if (forked || buffer_is_scrap(s) ||
		   s->opened < atomic_load(&p->cut_before)) {
		buffer_switch(s, 0);
	}
	s->generation = generation;
	return 1;
}

/* Recording that begins in the middle of a thread's life (--paused, or a state
 * made after the window opened) cannot know what is open; a thread that the
 * recording saw from its first instruction on has nothing open. */
static int began_late(void)
{
	return atomic_load(&state_pool->window) > 0;
}

static struct state *begin(uint32_t generation, int late)
{
	struct state *const s = state_birth(NULL);

	if (!s)
		return NULL;
	s->base_unknown = (uint32_t)late;
	s->generation = generation;
	buffer_switch(s, 0);
	state_mine = s;
	process_watch_thread();
	return s;
}

/* A handler that interrupted a hook forked: that hook will go on here, too, and
 * must find a state to finish with, which nobody sees. */
static struct state *begin_beside(struct state *old, uint32_t generation)
{
	struct state *const s = begin(generation, 1);

	if (!s)
		return NULL;
	old->slot = s->slot;
	buffer_disown(old);
	old->published = (_Atomic uint32_t *)&old->scrap_head.records;
	return s;
}

static void settle_fiber(struct state *s)
{
	s->busy = (uint64_t)__builtin_frame_address(0);
	barrier();
	fiber_catch_up(s);
	state_end(s);
}

SLOW struct state *state_sync(struct state *s)
{
	const int saved = errno;
	uint32_t generation;

	if (!process_ready() || ended || inside_shut())
		return NULL;
	generation = atomic_load(&state_pool->generation);
	if (!(generation & POOL_ON) ||
	    (state_refused == generation && (!s || s->generation == 0)))
		return NULL;
	if (!s)
		s = begin(generation, began_late() || state_refused != 0);
	else if (s->busy == 0)
		s = catch_up(s, generation) ? s : NULL;
	else if (s->generation == 0)
		s = begin_beside(s, generation);
	/* else a hook at work here was interrupted: that comes first */
	if (!s)
		state_refused = generation;
	else if (s->busy == 0 && s->level == 0 && fiber_is_missed(s))
		settle_fiber(s);
	errno = saved;
	return s;
}

SLOW struct pool *state_native_look(void)
{
	int saved;

	if (self != (void *)&self)
		return NULL;
	saved = errno;
	if (process_ready() && !atomic_load(&process_no_native)) {
		__atomic_store_n(&state_native, state_pool, __ATOMIC_SEQ_CST);
		/* weft_native may have said no meanwhile. */
		if (atomic_load(&process_no_native))
			__atomic_store_n(&state_native, NULL,
					 __ATOMIC_SEQ_CST);
	}
	errno = saved;
	return state_native;
}

SLOW void state_missed(void)
{
	if (ended && state_pool && !inside_shut() &&
	    atomic_load_explicit(&state_pool->generation,
				 memory_order_relaxed) & POOL_ON)
		atomic_fetch_add_explicit(&state_pool->late_calls, 1,
					  memory_order_relaxed);
}

/* ------------------------------------------------------------- levels */

/* Left by a handler that jumped out over the hook it had interrupted: our frame
 * is not below that hook's, on the same stack. */
static int stale(const struct state *s, uint64_t sp)
{
	return s->busy <= sp && stack_in_alt(s, sp) == stack_in_alt(s, s->busy);
}

/* The hook that was at work here will not come back. What it did is half done by
 * one record at most: a new chunk, which carries the stack as it is, begins. */
static void abandon(struct state *s, uint64_t sp)
{
	if (s->moving) {
		/* Its stack may lie anywhere: this thread is not recorded
		 * any more. */
		state_mine = NULL;
		ended = 1;
		return;
	}
	s->busy = sp;
	barrier();
	s->resync = 1;
	buffer_switch(s, 0);
	barrier();
	s->busy = 0;
}

static void count_nested(struct state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_NESTED], 1,
				  memory_order_relaxed);
}

static struct state *level_above(struct state *s)
{
	struct state *const n = s->next;
	const uint32_t generation = atomic_load(&state_pool->generation);

	if (!n) {
		struct state *const made = state_refused == generation ? NULL :
					   state_birth(s);

		if (!made) {
			state_refused = generation;
			count_nested(s);
		} else {
			made->generation = generation;
			made->alt_low = s->alt_low;
			made->alt_high = s->alt_high;
			made->stack_high = s->stack_high;
			buffer_switch(made, 0);
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

SLOW struct state *state_nested(struct state *s, uint64_t sp)
{
	const int saved = errno;

	if (BROKEN(busy))
		return s;
	while (s && s->busy != 0) {
		if (stale(s, sp)) {
			abandon(s, sp);
			s = !state_mine ? NULL : s;
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
		interrupt_begin(s);
	}
	errno = saved;
	return s;
}

SLOW uint64_t state_clock_stepped(struct state *s)
{
	atomic_fetch_add_explicit(&s->slot->lost[LOST_CLOCK], 1,
				  memory_order_relaxed);
	return s->last;
}

/* ------------------------------------------------------------------ end */

void state_jumped(uint64_t target)
{
	const uint64_t here = (uint64_t)__builtin_frame_address(0);

	for (struct state *s = state_mine; s && state_mine != NULL;
	     s = s->next) {
		if (s->busy != 0 && s->busy < target && s->generation != 0 &&
		    stack_in_alt(s, target) == stack_in_alt(s, s->busy))
			abandon(s, here);
	}
}

void state_alt_stack(uint64_t low, uint64_t high)
{
	for (struct state *s = state_mine; s != NULL; s = s->next) {
		s->alt_low = low;
		s->alt_high = high;
	}
}

void state_thread_ends(void)
{
	struct state *s = state_mine;

	if (!s || s->busy != 0)
		return;
	ended = 1;
	barrier();
	state_mine = NULL;
	barrier();
	while (s) {
		struct state *const next = s->next;

		if (s->generation != 0) {
			const uint64_t now = clock_now();

			if (s->level == 0 && (int64_t)(now - s->last) > 0) {
				buffer_put(s, rec_put_value(REC_TIME,
							    now - s->last));
				s->last = now;
			}
			buffer_close(s, CHUNK_LAST);
		}
		state_give_back(s);
		s = next;
	}
}
