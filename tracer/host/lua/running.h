/* running.h - which call of Lua runs on a thread: the innermost one that was
 * seen, and whether code at a stack pointer belongs to it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/kernel.h"
#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/thread/thread.h"

/* Is Lua sampled, instead of each call being recorded? */
INLINE bool lua_is_sampled(void)
{
	return unlikely(mapped_view.lua_sampled);
}

/* Or may that come to be so? */
INLINE bool lua_may_be_sampled(void)
{
	return lua_is_sampled() || unlikely(mapped_view.lua_budget);
}

/* Is each call recorded, and noted at ticks which line runs? */
INLINE bool lua_has_lines(void)
{
	return unlikely(mapped_view.lua_lines);
}

/* The lua_State that was resumed or called last on this thread and has not come
 * back, that call's frame address, our own stack pointer in it, and where it
 * returns to. Where Lua is sampled also on which stack it runs, what that held
 * then, and the innermost frame of L that does not belong above that, 0: all
 * do. */
struct lua_running {
	long L;              /* 0: none */
	uint64_t sp, own, site;
	const void *stack;   /* lua_vm_stack, NULL: not known */
	uint32_t segments, depth; /* as in struct shadow_mark */
	uint32_t top;        /* index of the frame above */
	uint32_t window, forgot; /* of the thread and lua_co_forgot then */
	uint32_t level;      /* in how many others it began, as seen */
	uint64_t base;
};
extern HIDDEN THREAD_LOCAL struct lua_running lua_running;

INLINE uint32_t lua_running_frames(const struct thread_state *s)
{
	return (uint32_t)(s->top - s->frames);
}

/* Does r run on the topmost segment of this thread? */
INLINE bool lua_running_is_here(const struct thread_state *s,
				const struct lua_running *r)
{
	return r->L != 0 && r->stack == lua_vm_stack(s) &&
	       r->window == s->window && r->segments == s->segments - s->fiber;
}

/* Above the frames that r stands on may be some of calls that it made while
 * each was recorded, but whose ends nobody tells any more. Where what stands on
 * these lies, which they have called. */
uint32_t lua_running_above(const struct thread_state *,
			   const struct lua_running *);

/* May it be looked where r was called? The stack may be gone. */
INLINE bool lua_running_is_mapped(const struct lua_running *r, uint64_t sp)
{
	const uint64_t high = r->sp + 8;
	const uint64_t low = ARCH_CALL_LOW(r->own, r->sp + 16);

	return ((high ^ sp) < 4096 || kernel_can_read((const void *)high)) &&
	       ((low ^ high) < 4096 || kernel_can_read((const void *)low));
}

/* Does the code at this stack pointer run in the call that lua_running is, and
 * not in a native function that is recorded as that? A jump or an exception may
 * have ended that call: then its caller has called others since. */
INLINE bool lua_running_is_innermost(const struct lua_running *r, uint64_t sp)
{
	const struct thread_state *const s = thread_self;

	return s && s->generation != 0 && sp < r->sp &&
	       r->stack == lua_vm_stack(s) &&
	       r->segments == s->segments - s->fiber &&
	       (r->depth == shadow_depth(s) ||
		(lua_running_is_here(s, r) &&
		 lua_running_above(s, r) == lua_running_frames(s))) &&
	       lua_running_is_mapped(r, sp) &&
	       arch_was_called_at(r->own, r->sp + 16, r->site);
}

/* The object of L, if that is known to run here and to be sampled. */
INLINE struct coroutine *lua_running_sampled(lua_State *L)
{
	struct coroutine *const co = lua_co_served(L);

	return co && co->vm->sampled && !co->vm->closing ? co : NULL;
}

/* Such frames end once nothing stands on them. Returns where calls that r makes
 * stand; 0: not here, or each is recorded. */
uint32_t lua_running_settle(struct thread_state *, const struct lua_running *);
/* Of the call that runs here. Not busy. */
void lua_running_settle_it(void);
