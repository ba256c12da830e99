/* sample.h - Lua without hooks for calls: at ticks of a thread's CPU time, the
 * VM that runs on it notes its own stack as soon as that is safe. PUC Lua does
 * so in a hook that a signal handler sets, as lua.c's does for Ctrl-C, LuaJIT
 * by its profiler. What is not known to run here is left alone.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua/coroutine.h"

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
 * returns to. Where Lua is sampled also on which stack
 * it runs, what that held then, and the innermost frame of L that does not
 * belong above that, 0: all do. */
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

/* co's VM is to be sampled from now on, or for now no longer. It has no hook of
 * ours then. A Lua function could be called on co here. */
void lua_sample_begin(struct coroutine *co);
void lua_sample_end(struct coroutine *co);
/* Can it be? In a budget, it goes on as it is otherwise. Where its calls by the
 * program are seen, the one that runs here must be known. */
bool lua_sample_may(struct lua_vm *vm);
/* It is so from now on: of this busy state, calls of its that nothing stands on
 * come off. */
void lua_sample_turns(struct thread_state *s, const struct lua_vm *vm);
/* It is being closed. */
void lua_sample_closing(struct lua_vm *vm);
/* In LuaJIT's profiler, which is stopped if the recording has ended: true. */
bool lua_sample_ends(struct lua_vm *vm, lua_State *L);
/* This thread ends. */
void lua_sample_thread_ends(void);

/* A plain call on L begins with this frame address, as L runs: it was made by
 * Lua's own library, or a C function that is not recorded. It changes nothing
 * then of what is known: lua_sample_enter and all else may be left out. */
bool lua_sample_goes_on(long L, uint64_t sp);

/* A call on L, whose object is co (NULL: not known), begins: fills in the rest
 * of lua_running; was: before. is_resume: L has no other frames on this
 * thread. */
void lua_sample_enter(struct coroutine *co, const struct lua_running *was,
		      bool is_resume);
/* It is over; what was running before goes on. */
void lua_sample_leave(struct lua_running *was);

/* The program jumps to target: what ran deeper on the busy state's stack does
 * so no longer. */
void lua_sample_jumped(struct thread_state *s, uint64_t target);

/* LuaJIT: vm is sampled, and has called a C function that has done nothing as
 * yet. Recording may have begun since it was called itself. */
void lua_sample_claim(struct lua_vm *vm);
/* What runs here resumes another lua_State, by a function at that address:
 * says which Lua functions do so. */
void lua_sample_resumes(uint64_t function, uint64_t sp);

/* PUC Lua, whose hooks are the program's but for a moment at each tick: find
 * out what its hook is; it has set another one; put it back after a tick. */
void lua_sample_look(struct coroutine *co);
void lua_sample_set_hook(struct coroutine *co);
void lua_sample_hook_back(struct coroutine *co);

/* The call of a Lua function that was the innermost one at the last tick, where
 * each is recorded: its frame, and which of the thread's frames that was. */
struct lua_ticked {
	struct frame frame;
	uint32_t index;
};

/* Where each call is recorded: co runs on this thread, and is to note its lines
 * from now on. Not busy. */
void lua_sample_lines(struct coroutine *co);
/* PUC Lua: it has come to the instruction that was to be noted, or to one of
 * another's. */
void lua_sample_line_over(struct coroutine *co);
/* Our hook is to be taken off. */
void lua_sample_lines_end(struct coroutine *co);

/* For lua_abi/sample.c: L is at a place where its frames can be looked at.
 * Returns the ns that are to be noted there, 0: none were asked for. Ticks are
 * held until lua_sample_noted. */
uint64_t lua_sample_take(lua_State *L, bool any);
/* PUC Lua: has co's VM collected garbage since it was asked? Between two
 * instructions it does so rarely, and for longer than most of these take: then
 * the tick came meanwhile. */
bool lua_sample_collected(const struct coroutine *co);
/* What the last tick came in. Valid while ticks are held. */
const struct lua_ticked *lua_sample_ticked(void);
/* missed: ns that nobody could note; they are told. */
uint64_t lua_sample_take_missed(void);
void lua_sample_hold(void);
void lua_sample_noted(void);
