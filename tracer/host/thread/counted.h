/* counted.h - calls that are counted where they are made, and have no records:
 * a tree in the open chunk, with a node for each stack on which calls were
 * made. A frame knows its node; one that was pushed before the chunk was opened
 * gets one when it calls. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_COUNTED_H
#define WEFT_TRACER_HOST_THREAD_COUNTED_H

#include "tracer/host/thread/chunk_switch.h"

/* Counts a call and pushes its frame, for which there is room. If there is no
 * chunk to count it in, it is lost, which is counted. */
void counted_enter(struct thread_state *s, const struct frame *f);

/* Says how far the common case may go, as shadow_set_quick does. A coroutine's
 * outermost call is none of it: that is not one by the frame below. */
INLINE void counted_set_limit(struct thread_state *s)
{
	s->count_limit = s->too_deep != 0 ? NULL : s->frame_limit;
	s->count_base = s->segments == 1 ? NULL :
			s->frames + s->segment[s->segments - 1].base;
}

/* Where a call is looked for first: a caller's calls lie together, those of the
 * next caller beside them. */
INLINE uint32_t counted_place(uint64_t key, uint64_t under)
{
	return hash_low(key + (under << 19), COUNTED_BITS);
}

/* The entry of calls of this function by that node, if it lies at one of the
 * first two places; or NULL. Frames and entries may both be of an old chunk. */
INLINE const struct counted_entry *
counted_find(const struct thread_state *s, uint64_t key, uint64_t under)
{
	const uint32_t at = counted_place(key, under);
	const struct counted_entry *e = &s->counted[at];

	if (unlikely((uint32_t)(under >> 32) != s->epoch))
		return NULL;
	if (likely(e->under == under && e->key == key))
		return e;
	e = &s->counted[at ^ 1];
	return likely(e->under == under && e->key == key) ? e : NULL;
}

/* The common case: the innermost frame calls this function. Counts the call;
 * the caller fills its frame, s->top, and pushes it. false: nothing was
 * changed. */
INLINE bool counted_call(struct thread_state *s, uint64_t key)
{
	struct frame *const f = s->top;
	const struct counted_entry *e;

	if (unlikely(f >= s->count_limit || f == s->count_base))
		return false;
	e = counted_find(s, key, f[-1].node);
	if (unlikely(!e))
		return false;
	++*e->calls;
	f->node = e->word;
	return true;
}

#endif
