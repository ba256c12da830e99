/* nesting.c - what the records of signal handlers that interrupted a hook say
 * about where they stand. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/nesting.h"
#include "tracer/host/thread/chunk.h"

/* A handler begins to run, or goes on after a jump out of another one. */
static int is_new(const struct thread_state *s)
{
	return s->top == s->frames + 1 ||
	       s->said_chunk != nesting_chunk(s->below) ||
	       s->said_n != s->below->n;
}

static void put(struct thread_state *s, uint64_t chunk, uint32_t n)
{
	const uint64_t gap = chunk_gap(s, thread_clock(s));

	s->records[s->n] = rec_put(REC_INTERRUPT, 0, gap);
	s->records[s->n + 1] = rec_put_value(REC_OPERAND, chunk);
	s->records[s->n + 2] = rec_put_value(REC_OPERAND, n);
	barrier();
	s->n += 3;
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

SLOW void nesting_begin(struct thread_state *s)
{
	const struct thread_state *const below = s->below;
	const uint64_t chunk = nesting_chunk(below);

	if (!is_new(s))
		return;
	/* A chunk speaks of one chunk of the level below. */
	if (chunk_is_scrap(s) || s->n >= s->limit ||
	    s->head->interrupted_chunk != chunk)
		chunk_switch(s, 0);
	if (!BROKEN(interrupt))
		put(s, chunk, below->n);
	s->said_chunk = chunk;
	s->said_n = below->n;
}

/* In a child of fork they are its parent's. Busy: a hook there was left by a
 * jump, or is being interrupted. A handler that runs meanwhile goes one level
 * higher and finds nothing on this level's stack but where it stands: that is
 * brought up to date first. The highest level is closed first and alone, so
 * that there is always one to go to. */
void nesting_close(struct thread_state *s, uint32_t flags)
{
	struct thread_state *const above = s->next;

	if (!above || above->busy != 0 || above->generation == 0 ||
	    chunk_is_scrap(above))
		return;
	nesting_close(above, flags);
	above->busy = (uint64_t)__builtin_frame_address(0) |
		      (BROKEN(closed) ? 0 : NESTING_CLOSING);
	barrier();
	if (above->top == above->frames + 1 && above->n <= above->limit &&
	    !BROKEN(interrupt))
		put(above, above->head->interrupted_chunk, 0);
	chunk_hand_over(above, flags & CHUNK_LAST);
	barrier();
	above->busy = 0;
}
