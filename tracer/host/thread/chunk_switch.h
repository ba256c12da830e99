/* chunk_switch.h - from one chunk to the next: when the open one is full,
 * and what the levels of signal handlers say to each other then. Hook-safe;
 * busy. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/chunk_dictionary.h"

/* Closes the open chunk, if any, and opens the next one, which begins with the
 * open stacks. Where the pool has no free buffer the scrap is filled, which is
 * counted. flags: CHUNK_GAP, CHUNK_BASE_UNKNOWN for the new chunk. */
void chunk_switch(struct thread_state *s, uint32_t flags);

/* Hands the open chunk over, after those of the levels above, which refer to
 * it; what follows goes to the scrap. flags: CHUNK_LAST or 0. */
void chunk_close(struct thread_state *s, uint32_t flags);

/* Switches chunks unless there is room for that many record words and the stack
 * that comes with them. To be called before frames are pushed or popped: a new
 * chunk begins with the stack as it is at that moment. */
INLINE void chunk_need(struct thread_state *s, uint32_t words)
{
	if (unlikely(s->at + words > s->limit + RECORD_SLACK))
		chunk_switch(s, 0);
}

/* The same for an ENTER or LEAVE, which come without a check where the chunk is
 * below its limit. */
INLINE void chunk_need_call(struct thread_state *s)
{
	if (unlikely(s->at >= s->limit))
		chunk_switch(s, 0);
}

/* The index of a function in the open chunk; a mark's may be NO_INDEX. May
 * switch chunks, so ask before writing and before changing the stack. */
uint32_t chunk_name(struct thread_state *s, uint64_t key);

INLINE uint32_t chunk_index(struct thread_state *s, uint64_t key)
{
	const struct table_entry *const e = chunk_named(s, key);

	return likely(e) ? rec_func(e->enter) : chunk_name(s, key);
}

/* A hook of a level above 0 is about to record: says which chunk and record of
 * the level below it interrupts, if that was not said for this run of a
 * handler. */
void chunk_say_interrupted(struct thread_state *s);
