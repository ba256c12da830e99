/* chunk_switch.c - closing, opening and naming over all levels of a thread.
 * A chunk of a signal handler refers to one chunk of the level below, and
 * goes to the recorder first. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/chunk_switch.h"
#include "tracer/host/base/break.h"

#include <errno.h>

static void put_interrupt(struct thread_state *s, uint64_t chunk, uint32_t n)
{
	const uint64_t where[] = { chunk, n };

	if (BROKEN(interrupt))
		return;
	chunk_put_with(s, rec_put(REC_INTERRUPT, 0,
				  chunk_gap(s, chunk_clock(s))), where, 2);
}

/* Closes the chunks of the levels above, which name this level's, so that
 * readers have them in time. Not in a child of fork, where they are its
 * parent's; nor if the level is busy: then a hook there was left by a jump,
 * or is interrupted. A handler that runs meanwhile goes one level higher and
 * finds nothing on this level's stack but where it stands: that is brought
 * up to date first. The highest level is closed first and alone, so that
 * there is always one to go to. */
static void close_above(struct thread_state *s, uint32_t flags)
{
	struct thread_state *const above = s->next;

	if (!above || above->busy != 0 || above->generation == 0 ||
	    chunk_is_scrap(above))
		return;
	close_above(above, flags);
	above->busy = (uint64_t)__builtin_frame_address(0) |
		      (BROKEN(closed) ? 0 : BUSY_CLOSING);
	barrier();
	if (above->top == above->frames + 1 && above->at <= above->limit)
		put_interrupt(above, above->head->interrupted_chunk, 0);
	if (chunk_retire(above, flags & CHUNK_LAST)) {
		BREAK_PAUSE(closed);
		chunk_hand_over(above);
	}
	barrier();
	above->busy = 0;
}

void chunk_close(struct thread_state *s, uint32_t flags)
{
	if (s->level > 0)
		close_above(s, flags);
	if (!chunk_retire(s, flags))
		return;
	BREAK_PAUSE(closed);
	if (s->level == 0)
		close_above(s, flags);
	chunk_hand_over(s);
}

static void open_next(struct thread_state *s, uint32_t flags)
{
	if (!chunk_open(s, flags))
		return; /* the scrap is in place */
	if (!BROKEN(cut))
		dictionary_put_stack(s);
	chunk_put_process(s);
	barrier();
	s->opening.word = 0;
	if (thread_upcalls.lua_chunk)
		thread_upcalls.lua_chunk(s);
}

void chunk_switch(struct thread_state *s, uint32_t flags)
{
	const int saved = errno;

	chunk_close(s, 0);
	open_next(s, flags);
	errno = saved;
}

SLOW uint32_t chunk_name(struct thread_state *s, uint64_t key)
{
	const int saved = errno;
	uint32_t index = dictionary_try_name(s, key);

	if (index == NO_INDEX) {
		s->want_big = true;
		chunk_switch(s, 0);
		index = dictionary_try_name(s, key);
		if (index == NO_INDEX)
			index = dictionary_name_poorly(s, key);
	}
	errno = saved;
	return index;
}

SLOW void chunk_say_interrupted(struct thread_state *s)
{
	const struct thread_state *const below = s->below;
	const uint64_t chunk = chunk_interrupted(below);

	/* Does a handler begin to run, or go on after a jump out of another
	 * one? */
	if (s->top != s->frames + 1 && s->said_chunk == chunk &&
	    s->said_n == chunk_count(below))
		return;
	/* A chunk speaks of one chunk of the level below. */
	if (chunk_is_scrap(s) || s->at >= s->limit ||
	    s->head->interrupted_chunk != chunk)
		chunk_switch(s, 0);
	put_interrupt(s, chunk, chunk_count(below));
	s->said_chunk = chunk;
	s->said_n = chunk_count(below);
}
