/* shadow_stack_segment.c - coroutines' stacks, put onto the thread's and taken off.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/shadow_stack.h"

#include <string.h>

/* RESUME with the stack behind it: count frames that already lie on top. */
static void put_resume(struct state *s, const struct segment *g, uint32_t count,
		       uint64_t slept, uint32_t flags, uint64_t gap)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;
	const uint32_t first = total - count;
	uint64_t *const at = s->records + s->n, *end = at + 4;

	at[0] = rec_put(REC_RESUME, flags, gap);
	at[1] = rec_put_value(REC_OPERAND, g->serial & REC_VALUE_MAX);
	at[2] = rec_put_value(REC_OPERAND, slept & REC_VALUE_MAX);
	if ((flags & RESUME_STACK) && !buffer_is_scrap(s))
		end = buffer_put_frames(s, s->frames + 1 + first, count, 0,
					count, end);
	at[3] = rec_put_value(REC_OPERAND, (uint64_t)(end - at - 4));
	barrier();
	s->n += (uint32_t)(end - at);
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

/* The whole stack of a record must fit its chunk. */
static void need_resume(struct state *s, uint32_t count)
{
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER + 1;
	const uint32_t words = 6 + (count < most ? count : most);

	if (s->n + words <= s->limit + RECORD_SLACK)
		return;
	s->want_big = words > 200;
	buffer_switch(s, 0);
	if (s->n + words > s->limit + RECORD_SLACK && !buffer_is_scrap(s)) {
		/* Only a small buffer was free. */
		buffer_close(s, 0);
		s->resync = 1;
	}
}

int stack_resume(struct state *s, uint64_t serial, void *owner,
		 const struct frame *kept, uint32_t count, uint64_t slept,
		 int given, uint64_t sp, uint32_t flags, uint64_t now)
{
	struct segment *const g = &s->segment[s->segments];

	if (s->segments >= MAX_SEGMENTS)
		return stack_too_deep(s);
	while ((size_t)(s->frame_limit - s->top) <= count) {
		if (!stack_grow(s))
			return stack_too_deep(s);
	}
	need_resume(s, given ? count : 0);
	*g = (struct segment){ .serial = serial, .owner = owner, .sp = sp,
			       .inferred = (flags & RESUME_INFERRED) != 0,
			       .base = (uint32_t)(s->top - s->frames) };
	for (uint32_t i = 0; i < count; i++) {
		*s->top = kept[i];
		s->top->tick += slept;
		s->top++;
	}
	s->segments++;
	put_resume(s, g, count, slept, given ? flags | RESUME_STACK : flags,
		   buffer_gap(s, now));
	return 1;
}

/* In the site of the frame under a fiber's: no exit matches it. */
#define COVERED (UINT64_C(1) << 63)

void stack_cover(struct state *s, uint32_t index, void *fiber)
{
	s->fiber = index;
	s->fiber_on = fiber;
	s->frames[s->segment[index].base - 1].site ^= COVERED;
}

/* The topmost segment has come off. */
static void pop_segment(struct state *s)
{
	const uint32_t base = stack_segment(s)->base;

	s->top = s->frames + base;
	s->segments--;
	if (unlikely(s->segments == s->fiber)) {
		s->frames[base - 1].site ^= COVERED;
		s->fiber = 0;
		s->fiber_on = NULL;
	}
}

void stack_set_aside(struct state *s, uint32_t flags, uint64_t now)
{
	const uint64_t serial = stack_segment(s)->serial;

	buffer_need(s, 3);
	stack_put_with(s, rec_put(REC_SUSPEND, flags, buffer_gap(s, now)), &serial,
		 1);
	pop_segment(s);
}

const struct frame *stack_suspend(struct state *s, uint32_t flags,
				  uint32_t *count, uint64_t now)
{
	const struct segment *const g = stack_segment(s);
	struct frame *f = s->top;
	const int kept = (flags & SUSPEND_REASON) == SUSPEND_YIELD;
	const uint64_t serial = g->serial;

	while (f > s->frames + g->base && (!kept || !frame_is_lua(f - 1)))
		f--;
	stack_unwind(s, f, kept ? UNWIND_YIELD : UNWIND_ERROR, now);
	buffer_need(s, 3);
	stack_put_with(s, rec_put(REC_SUSPEND, flags, buffer_gap(s, now)), &serial,
		 1);
	*count = stack_depth(s);
	pop_segment(s);
	return s->top;
}

void stack_take_off(struct state *s, stack_off_fn off, uint64_t now)
{
	const uint32_t before = s->segments;
	uint32_t count;

	if (off)
		off(s, now);
	if (s->segments >= before)
		stack_suspend(s, SUSPEND_ERROR | SUSPEND_INFERRED, &count,
			      now);
}

void stack_cut(struct state *s, struct stack_mark m, enum unwind why,
	       stack_off_fn off, uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;

	if (m.window != s->window || segments > s->segments)
		return;
	while (s->segments > segments)
		stack_take_off(s, off, now);
	if (stack_depth(s) > m.depth)
		stack_unwind(s, s->frames + stack_segment(s)->base + m.depth,
			     why, now);
}

void stack_forget(struct state *s)
{
	s->segments = 1;
	s->fiber = 0;
	s->fiber_on = NULL;
	s->fiber_left = 0;
	s->segment[0] = (struct segment){ .base = 1 };
	s->top = s->frames + 1;
	s->too_deep = 0;
	s->base_unknown = 1;
}
