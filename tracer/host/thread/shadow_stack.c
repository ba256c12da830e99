/* shadow_stack.c - pushing and popping frames and segments, with their records.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/thread/shadow_stack.h"
#include "tracer/host/base/break.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/zone.h"

#include <errno.h>
#include <string.h>

/* ----------------------------------------------------------------- frames */

/* The frames are at their larger place from now on. */
static void go_to_moved(struct thread_state *s)
{
	s->frames = s->moved;
	s->top = s->frames + s->moving;
	s->frame_limit = s->frames + s->moved_room - 1;
	barrier();
}

void shadow_end_move(struct thread_state *s)
{
	if (s->moved)
		go_to_moved(s);
	s->moving = 0;
}

/* Not with malloc, which may be what the program is in; nor with mremap: the
 * innermost frame must be there at all times, since a hook that interrupts this
 * one looks at it. */
SLOW bool shadow_grow(struct thread_state *s)
{
	const int saved = errno;
	const size_t used = (size_t)(s->top - s->frames);
	const size_t old = (size_t)(s->frame_limit - s->frames) + 1;
	const size_t room = 2 * old < MAX_FRAMES + 2 ? 2 * old : MAX_FRAMES + 2;
	struct frame *to = NULL;

	if (s->no_room == s->generation)
		return false; /* asking at each call would take its time */
	s->moved = NULL;
	barrier();
	s->moving = (uint32_t)used;
	barrier();
	if (old < room)
		to = kernel_map(room * sizeof(*to));
	if (to) {
		struct frame *const from = s->frames;

		for (size_t i = 0; i < used; i++) {
			to[i] = from[i];
			barrier(); /* not by memcpy: see memory_clear */
		}
		s->moved_room = (uint32_t)room;
		barrier();
		s->moved = to;
		barrier();
		go_to_moved(s);
		/* A hook that was interrupted before it was busy may still
		 * read there: no frame. Nothing is moved often. */
		kernel_drop(from, old * sizeof(*from));
	} else {
		s->no_room = s->generation;
	}
	barrier();
	s->moving = 0;
	errno = saved;
	return to != NULL;
}

bool shadow_reserve(struct thread_state *s, uint32_t count)
{
	while ((size_t)(s->frame_limit - s->top) <= count) {
		if (!shadow_grow(s))
			return false;
	}
	return true;
}

/* A call that there is no room for. Each of Lua's returns takes one off, and a
 * native exit as hook.c's leave does; the end of a zone of Lua's finds its
 * frame, or nothing. */
static void stand_aside(struct thread_state *s, const struct frame *f)
{
	if (frame_is_lua(f) ? !zone_is(f->key) :
			      !dictionary_may_skip(s, f->key))
		s->too_deep++;
}

static void lose(struct thread_state *s, const struct frame *f)
{
	stand_aside(s, f);
	chunk_count_lost(s, LOST_DEPTH, 1);
}

/* Nothing is lost if there is no room: the call would have no record. */
static void push_deep(struct thread_state *s, const struct frame *f)
{
	if (!shadow_room(s)) {
		stand_aside(s, f);
		return;
	}
	*s->top = *f;
	barrier();
	s->top++;
}

/* Is the call left out, or only counted, which is done here? */
static bool has_no_frame(struct thread_state *s, const struct frame *f)
{
	/* Lua's part of the call was counted, before the verdict changed. */
	if (s->awaited && !frame_is_lua(f) && counted_awaited(s, f->key))
		return true;
	if (!dictionary_decides(s))
		return false;
	if (dictionary_has_outlived(s, f->key))
		chunk_switch(s, 0);
	switch (dictionary_verdict(s, f->key)) {
	case VERDICT_COUNT:
		if (frame_is_lua(f))
			counted_await(s, f->key);
		counted_apart(s, f->key);
		return true;
	case VERDICT_SKIP:
		return true;
	default:
		return false;
	}
}

void shadow_enter(struct thread_state *s, const struct frame *f, uint64_t now)
{
	uint32_t index;

	if (unlikely(s->chooses) && s->top >= depth_end(s)) {
		push_deep(s, f);
		return;
	}
	/* Before it is known whether it is left out: Lua's returns do not tell,
	 * so that each of them takes one off. */
	if ((s->counts || frame_is_lua(f)) && !shadow_room(s)) {
		lose(s, f);
		return;
	}
	if (s->counts) {
		counted_enter(s, f);
		return;
	}
	chunk_need_call(s);
	/* Only now: what the chunk before had named, it recorded. */
	if (has_no_frame(s, f))
		return;
	if (!shadow_room(s)) {
		lose(s, f);
		return;
	}
	index = chunk_index(s, f->key);
	chunk_put(s, rec_put(REC_ENTER, index, chunk_gap(s, now)));
	*s->top++ = *f;
}

void shadow_leave(struct thread_state *s, uint64_t now)
{
	struct frame *const f = s->top - 1;
	const uint64_t before = s->at[-1];
	const uint64_t duration = now - s->last;
	uint32_t index;

	if (s->counts || (unlikely(s->chooses) && f >= depth_end(s))) {
		s->top = f;
		return;
	}
	if (s->brief != 0 && counted_make_brief(s, duration))
		return;
	if (likely(rec_fits_leaf(before, duration))) {
		s->last = now;
		chunk_make_leaf(s->at - 1, s->at[-1], duration);
		s->top = f;
		return;
	}
	chunk_need_call(s);
	index = chunk_index(s, f->key);
	chunk_put(s, rec_put(REC_LEAVE, index, chunk_gap(s, now)));
	s->top = f;
}

void shadow_unwind(struct thread_state *s, struct frame *to, enum unwind why,
		   uint64_t now)
{
	const uint64_t count = s->counts ? 0 : depth_recorded(s, to);
	struct segment *const g = shadow_segment(s);

	if (to == s->top)
		return;
	/* A tail call replaces the body, whose place the frame that is entered
	 * now takes. A chunk may begin before that. */
	if (why == UNWIND_TAIL && g->serial != 0 && to + 1 == s->top &&
	    to == s->frames + g->base) {
		if (to->tick != g->body.on)
			g->body = (struct body){ .key = to->key,
						 .tick = to->tick };
		to->tick = g->body.on = now;
	}
	if (count > 0)
		chunk_need(s, 3);
	s->too_deep = 0; /* they stood on what ends here */
	if (count > 0)
		chunk_put_with(s, rec_put(REC_UNWIND, why, chunk_gap(s, now)),
			       &count, 1);
	s->top = to;
}

void shadow_tail(struct thread_state *s, const struct frame *f, uint64_t now)
{
	if (!BROKEN(tail))
		shadow_unwind(s, s->top - 1, UNWIND_TAIL, now);
	shadow_enter(s, f, now);
}

/* -------------------------------------------------------------- attaching */

uint64_t shadow_create(struct thread_state *s, uint64_t serial, uint32_t vm,
		       uint64_t now)
{
	uint64_t operands[] = { serial, vm };

	atomic_fetch_add_explicit(&process_slot->coroutines, 1,
				  memory_order_relaxed);
	if (serial == 0)
		operands[0] = atomic_fetch_add_explicit(
			&mapped_pool->next_coroutine, 1, memory_order_relaxed);
	chunk_need(s, 4);
	chunk_put_with(s, rec_put(REC_CREATE, 0, chunk_gap(s, now)), operands,
		       2);
	return operands[0];
}

/* RESUME with the stack behind it: count frames, which lie there already. */
static void put_resume(struct thread_state *s, const struct segment *g,
		       uint32_t count, uint64_t slept, uint32_t flags,
		       uint64_t gap)
{
	uint64_t *const at = s->at, *end = at + 4, body = 0;

	at[1] = rec_put_value(REC_OPERAND, g->serial & REC_VALUE_MAX);
	at[2] = rec_put_value(REC_OPERAND, slept & REC_VALUE_MAX);
	if ((flags & RESUME_STACK) && !chunk_is_scrap(s)) {
		end = dictionary_put_frames(s, s->frames + g->base, count, 0,
					    count, end);
		body = count > 0 ? dictionary_body(s, g) : 0;
	}
	at[3] = rec_put_value(REC_OPERAND, (uint64_t)(end - at - 4));
	if (body != 0) {
		flags |= RESUME_BODY;
		*end++ = body;
	}
	at[0] = rec_put(REC_RESUME, flags, gap);
	chunk_publish(s, (uint32_t)(end - at));
}

/* The whole stack of a record must fit its chunk. */
static void need_resume(struct thread_state *s, uint32_t count)
{
	const uint32_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER + 1;
	const uint32_t words = 7 + (count < most ? count : most);

	if (s->at + words <= s->limit + RECORD_SLACK)
		return;
	s->want_big = words > 200;
	chunk_switch(s, 0);
	if (s->at + words > s->limit + RECORD_SLACK && !chunk_is_scrap(s)) {
		/* Only a small buffer was free. */
		chunk_close(s, 0);
		s->resync = true;
	}
}

bool shadow_attach(struct thread_state *s, const struct segment *as,
		   const struct frame *kept, uint32_t count, uint64_t slept,
		   bool given, uint32_t flags, uint64_t now)
{
	struct segment *const g = &s->segment[s->segments];
	const uint32_t told = count < s->max_depth ? count : s->max_depth;
	struct frame *to;

	if (s->segments >= MAX_SEGMENTS || !shadow_reserve(s, count)) {
		s->too_deep++;
		chunk_count_lost(s, LOST_DEPTH, 1);
		return false;
	}
	given = given && !s->counts; /* readers know of no frames */
	need_resume(s, given ? told : 0);
	*g = *as;
	g->base = (uint32_t)(s->top - s->frames);
	g->body.tick += slept;
	g->body.on += slept;
	s->segments++; /* first: a handler may look at this stack */
	to = s->top;
	for (uint32_t i = 0; i < count; i++, to++) {
		*to = kept[i];
		to->tick += slept;
		to->node = 0;
	}
	s->top = to;
	put_resume(s, g, told, slept, given ? flags | RESUME_STACK : flags,
		   chunk_gap(s, now));
	return true;
}

bool shadow_borrow(struct thread_state *s, const uint64_t *key,
		   uint32_t count, uint64_t sp, uint64_t now)
{
	struct segment none = { 0 };

	if (s->too_deep != 0 || !shadow_reserve(s, count))
		return false;
	need_resume(s, s->counts ? 0 : count);
	none.base = (uint32_t)(s->top - s->frames);
	for (uint32_t i = 0; i < count; i++)
		s->top[i] = (struct frame){
			.key = key[i] & ~KEY_BODY, .sp = sp,
			.site = key[i] & KEY_BODY ? FRAME_BORROWED_BODY :
						    FRAME_BORROWED,
			.tick = FRAME_TICK_UNKNOWN(now) };
	barrier();
	s->top += count;
	if (!s->counts) /* else readers know of no frames */
		put_resume(s, &none, count, 0, RESUME_STACK | RESUME_BORROWED,
			   chunk_gap(s, now));
	return true;
}

/* In the site of the frame under a fiber's: no exit matches it. */
#define COVERED (UINT64_C(1) << 63)

void shadow_cover(struct thread_state *s, uint32_t index, void *fiber)
{
	s->fiber = index;
	s->fiber_on = fiber;
	s->frames[s->segment[index].base - 1].site ^= COVERED;
}

/* -------------------------------------------------------------- detaching */

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

/* Inlined into both: each switch of coroutines comes here. */
INLINE void detach_top(struct thread_state *s, uint32_t flags, uint64_t now)
{
	const uint64_t serial = shadow_segment(s)->serial;

	chunk_need(s, 3);
	chunk_put_with(s, rec_put(REC_SUSPEND, flags, chunk_gap(s, now)),
		       &serial, 1);
	pop_segment(s);
}

void shadow_detach_whole(struct thread_state *s, uint32_t flags, uint64_t now)
{
	detach_top(s, flags, now);
}

const struct frame *shadow_detach(struct thread_state *s, uint32_t flags,
				  uint32_t *count, uint64_t now)
{
	const struct frame *const base = s->frames + shadow_segment(s)->base;
	const bool kept = (flags & SUSPEND_REASON) == SUSPEND_YIELD;
	struct frame *f = s->top;

	while (f > base && (!kept || !frame_is_lua(f - 1)))
		f--;
	if (unlikely(f < s->top))
		shadow_unwind(s, f, kept ? UNWIND_YIELD : UNWIND_ERROR, now);
	*count = shadow_depth(s);
	detach_top(s, flags, now);
	return s->top;
}

void shadow_detach_lost(struct thread_state *s, uint64_t now)
{
	const uint32_t before = s->segments;
	uint32_t count;

	if (thread_upcalls.lua_detach)
		thread_upcalls.lua_detach(s, now);
	if (s->segments >= before)
		shadow_detach(s, SUSPEND_ERROR | SUSPEND_INFERRED, &count,
			      now);
}

void shadow_cut(struct thread_state *s, struct shadow_mark m, enum unwind why,
		uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;
	uint32_t depth;

	if (m.window != s->window || segments > s->segments)
		return;
	while (s->segments > segments)
		shadow_detach_lost(s, now);
	depth = shadow_mark_depth(s, m);
	if (shadow_depth(s) > depth)
		shadow_unwind(s, s->frames + shadow_segment(s)->base + depth,
			      why, now);
}

bool shadow_put_under(struct thread_state *s, const struct frame *f,
		      uint32_t count)
{
	struct frame *bottom;

	if (!shadow_reserve(s, count))
		return false;
	bottom = s->frames + s->segment[0].base;
	memmove(bottom + count, bottom, (size_t)(s->top - bottom) *
					sizeof(*bottom));
	memcpy(bottom, f, count * sizeof(*bottom));
	s->top += count;
	s->found += count;
	return true;
}

bool shadow_drop_native(struct thread_state *s)
{
	struct frame *from = s->frames + 1, *to = from, *end;

	if (s->fiber != 0)
		s->frames[s->segment[s->fiber].base - 1].site ^= COVERED;
	for (uint32_t i = 0; i < s->segments; i++) {
		end = i + 1 == s->segments ? s->top :
		      s->frames + s->segment[i + 1].base;
		s->segment[i].base = (uint32_t)(to - s->frames);
		for (; from < end; from++) {
			if (!frame_is_lua(from))
				continue;
			*to = *from;
			frame_settle(to);
			to++->absorbed = FRAME_NONE_ABSORBED;
		}
	}
	s->top = to;
	if (s->fiber != 0)
		s->frames[s->segment[s->fiber].base - 1].site ^= COVERED;
	s->native_unknown = true;
	return to > s->frames + 1;
}

void shadow_forget(struct thread_state *s)
{
	s->native_unknown = false;
	s->segments = 1;
	s->fiber = 0;
	s->fiber_on = NULL;
	s->fiber_left = 0;
	s->segment[0] = (struct segment){ .base = 1 };
	s->lua_top = 0;
	s->top = s->frames + 1;
	s->too_deep = 0;
	s->base_unknown = true;
}

bool shadow_valid(const struct thread_state *s)
{
	uint32_t base = 1;

	if (s->quick && (s->too_deep != 0 ||
			 s->quick - s->at > s->frame_limit - s->top))
		return false;
	if (s->quick && (chunk_lasts(s) || s->chooses))
		return false;
	if (s->top <= s->frames || s->top > s->frame_limit ||
	    !frame_is_plain_lua(s->frames) || s->segments < 1 ||
	    s->segments > MAX_SEGMENTS || s->fiber >= s->segments ||
	    s->segment[0].base != 1)
		return false;
	for (uint32_t i = 0; i < s->segments; i++) {
		if (s->segment[i].base < base)
			return false;
		base = s->segment[i].base;
	}
	return base <= (size_t)(s->top - s->frames);
}
