/* quick.h - the common case of Lua's events, for hooks: calls nothing,
 * so that it needs no registers saved; whatever is out of the ordinary makes it
 * give up before it has changed anything. Busy. Compiled once per version of
 * Lua. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ABI_QUICK_H
#define WEFT_TRACER_HOST_LUA_ABI_QUICK_H

#include "tracer/host/lua_abi/hook.h"

/* Ticks; only where they come from the time stamp counter (lua_vm_is_plain). */
INLINE uint64_t quick_ticks(void)
{
	if (!clock_is_tsc)
		__builtin_unreachable();
	return clock_now();
}

/* The innermost frame returns; if nothing was recorded since its call, the two
 * become one record. 0: not so. */
INLINE int quick_returned(struct thread_state *s, uint64_t L, uint64_t id)
{
	struct frame *const f = s->top - 1;
	uint64_t *const before = &s->records[(int64_t)s->n - 1];
	const struct table_entry *w;
	uint64_t now, gap;

	if (unlikely(f->ret != id || f->site != L))
		return 0;
	if ((*before & REC_KIND_MASK) == REC_ENTER) {
		now = quick_ticks();
		gap = now - s->last;
		if (unlikely(!rec_fits_leaf(*before, gap)))
			return 0;
		*before = rec_enter_to_leaf(*before, gap);
	} else {
		w = chunk_entries(s, f->key);
		if (unlikely(w->key != f->key || w->epoch != s->epoch ||
			     s->n >= s->limit))
			return 0;
		now = quick_ticks();
		gap = now - s->last;
		if (unlikely(gap > REC_GAP_MAX))
			return 0;
		chunk_put(s, rec_put(REC_LEAVE, w->index, gap));
	}
	s->last = now;
	s->top = f;
	return 1;
}

/* C functions that LuaJIT has left behind above the frame in this place: they
 * end now. 0: one cannot here. */
INLINE int quick_ended_late(struct thread_state *s, uint64_t L, uint64_t id)
{
#if WEFT_LUA_ABI == 21
	while (frame_is_untold(s->top - 1) && s->top[-1].site == L &&
	       s->top[-1].ret > id) {
		if (!quick_returned(s, L, s->top[-1].ret))
			return 0;
	}
#else
	(void)s;
	(void)L;
	(void)id;
#endif
	return 1;
}

/* Is this the innermost frame, and room for one above it? */
INLINE int quick_calls(const struct thread_state *s, uint64_t L,
		       uint64_t caller)
{
	const struct frame *const f = s->top;

	return likely(f[-1].ret == caller && f[-1].site == L &&
		      s->n < s->limit && f < s->frame_limit) != 0;
}

/* The innermost frame calls this function, which the open chunk has named;
 * nothing has died. 0: not so. */
INLINE int quick_entered(struct thread_state *s, uint64_t L, uint64_t id,
			 const struct lua_cached *c)
{
	struct frame *const f = s->top;
	const uint64_t now = quick_ticks(), gap = now - s->last;

	if (unlikely(gap > REC_GAP_MAX)) /* or negative */
		return 0;
	s->last = now;
	f->key = c->key;
	f->flags = c->flags;
	f->site = L;
	f->ret = id;
	f->tick = now;
	f->absorbed = FRAME_NONE_ABSORBED;
	chunk_put(s, rec_put(REC_ENTER, c->index, gap));
	s->top = f + 1;
	return 1;
}

#endif
