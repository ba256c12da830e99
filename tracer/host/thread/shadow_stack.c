/* shadow_stack.c - the shadow stack and the records that go with its changes.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/shadow_stack.h"

#include <errno.h>
#include <sys/mman.h>

stack_off_fn stack_off;
int (*stack_yielding)(const struct thread_state *s);
stack_off_fn stack_doubt;

/* ---------------------------------------------------------------- frames */

SLOW int shadow_grow(struct thread_state *s)
{
	const int saved = errno;
	const size_t used = (size_t)(s->top - s->frames);
	const size_t old = (size_t)(s->frame_limit - s->frames) + 1;
	const size_t room = 2 * old < MAX_FRAMES + 2 ? 2 * old : MAX_FRAMES + 2;
	struct frame *to = MAP_FAILED;

	if (s->no_room == s->generation)
		return 0; /* asking at each call would take its time */
	s->moving = 1;
	barrier();
	if (old < room)
		to = mremap(s->frames, old * sizeof(*to), room * sizeof(*to),
			    MREMAP_MAYMOVE);
	if (to != MAP_FAILED) {
		s->frames = to;
		s->top = to + used;
		s->frame_limit = to + room - 1;
	} else {
		s->no_room = s->generation;
	}
	barrier();
	s->moving = 0;
	errno = saved;
	return to != MAP_FAILED;
}

int shadow_too_deep(struct thread_state *s)
{
	s->too_deep++;
	atomic_fetch_add_explicit(&s->slot->lost[LOST_DEPTH], 1,
				  memory_order_relaxed);
	return 0;
}

int shadow_enter(struct thread_state *s, const struct frame *f, uint64_t now)
{
	uint32_t index;

	if (!shadow_room(s))
		return shadow_too_deep(s);
	chunk_need(s, 2);
	index = chunk_index(s, f->key);
	chunk_put(s, rec_put(REC_ENTER, index, chunk_gap(s, now)));
	*s->top++ = *f;
	return 1;
}

void shadow_leave(struct thread_state *s, uint64_t now)
{
	struct frame *const f = s->top - 1;
	const uint64_t before = s->records[(int64_t)s->n - 1];
	uint32_t index;

	if (likely(rec_fits_leaf(before, now - s->last))) {
		const uint64_t duration = now - s->last;

		s->last = now;
		s->records[s->n - 1] = rec_enter_to_leaf(before, duration);
		s->top = f;
		return;
	}
	chunk_need(s, 2);
	index = chunk_index(s, f->key);
	chunk_put(s, rec_put(REC_LEAVE, index, chunk_gap(s, now)));
	s->top = s->frames + (f - s->frames);
}

void chunk_put_with(struct thread_state *s, uint64_t word,
		    const uint64_t *operands, uint32_t count)
{
	const uint32_t n = s->n;

	s->records[n] = word;
	for (uint32_t i = 0; i < count; i++)
		s->records[n + 1 + i] = rec_put_value(REC_OPERAND, operands[i] &
						      REC_VALUE_MAX);
	barrier();
	s->n = n + 1 + count;
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

void shadow_unwind(struct thread_state *s, struct frame *to, enum unwind why,
		   uint64_t now)
{
	const uint64_t count = (uint64_t)(s->top - to);

	if (count == 0)
		return;
	chunk_need(s, 3);
	s->too_deep = 0; /* they stood on what ends here */
	chunk_put_with(s, rec_put(REC_UNWIND, why, chunk_gap(s, now)), &count,
		       1);
	s->top -= count;
}

int shadow_tail(struct thread_state *s, const struct frame *f, uint64_t now)
{
	if (!BROKEN(tail))
		shadow_unwind(s, s->top - 1, UNWIND_TAIL, now);
	return shadow_enter(s, f, now);
}

/* ------------------------------------------------------------------ jumps */

/* The frame address of a hook lies two words below its caller's stack pointer
 * at the call. */
static int below(const struct thread_state *s, const struct frame *f,
		 uint64_t target)
{
	const int alt = shadow_in_alt(s, target);

	if (shadow_in_alt(s, f->sp) != alt)
		return !alt;
	return f->sp + 16 < target;
}

/* The outermost of the dead native frames, or s->top if none is dead. */
static struct frame *first_dead(struct thread_state *s, uint64_t target)
{
	struct frame *dead = s->top;

	for (struct frame *f = s->top; f > shadow_ground(s); f--) {
		if (frame_is_lua(f - 1))
			continue;
		if (!below(s, f - 1, target))
			break;
		dead = f - 1;
	}
	return dead;
}

/* A Lua error is such a jump; how many calls it ended Lua can say once it has
 * landed. */
static void doubt(struct thread_state *s)
{
	if (stack_doubt && s->top > shadow_ground(s) &&
	    frame_is_lua(s->top - 1) && !frame_is_untold(s->top - 1) &&
	    !stack_yielding(s))
		s->top[-1].flags = FRAME_LUA | FRAME_DOUBTED;
}

void shadow_jump(struct thread_state *s, uint64_t target, uint64_t now)
{
	struct frame *dead = first_dead(s, target);

	if (BROKEN(longjmp))
		return;
	while (s->segments > 1 && dead < s->top &&
	       dead < s->frames + shadow_segment(s)->base) {
		const size_t at = (size_t)(dead - s->frames);

		shadow_detach_top(s, now);
		dead = s->frames + at;
	}
	/* A coroutine that yields keeps its Lua frames; what is native among
	 * them is dropped when they are put away. */
	if (dead < s->top && (!stack_yielding || !stack_yielding(s)))
		shadow_unwind(s, dead, UNWIND_JUMP, now);
	doubt(s);
}
