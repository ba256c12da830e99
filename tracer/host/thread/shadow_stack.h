/* shadow_stack.h - the stitched shadow stack: native and Lua frames of one thread, in
 * segments. Writes the records that go with each change, so that the trace is
 * always well nested. All hook-safe; needs a state whose busy is set.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_SHADOW_STACK_H
#define WEFT_TRACER_HOST_THREAD_SHADOW_STACK_H

#include "tracer/host/thread/chunk.h"

INLINE struct segment *shadow_segment(struct thread_state *s)
{
	return &s->segment[s->segments - 1];
}

/* Frames of the topmost segment. */
INLINE uint32_t shadow_depth(const struct thread_state *s)
{
	return (uint32_t)(s->top - s->frames) -
	       s->segment[s->segments - 1].base;
}

/* Is there room for one more frame? Grows the stack; counts and says 0 where
 * it may not grow. */
int shadow_grow(struct thread_state *s);

INLINE int shadow_room(struct thread_state *s)
{
	return likely(s->top < s->frame_limit) || shadow_grow(s);
}

/* Push a frame and write ENTER. Returns 0, and counts, when too deep. */
int shadow_enter(struct thread_state *s, const struct frame *f, uint64_t now);

/* Pop the innermost frame and write LEAVE or make a LEAF. Needs a frame in the
 * topmost segment. */
void shadow_leave(struct thread_state *s, uint64_t now);

/* The frames of the topmost segment from to on, outermost one first, have ended:
 * write UNWIND and drop them. Nothing if to == s->top. */
void shadow_unwind(struct thread_state *s, struct frame *to, enum unwind why,
		   uint64_t now);

/* Replace the innermost frame (a tail call): UNWIND_TAIL of one, then ENTER. */
int shadow_tail(struct thread_state *s, const struct frame *f, uint64_t now);

/* Put a coroutine's stack onto the thread. owner and serial: its identity; kept:
 * its frames, outermost first, whose ticks are moved on by slept; given: write
 * the stack into the record even if this chunk has seen it. Returns 0, and
 * counts, when segments are nested too deep. */
int shadow_attach(struct thread_state *s, uint64_t serial, void *owner,
		  const struct frame *kept, uint32_t count, uint64_t slept,
		  int given, uint64_t sp, uint32_t flags, uint64_t now);

/* Take the topmost segment (not the first) off the thread: SUSPEND with these
 * flags. Native frames on top end first (UNWIND_YIELD); with SUSPEND_YIELD the
 * frames are the caller's to keep: they lie at the returned address, *count of
 * them, until the next change of this stack. For other reasons frames left end
 * first (UNWIND_ERROR) and *count is 0. */
const struct frame *shadow_detach(struct thread_state *s, uint32_t flags,
				  uint32_t *count, uint64_t now);

/* The same for what goes off the thread with its fiber: nothing ends. Its frames
 * lie above s->top until the next change. */
void shadow_set_aside(struct thread_state *s, uint32_t flags, uint64_t now);

/* The segment index, which has just been put on, is a stack of its own: what
 * lies under it is not compared with what runs on it. It ends with the
 * segment. */
void shadow_cover(struct thread_state *s, uint32_t index, void *fiber);

/* Where the stack stands, to come back to; its segments counted from the running
 * fiber's on, which may come back on another thread. */
struct shadow_mark {
	uint32_t window, segments, depth;
};

INLINE struct shadow_mark shadow_mark(const struct thread_state *s)
{
	return (struct shadow_mark){ s->window, s->segments - s->fiber,
				     shadow_depth(s) };
}

typedef void (*stack_off_fn)(struct thread_state *s, uint64_t now);

/* Everything above the mark has ended: coroutines above are detached, then
 * frames above end with why. A mark of
 * another window is left alone. */
void shadow_cut(struct thread_state *s, struct shadow_mark m, enum unwind why,
		uint64_t now);

/* The stack pointer jumps to target (longjmp): native frames below it end, and
 * Lua frames that stand on such a frame in the same segment. Lua's own fate is
 * for the Lua side to decide at its next event. */
void shadow_jump(struct thread_state *s, uint64_t target, uint64_t now);

/* Set by the Lua side: what to do when a native event shows that the topmost
 * segment is off the thread (default: SUSPEND_ERROR | SUSPEND_INFERRED). */
extern stack_off_fn stack_off;

/* Set by the Lua side: is the topmost coroutine about to yield, so that the
 * jump that comes is no error? NULL: there is no Lua. */
extern int (*stack_yielding)(const struct thread_state *s);

/* Set by the Lua side: a native call comes after a jump that left a Lua frame
 * on top: end those that the jump has ended. */
extern stack_off_fn stack_doubt;

/* The rare cases of a native call: rules 1, 5 and 8 of a new frame against the
 * stack. 1: push the frame; 0: it is the C function Lua just called. */
int shadow_native_enter(struct thread_state *s, const struct frame *f,
			uint64_t now);
/* A native return that does not match the innermost frame. */
void shadow_native_exit(struct thread_state *s, uint64_t fn, uint64_t site,
			uint64_t now);

/* Forget the stack: recording was just turned on, or sight of it was lost. */
void shadow_forget(struct thread_state *s);

/* ---------------------------- what stack.c, shadow_segment.c, stack_native.c share */

/* On the thread's alternate signal stack? */
INLINE int shadow_in_alt(const struct thread_state *s, uint64_t sp)
{
	return sp >= s->alt_low && sp < s->alt_high;
}

/* What runs now sees no frames below these. */
INLINE struct frame *shadow_ground(const struct thread_state *s)
{
	return s->frames + s->segment[s->fiber].base;
}

/* Counts a call that has no place; 0. */
int shadow_too_deep(struct thread_state *s);

/* A record and its operands appear at once: the count is raised when all of
 * them are written. */
void chunk_put_with(struct thread_state *s, uint64_t word,
		    const uint64_t *operands, uint32_t count);

/* Detach the topmost segment. */
void shadow_detach_top(struct thread_state *s, uint64_t now);

#endif
