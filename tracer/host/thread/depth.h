/* depth.h - how deep in the stack of a thread or a coroutine the calls lie that
 * have records (--max-depth). All have frames: these tell which calls have
 * ended. A frame's place in its segment says whether it has records; who moves
 * frames to another place tells readers the stack anew. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/break.h"
#include "tracer/host/thread/thread_state.h"

enum { DEPTH_ANY = 1 << 30 }; /* more than there can be frames */

/* How many frames of that segment may have records. */
INLINE uint32_t depth_limit(const struct thread_state *s, uint32_t segment)
{
	return segment == 0 ? s->lowest_depth : s->max_depth;
}

/* Of the topmost one: frames from there on have none. */
INLINE struct frame *depth_end(const struct thread_state *s)
{
	const uint32_t i = s->segments - 1;

	return s->frames + s->segment[i].base + depth_limit(s, i);
}

/* How many of the topmost segment's frames from there on have records. */
INLINE uint64_t depth_recorded(const struct thread_state *s,
			       const struct frame *from)
{
	const struct frame *const deep = likely(!s->chooses) || BROKEN(depth) ?
					 s->top : depth_end(s);
	const struct frame *const end = s->top < deep ? s->top : deep;

	return from < end ? (uint64_t)(end - from) : 0;
}

/* One past the last frame of that segment that has. */
INLINE struct frame *depth_recorded_end(const struct thread_state *s,
					uint32_t segment)
{
	const uint32_t from = s->segment[segment].base;
	const uint32_t end = segment + 1 == s->segments ?
			     (uint32_t)(s->top - s->frames) :
			     s->segment[segment + 1].base;
	const uint32_t limit = depth_limit(s, segment);

	return s->frames + (end - from < limit ? end : from + limit);
}

/* Says where the common case pushes and pops frames without records. */
INLINE void depth_set_quick(struct thread_state *s)
{
	s->deep = depth_end(s);
	s->deep_limit = s->too_deep != 0 ? NULL : s->frame_limit;
}

/* How many frames a handler's stack may have records of that has interrupted
 * this level's hook: it stands on what is open there. */
INLINE uint32_t depth_left(const struct thread_state *s)
{
	const uint32_t i = s->segments - 1;
	const uint32_t all = s->moving != 0 ? s->moving :
			     (uint32_t)(s->top - s->frames);
	const uint32_t limit = depth_limit(s, i);
	const uint32_t depth = all - s->segment[i].base;

	return limit == DEPTH_ANY ? DEPTH_ANY : depth < limit ? limit - depth :
	       0;
}
