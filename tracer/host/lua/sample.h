/* sample.h - Lua without hooks for calls: its VMs, their calls and those that
 * they make. ticks.h and ask.h have what happens at ticks.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua/ask.h"

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

/* Where each call is recorded: co runs on this thread, and is to note its lines
 * from now on. Not busy. */
void lua_sample_lines(struct coroutine *co);
/* Our hook is to be taken off. */
void lua_sample_lines_end(struct coroutine *co);
