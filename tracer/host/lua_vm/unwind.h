/* unwind.h - the ends of Lua frames on the shadow stack, as Lua's events show
 * them. All busy. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"

/* A call on co begins, and its caller's frame is not the innermost one: end the
 * frames of this lua_State that are dead by that, and what stands on them. */
void lua_unwind_call(struct thread_state *s, const struct coroutine *co,
		     const struct lua_caller *caller, uint64_t now);

/* The call on co with this frame id returns and is not the innermost frame.
 * key: its function, for LuaJIT. false: it was not on the stack. */
bool lua_unwind_return(struct thread_state *s, const struct coroutine *co,
		       uint64_t id, uint64_t key, uint64_t now);

/* All frames of the topmost segment above this depth have ended, those whose
 * returns are untold by returning. */
void lua_unwind_above(struct thread_state *s, uint32_t depth, uint64_t now);

/* All frames of co in the topmost segment have ended. */
void lua_unwind_all(struct thread_state *s, const struct coroutine *co,
		    uint64_t now);

/* 5.1 without the layout: a tail call is taken for a call, and may have been
 * given its caller's frame, which it then stands on. The frame with this id on
 * co runs the function key now, 0: not known. */
void lua_unwind_taken_over(struct thread_state *s, const struct coroutine *co,
			   uint64_t id, uint64_t key);

/* What was tail-called so has returned: one of the calls it stood on has
 * ended. */
void lua_unwind_tail_end(struct thread_state *s, const struct coroutine *co,
			 uint64_t now);
