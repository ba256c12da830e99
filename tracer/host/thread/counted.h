/* counted.h - calls that are counted where they are made, and have no records:
 * a tree in the open chunk, with a node for each stack on which calls were
 * made. A frame knows its node; one that was pushed before the chunk was
 * opened, or was recorded, gets one when it calls. Hook-safe; busy.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/chunk_switch.h"

/* Counts a call and pushes its frame, for which there is room. If there is no
 * chunk to count it in, it is lost, which is counted. */
void counted_enter(struct thread_state *s, const struct frame *f);

/* The same where calls are recorded, but this function's are not: it has no
 * frame, so that what it calls stands under its caller. */
void counted_apart(struct thread_state *s, uint64_t key);

/* The node of what runs, among the open chunk's; 0: no function does. May
 * switch chunks. */
uint32_t counted_here(struct thread_state *s);

/* Says how far the common case may go, as shadow_set_quick does. A coroutine's
 * outermost call is none of it: that is not one by the frame below. */
INLINE void counted_set_limit(struct thread_state *s)
{
	s->count_generation = s->too_deep != 0 ? 0 : s->generation;
	s->count_limit = s->too_deep != 0 ? NULL : s->frame_limit;
	if (unlikely(s->chooses)) {
		depth_set_quick(s);
		if (s->count_limit > s->deep)
			s->count_limit = s->deep;
	}
	s->count_base = s->segments == 1 ? NULL :
			s->frames + s->segment[s->segments - 1].base;
}

/* A node's number is spread over the lower half of its word, so that a place
 * needs one product; and found there again. */
#define COUNTED_SPREAD UINT32_C(0x85ebca6b)
#define COUNTED_GATHER UINT32_C(0xa5cb9243)
_Static_assert(COUNTED_SPREAD * COUNTED_GATHER == 1, "inverse");

INLINE uint32_t counted_number(uint64_t word)
{
	return (uint32_t)word * COUNTED_GATHER;
}

/* Where a call is looked for first. */
INLINE uint32_t counted_place(uint64_t key, uint64_t under)
{
	return ((uint32_t)key * (uint32_t)(GOLDEN >> 32) + (uint32_t)under) >>
	       (32 - COUNTED_BITS);
}

/* The entry of calls of this function by that node, if it lies at one of the
 * first two places; or NULL, as if the node is of an old chunk. */
INLINE const struct counted_entry *
counted_find(const struct thread_state *s, uint64_t key, uint64_t under)
{
	uint64_t at = counted_place(key, under) * sizeof(*s->counted);
	const struct counted_entry *e;

	PIN(at);
	e = (const void *)((const char *)s->counted + at);
	if (likely(e->under == under && e->key == key))
		return e;
	e = (const void *)((uint64_t)e ^ sizeof(*e));
	return likely(e->under == under && e->key == key) ? e : NULL;
}

/* Has the frame a node of the open chunk, where calls are recorded? The node
 * may be that of a frame that was there before it. */
INLINE bool counted_is_noded(const struct thread_state *s,
			     const struct frame *f)
{
	return f->node >> 32 == s->epoch && f->noded == f->tick;
}

/* The same where they may all be counted. */
INLINE bool counted_has_node(const struct thread_state *s,
			     const struct frame *f)
{
	return s->counts ? f->node >> 32 == s->epoch : counted_is_noded(s, f);
}

INLINE void counted_give_node(struct frame *f, uint64_t node)
{
	f->node = node;
	barrier(); /* a handler may jump away from here */
	f->noded = f->tick;
}

/* Gives a frame of the topmost segment the node that it has, if there is one
 * and few steps lead there. */
bool counted_settle(struct thread_state *s, struct frame *f);

/* The same where calls are recorded, there is one segment, and the frame's
 * caller has a node. */
INLINE bool counted_settle_one(const struct thread_state *s, struct frame *f)
{
	const struct counted_entry *e;

	if (s->segments > 1 || f == s->frames || !counted_is_noded(s, f - 1))
		return false;
	e = counted_find(s, f->key, f[-1].node);
	if (e)
		counted_give_node(f, e->word);
	return e != NULL;
}

/* The entry of calls of this function by that frame, where calls are recorded;
 * NULL: it must be made. */
INLINE const struct counted_entry *
counted_entry_of(struct thread_state *s, struct frame *f, uint64_t key)
{
	return likely(counted_has_node(s, f)) || counted_settle(s, f) ?
	       counted_find(s, key, f->node) : NULL;
}

/* Lua has called this function, and the call was counted. */
INLINE void counted_await(struct thread_state *s, uint64_t key)
{
	if (!(key & KEY_LUA))
		s->awaited = key;
}

/* Was the call that native code enters counted, as Lua's? A signal handler may
 * enter others before. */
INLINE bool counted_awaited(struct thread_state *s, uint64_t key)
{
	if (s->awaited != key)
		return false;
	s->awaited = 0;
	return true;
}

/* The common case of counted_apart; false: nothing was changed. */
INLINE bool counted_quick(struct thread_state *s, uint64_t key)
{
	const struct counted_entry *const e =
		counted_entry_of(s, s->top - 1, key | KEY_COUNTED);

	if (likely(e))
		++*e->calls;
	return e != NULL;
}

/* The same where the innermost frame has a node. */
INLINE bool counted_again(struct thread_state *s, uint64_t key)
{
	const struct counted_entry *const e =
		counted_find(s, key | KEY_COUNTED, s->top[-1].node);

	if (likely(e))
		++*e->calls;
	return e != NULL;
}

/* ------------------------------------------------------------ brief calls
 * They give their records back. */

/* May the innermost call be counted? Not what begins a coroutine. */
INLINE bool counted_may_be_brief(const struct thread_state *s)
{
	return likely(s->segments == 1) || s->top - s->frames >
	       s->segment[s->segments - 1].base + 1;
}

/* The same of one that returns, and took so long. */
INLINE bool counted_is_brief(const struct thread_state *s, uint64_t duration)
{
	return duration < s->brief && rec_kind(s->at[-1]) == REC_ENTER &&
	       counted_may_be_brief(s);
}

/* Counts it there, takes its record back and pops its frame. First comes its
 * end, which the recorder reads last; then the count: a program that is killed
 * meanwhile has it. A handler that says it has interrupted this record needs
 * it: false, and nothing was changed. */
INLINE bool counted_brief_at(struct thread_state *s, uint64_t *calls,
			     uint64_t duration)
{
	const uint64_t enter = s->at[-1];

	s->head->brief_end = s->last + duration;
	barrier();
	++calls[0];
	calls[1] += duration;
	barrier();
	chunk_take_back(s);
	barrier();
	if (unlikely(s->next && s->next->said_chunk == s->number &&
		     s->next->said_n > chunk_count(s))) {
		s->last += rec_gap(enter);
		chunk_put(s, enter);
		calls[1] -= duration;
		--calls[0];
		return false;
	}
	s->top--;
	return true;
}

/* The common case: the innermost call returns, after so short a time that it is
 * brief; its ENTER is the last record, and its node is there. false: nothing
 * was changed. */
INLINE bool counted_brief(struct thread_state *s, uint64_t duration)
{
	struct frame *const by = s->top - 2;
	const struct counted_entry *e;

	if (unlikely(!counted_may_be_brief(s)))
		return false;
	if (unlikely(!counted_is_noded(s, by) && !counted_settle_one(s, by)))
		return false;
	e = counted_find(s, s->top[-1].key, by->node);
	return likely(e) && counted_brief_at(s, e->calls, duration);
}

/* The same, the node is made if there is room for it. */
bool counted_make_brief(struct thread_state *s, uint64_t duration);

/* The common case: the innermost frame calls this function. Counts the call;
 * the caller fills its frame f, s->top, and pushes it. false: nothing was
 * changed. */
INLINE bool counted_call(const struct thread_state *s, struct frame *f,
			 uint64_t key)
{
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
