/* shadow_stack.h - the stitched shadow stack: native and Lua frames of one
 * thread, in segments. Writes the records that go with each change, so that
 * the trace is always well nested. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/counted.h"

INLINE struct segment *shadow_segment(struct thread_state *s)
{
	return &s->segment[s->segments - 1];
}

/* How many frames the topmost segment has. */
INLINE uint32_t shadow_depth(const struct thread_state *s)
{
	return (uint32_t)(s->top - s->frames) -
	       s->segment[s->segments - 1].base;
}

/* What runs now sees no frames below these. */
INLINE struct frame *shadow_ground(const struct thread_state *s)
{
	return s->frames + s->segment[s->fiber].base;
}

/* On the thread's alternate signal stack? */
INLINE bool shadow_in_alt(const struct thread_state *s, uint64_t sp)
{
	return sp >= s->alt_low && sp < s->alt_high;
}

/* ----------------------------------------------------------------- frames */

/* Grows the stack; false: it may not, or cannot. */
bool shadow_grow(struct thread_state *s);

/* The growing was left by a jump: finishes or undoes it. */
void shadow_end_move(struct thread_state *s);

/* Is there room for one more frame? */
INLINE bool shadow_room(struct thread_state *s)
{
	return likely(s->top < s->frame_limit) || shadow_grow(s);
}

/* How many calls the common case may make before it looks again. */
enum { QUICK_CALLS = 500 };

/* In place of quick where brief or deep calls have no records. */
INLINE void shadow_set_chosen_quick(struct thread_state *s)
{
	s->chosen_quick = s->quick;
	s->quick = NULL;
	depth_set_quick(s);
}

/* Says how far the common case may go: while there is room for records and for
 * frames; nowhere with another clock than its own, or while calls are open that
 * have no frame. */
INLINE void shadow_set_quick(struct thread_state *s)
{
	uint64_t *quick = s->at + QUICK_CALLS;

	if (unlikely(s->counts)) {
		counted_set_limit(s);
		return;
	}
	if (unlikely((s->top + QUICK_CALLS > s->frame_limit &&
		      !shadow_grow(s)) || s->too_deep != 0 || !clock_is_tsc))
		quick = NULL;
	else if (quick > s->limit)
		quick = s->limit;
	s->quick = quick;
	if (unlikely(s->chooses))
		shadow_set_chosen_quick(s);
}

/* The same for count more frames. */
bool shadow_reserve(struct thread_state *s, uint32_t count);

/* Pushes a frame and writes ENTER; or counts the call as too deep; or does
 * nothing: its function's calls are left out. */
void shadow_enter(struct thread_state *s, const struct frame *f, uint64_t now);

/* Pops the innermost frame and writes LEAVE or makes a LEAF. Needs a frame
 * in the topmost segment. */
void shadow_leave(struct thread_state *s, uint64_t now);

/* The frames of the topmost segment from to on have ended: writes UNWIND and
 * drops them. Nothing if to == s->top. */
void shadow_unwind(struct thread_state *s, struct frame *to, enum unwind why,
		   uint64_t now);

/* Replaces the innermost frame (a tail call): UNWIND_TAIL of one, then
 * ENTER. */
void shadow_tail(struct thread_state *s, const struct frame *f, uint64_t now);

/* ------------------------------------------------- attaching and detaching */

/* Writes CREATE for a coroutine of that serial, 0: of a new one; returns it.
 * vm: the serial of its VM, 0: it is a fiber. */
uint64_t shadow_create(struct thread_state *s, uint64_t serial, uint32_t vm,
		       uint64_t now);

/* Puts a coroutine's stack onto the thread. as: the segment that it becomes,
 * all but its base; kept: its frames, outermost first, whose ticks, like its
 * body's, are moved on by slept; given: write the stack into the record even
 * if this chunk has seen it. Returns false, and counts, when segments are
 * nested too deep. */
bool shadow_attach(struct thread_state *s, const struct segment *as,
		   const struct frame *kept, uint32_t count, uint64_t slept,
		   bool given, uint32_t flags, uint64_t now);

/* Takes the topmost segment (not the first) off the thread: SUSPEND with these
 * flags. Native frames on top end first (UNWIND_YIELD); with SUSPEND_YIELD the
 * frames are the caller's to keep: they lie at the returned address, *count of
 * them, until the next change of this stack. For other reasons frames left end
 * first (UNWIND_ERROR) and *count is 0. */
const struct frame *shadow_detach(struct thread_state *s, uint32_t flags,
				  uint32_t *count, uint64_t now);

/* The same for a segment that goes with its fiber: nothing ends. Its frames lie
 * above s->top until the next change. */
void shadow_detach_whole(struct thread_state *s, uint32_t flags, uint64_t now);

/* The same for a segment that was found to be off the thread: Lua, if it is
 * there, decides what becomes of it. */
void shadow_detach_lost(struct thread_state *s, uint64_t now);

/* The segment index, which has just been put on, is a stack of its own: what
 * lies under it is not compared with what runs on it. It ends with the
 * segment. */
void shadow_cover(struct thread_state *s, uint32_t index, void *fiber);

/* The common case of a return: f, the innermost frame, which is key's, ends. If
 * the last record is its ENTER, both become one LEAF; otherwise a LEAVE is
 * written. false: nothing was changed. chosen: where brief calls have no
 * records. */
INLINE bool shadow_quick_leave(struct thread_state *s, struct frame *f,
			       uint64_t key, bool chosen)
{
	uint64_t *const last = s->at - 1;
	const uint64_t word = *last;

	if (likely(chosen ? rec_kind(word) == REC_ENTER :
			    rec_may_be_leaf(word))) {
		const uint64_t now = clock_ticks(), duration = now - s->last;

		if (chosen && duration < s->brief)
			return counted_brief(s, duration);
		/* Too long is negative, too. */
		if (unlikely(ARCH_IS_LONGER(duration, REC_LEAF_BITS)) ||
		    (chosen && !rec_may_be_leaf(word)))
			return false;
		s->last = now; /* first: a handler may jump away from here */
		chunk_make_leaf(last, word, duration);
	} else {
		const struct table_entry *const e = chunk_named(s, key);
		uint64_t gap;

		if (unlikely(!e) || !chunk_quick_gap(s, &gap))
			return false;
		last[1] = gap + e->enter + (REC_LEAVE - REC_ENTER);
		chunk_publish_one(s, last + 1);
	}
	barrier();
	ARCH_RENEW(s->top, f, -1);
	return true;
}

/* Puts borrowed calls (borrowed.h) on top. sp: the stack pointer from which
 * what they lead to is called. false: there is no room for them, and nothing
 * was changed. */
bool shadow_borrow(struct thread_state *s, const uint64_t *key,
		   uint32_t count, uint64_t sp, uint64_t now);

/* Where the stack stands, to come back to; its segments counted from the
 * running fiber's on, which may come back on another thread. */
struct shadow_mark { uint32_t window, segments, depth, found; };

INLINE struct shadow_mark shadow_mark(const struct thread_state *s)
{
	return (struct shadow_mark){ s->window, s->segments - s->fiber,
				     shadow_depth(s), s->found };
}

/* The depth of the mark's segment when it was taken, with the calls that were
 * found under it since. */
INLINE uint32_t shadow_mark_depth(const struct thread_state *s,
				  struct shadow_mark m)
{
	return m.segments + s->fiber == 1 ? m.depth + s->found - m.found :
	       m.depth;
}

/* These calls, outermost first, were open under all that the thread's own
 * segment, the only one, has. The next chunk must say so. false: no memory. */
bool shadow_put_under(struct thread_state *s, const struct frame *f,
		      uint32_t count);

/* Everything above the mark has ended: coroutines above are detached, then
 * frames above end with why. A mark of another window is left alone. */
void shadow_cut(struct thread_state *s, struct shadow_mark m, enum unwind why,
		uint64_t now);

/* Takes all native frames off, without a record: a chunk must follow that says
 * what is left. Returns whether any is. */
bool shadow_drop_native(struct thread_state *s);

/* Forgets the stack: recording was just turned on, or sight of it was lost. */
void shadow_forget(struct thread_state *s);

/* The stack's invariants (thread_state.h). */
bool shadow_valid(const struct thread_state *s);
