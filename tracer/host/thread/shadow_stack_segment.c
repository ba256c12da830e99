/* shadow_stack_segment.c - coroutines' stacks, put onto the thread's and taken off.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/shadow_stack.h"

#include <string.h>

/* RESUME with the stack behind it: count frames that already lie on top. */
static void put_resume(struct thread_state *s, const struct segment *g,
		       uint32_t count, uint64_t slept, uint32_t flags,
		       uint64_t gap)
{
	const uint32_t total = (uint32_t)(s->top - s->frames) - 1;
	const uint32_t first = total - count;
	uint64_t *const at = s->records + s->n, *end = at + 4;

	at[0] = rec_put(REC_RESUME, flags, gap);
	at[1] = rec_put_value(REC_OPERAND, g->serial & REC_VALUE_MAX);
	at[2] = rec_put_value(REC_OPERAND, slept & REC_VALUE_MAX);
	if ((flags & RESUME_STACK) && !chunk_is_scrap(s))
		end = chunk_put_frames(s, s->frames + 1 + first, count, 0,
				       count, end);
	at[3] = rec_put_value(REC_OPERAND, (uint64_t)(end - at - 4));
	barrier();
	s->n += (uint32_t)(end - at);
	atomic_store_explicit(s->published, s->n, memory_order_release);
}

/* The whole stack of a record must fit its chunk. */
static void need_resume(struct thread_state *s, uint32_t count)
{
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER + 1;
	const uint32_t words = 6 + (count < most ? count : most);

	if (s->n + words <= s->limit + RECORD_SLACK)
		return;
	s->want_big = words > 200;
	chunk_switch(s, 0);
	if (s->n + words > s->limit + RECORD_SLACK && !chunk_is_scrap(s)) {
		/* Only a small buffer was free. */
		chunk_close(s, 0);
		s->resync = 1;
	}
}

int shadow_attach(struct thread_state *s, uint64_t serial, void *owner,
		  const struct frame *kept, uint32_t count, uint64_t slept,
		  int given, uint64_t sp, uint32_t flags, uint64_t now)
{
	struct segment *const g = &s->segment[s->segments];

	if (s->segments >= MAX_SEGMENTS)
		return shadow_too_deep(s);
	while ((size_t)(s->frame_limit - s->top) <= count) {
		if (!shadow_grow(s))
			return shadow_too_deep(s);
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
		   chunk_gap(s, now));
	return 1;
}

/* In the site of the frame under a fiber's: no exit matches it. */
#define COVERED (UINT64_C(1) << 63)

void shadow_cover(struct thread_state *s, uint32_t index, void *fiber)
{
	s->fiber = index;
	s->fiber_on = fiber;
	s->frames[s->segment[index].base - 1].site ^= COVERED;
}

/* The topmost segment has come off. */
static void pop_segment(struct thread_state *s)
{
	const uint32_t base = shadow_segment(s)->base;

	s->top = s->frames + base;
	s->segments--;
	if (unlikely(s->segments == s->fiber)) {
		s->frames[base - 1].site ^= COVERED;
		s->fiber = 0;
		s->fiber_on = NULL;
	}
}

void shadow_set_aside(struct thread_state *s, uint32_t flags, uint64_t now)
{
	const uint64_t serial = shadow_segment(s)->serial;

	chunk_need(s, 3);
	chunk_put_with(s, rec_put(REC_SUSPEND, flags, chunk_gap(s, now)),
		       &serial, 1);
	pop_segment(s);
}

const struct frame *shadow_detach(struct thread_state *s, uint32_t flags,
				  uint32_t *count, uint64_t now)
{
	const struct segment *const g = shadow_segment(s);
	struct frame *f = s->top;
	const int kept = (flags & SUSPEND_REASON) == SUSPEND_YIELD;
	const uint64_t serial = g->serial;

	while (f > s->frames + g->base && (!kept || !frame_is_lua(f - 1)))
		f--;
	shadow_unwind(s, f, kept ? UNWIND_YIELD : UNWIND_ERROR, now);
	chunk_need(s, 3);
	chunk_put_with(s, rec_put(REC_SUSPEND, flags, chunk_gap(s, now)),
		       &serial, 1);
	*count = shadow_depth(s);
	pop_segment(s);
	return s->top;
}

void shadow_detach_top(struct thread_state *s, uint64_t now)
{
	const uint32_t before = s->segments;
	uint32_t count;

	if (stack_off)
		stack_off(s, now);
	if (s->segments >= before)
		shadow_detach(s, SUSPEND_ERROR | SUSPEND_INFERRED, &count, now);
}

void shadow_cut(struct thread_state *s, struct shadow_mark m, enum unwind why,
		uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;

	if (m.window != s->window || segments > s->segments)
		return;
	while (s->segments > segments)
		shadow_detach_top(s, now);
	if (shadow_depth(s) > m.depth)
		shadow_unwind(s, s->frames + shadow_segment(s)->base + m.depth,
			      why, now);
}

void shadow_forget(struct thread_state *s)
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
