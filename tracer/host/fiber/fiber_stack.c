/* fiber_stack.c - segments of a fiber, onto a thread's stack and off it.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/fiber/fiber_stack.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/pool/process.h"

#include <string.h>

/* Of no window: its frames are not known. */
#define NEVER UINT32_MAX

void fiber_stack_create(struct thread_state *s, struct fiber *f, uint64_t now)
{
	uint64_t gap;
	uint32_t n;

	f->serial = atomic_fetch_add_explicit(&process_pool->next_coroutine, 1,
					      memory_order_relaxed);
	atomic_fetch_add_explicit(&process_slot->coroutines, 1,
				  memory_order_relaxed);
	chunk_need(s, 4);
	gap = chunk_gap(s, now);
	n = s->n;
	s->records[n] = rec_put(REC_CREATE, 0, gap);
	s->records[n + 1] = rec_put_value(REC_OPERAND, f->serial);
	s->records[n + 2] = rec_put_value(REC_OPERAND, 0);
	barrier();
	s->n = n + 3;
	atomic_store_explicit(s->published, n + 3, memory_order_release);
}

/* ------------------------------------------------------------ put away */

static void *more(void *old, size_t *room, size_t need, size_t size)
{
	size_t to = *room == 0 ? 8 : *room;
	void *made;

	if (need <= *room)
		return old;
	while (to < need)
		to *= 2;
	made = memory_get(to * size);
	if (made)
		*room = to;
	return made;
}

static int keep_room(struct fiber *f, size_t parts, size_t frames)
{
	size_t part_room = f->part_room, frame_room = f->frame_room;
	void *const p = more(f->part, &part_room, parts, sizeof(*f->part));
	void *const q = more(f->frame, &frame_room, frames, sizeof(*f->frame));

	if (!p || (!q && frames > 0))
		return 0;
	f->part = p;
	f->frame = q;
	f->part_room = (uint32_t)part_room;
	f->frame_room = (uint32_t)frame_room;
	return 1;
}

static void keep(const struct thread_state *s, struct fiber *f)
{
	const struct segment *const first = &s->segment[s->fiber];
	const struct frame *const from = s->frames + first->base;
	const size_t frames = (size_t)(s->top - from);
	const uint32_t parts = s->segments - s->fiber;

	f->window = NEVER;
	f->part_count = 0;
	if (!keep_room(f, parts, frames))
		return;
	if (frames > 0)
		memcpy(f->frame, from, frames * sizeof(*from));
	for (uint32_t i = 0; i < parts; i++) {
		const struct segment *const g = &first[i];
		const uint32_t end = i + 1 < parts ? g[1].base :
				     (uint32_t)(s->top - s->frames);

		f->part[i] = (struct fiber_part){
			.serial = g->serial, .sp = g->sp, .owner = g->owner,
			.inferred = g->inferred, .count = end - g->base,
		};
	}
	f->part_count = parts;
	f->window = s->window;
}

void fiber_stack_detach(struct thread_state *s, struct fiber *f, uint64_t now)
{
	const uint32_t first = s->fiber;

	keep(s, f);
	f->since = now;
	f->thread = s->thread_serial;
	f->level = s->level;
	f->too_deep = s->too_deep;
	s->too_deep = s->fiber_below;
	while (s->segments > first) {
		const uint32_t i = s->segments - 1 - first;

		shadow_set_aside(
			s, i > 0 ? SUSPEND_YIELD | SUSPEND_WITH : SUSPEND_YIELD,
			now);
		if (i < f->part_count)
			f->part[i].epoch = s->epoch;
	}
	s->lua_plain = NULL; /* another lua_State runs from here on */
}

void fiber_stack_end(struct thread_state *s, uint32_t flags, uint64_t now)
{
	const struct shadow_mark m = { .window = s->window, .segments = 1 };
	uint32_t count;

	shadow_cut(s, m, UNWIND_SKIPPED, now);
	s->too_deep = s->fiber_below;
	shadow_detach(s, flags, &count, now);
	s->lua_plain = NULL;
}

/* -------------------------------------------------------------- put on */

static int put_part(struct thread_state *s, const struct fiber *f,
		    const struct fiber_part *p, const struct frame *from,
		    uint32_t flags, uint64_t now)
{
	const uint64_t slept = now > f->since ? now - f->since : 0;
	int given;

	chunk_need(s, RECORD_SLACK - 2); /* so that the epoch stays */
	given = f->thread != s->thread_serial || f->level != s->level ||
		p->epoch != s->epoch;
	if (!shadow_attach(s, p->serial, p->owner, from, p->count, slept, given,
			   p->sp, flags, now))
		return 0;
	shadow_segment(s)->inferred = p->inferred;
	return 1;
}

static int put_first(struct thread_state *s, struct fiber *f, uint32_t flags,
		     uint64_t sp, uint64_t now)
{
	/* What runs on it was not seen, or not kept. */
	const int given = f->ran || (flags & RESUME_INFERRED);

	if (!shadow_attach(s, f->serial, NULL, NULL, 0, 0, given, sp, flags,
			   now))
		return 0;
	shadow_segment(s)->inferred = 0;
	return 1;
}

void fiber_stack_attach(struct thread_state *s, struct fiber *f, uint32_t flags,
			uint64_t sp, uint64_t now)
{
	const int kept = f->part_count > 0 && f->window == s->window &&
			 f->serial != 0;
	const struct frame *from = f->frame;
	const uint32_t index = s->segments;

	if (f->serial == 0)
		fiber_stack_create(s, f, now);
	if (kept ? !put_part(s, f, f->part, from, flags, now) :
	    !put_first(s, f, flags, sp, now))
		return;
	if (!kept)
		f->unknown = f->ran || (flags & RESUME_INFERRED) != 0;
	s->fiber_unknown = f->unknown;
	s->fiber_below = s->too_deep;
	s->too_deep = kept ? f->too_deep : 0;
	shadow_cover(s, index, f);
	for (uint32_t i = 1; kept && i < f->part_count; i++) {
		from += f->part[i - 1].count;
		if (!put_part(s, f, &f->part[i], from, RESUME_WITH, now))
			break;
	}
	f->ran = 1;
	f->window = NEVER;
	f->part_count = 0;
	s->lua_plain = NULL;
}
