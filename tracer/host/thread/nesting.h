/* nesting.h - where signal handlers that interrupted a hook stand: which chunk
 * and record of the level below each run of one interrupted. Hook-safe.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_NESTING_H
#define WEFT_TRACER_HOST_THREAD_NESTING_H

#include "tracer/host/thread/thread_state.h"

/* In busy: the level is having its chunk closed by the one below. The stack
 * pointers that stand there otherwise are even. */
#define NESTING_CLOSING UINT64_C(1)

/* The chunk that a handler interrupts when it interrupts this level now. Where
 * the last one has been closed from below, and the level has been idle since,
 * it is still that one: nobody knows where the next will stand. */
INLINE uint64_t nesting_chunk(const struct thread_state *s)
{
	return (s->busy & NESTING_CLOSING) != 0 && s->buffer == NO_BUFFER
		       ? s->scrap_head.number
		       : s->number;
}

/* A hook of a level above 0 is about to record; needs busy set. Says what it
 * interrupts if that was not said for this run of a handler. */
void nesting_begin(struct thread_state *s);

/* The level's chunk is about to be handed over: those above, which name it, go
 * first, so that readers have them in time. flags: CHUNK_LAST. */
void nesting_close(struct thread_state *s, uint32_t flags);

#endif
