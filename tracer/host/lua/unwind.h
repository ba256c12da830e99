/* unwind.h - Lua's part of the stitched stack: whose frames stand where,
 * which have died, coroutines going onto and coming off the thread.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_UNWIND_H
#define WEFT_TRACER_HOST_LUA_UNWIND_H

#include "tracer/host/lua/vm.h"

/* A call on co begins and its caller's frame is not the innermost frame: end
 * the frames of this lua_State that are known to be dead by that, and what
 * stands on them. Busy. */
void lua_stack_heal(struct thread_state *s, const struct coroutine *co,
		    const struct lua_caller *caller, uint64_t now);

/* The call on co with this frame id returns and is not the innermost frame.
 * key: its function, for LuaJIT. 0: it was not on the stack. Busy. */
int lua_stack_return(struct thread_state *s, const struct coroutine *co,
		     uint64_t id, uint64_t key, uint64_t now);

/* All frames of the topmost segment above this depth have ended, those of C
 * functions by returning. Busy. */
void lua_stack_end_late(struct thread_state *s, uint32_t depth, uint64_t now);

/* The frame with this id on co is of the function key now, 0: not known: a tail
 * call that was taken for a call may have been given its caller's frame, which
 * it then stands on. After the return of what was tail-called: one of those it
 * stands on has ended. Both busy. */
void lua_stack_taken_over(struct thread_state *s, const struct coroutine *co,
			  uint64_t id, uint64_t key);
void lua_stack_tail_end(struct thread_state *s, const struct coroutine *co,
			uint64_t now);

/* Does an event on co need the frames it has open? If so the caller walks them
 * (not busy) before it calls lua_stack_seat. */
int lua_stack_needs_walk(const struct thread_state *s,
			 const struct coroutine *co);

/* An event on co shows that it runs: put its frames where they belong. walked:
 * its open frames, outermost first, where lua_stack_needs_walk said so. fresh:
 * the event is a call that nothing on co makes. sp: of the hook. Busy. */
void lua_stack_seat(struct thread_state *s, struct coroutine *co,
		    const struct frame *walked, uint32_t count, int fresh,
		    uint64_t sp, uint64_t now);

/* The last frame of co's body has returned. Busy. */
void lua_stack_body_ended(struct thread_state *s, uint64_t now);

/* Put co onto the thread, with its kept frames or else the walked ones; sp: of
 * the resume; flags: RESUME_INFERRED or 0. Take the topmost coroutine off;
 * flags: of the SUSPEND. Busy. */
void lua_stack_attach(struct thread_state *s, struct coroutine *co,
		      const struct frame *walked, uint32_t count, uint64_t sp,
		      uint32_t flags, uint64_t now);
void lua_stack_detach(struct thread_state *s, uint32_t flags, uint64_t now);

/* Is co on this thread? Are its frames known while it is not? */
int lua_stack_is_on(const struct thread_state *s, const struct coroutine *co);
int lua_stack_has_kept(const struct thread_state *s,
		       const struct coroutine *co);

/* co's frames in the topmost segment have ended. Busy. */
void lua_stack_end_all(struct thread_state *s, const struct coroutine *co,
		       uint64_t now);

/* For the native side: see stack_off, stack_doubt and stack_yielding in
 * stack.h. */
void lua_stack_off(struct thread_state *s, uint64_t now);
void lua_stack_doubt(struct thread_state *s, uint64_t now);
int lua_stack_yielding(const struct thread_state *s);

/* Is this a frame of that coroutine's own? */
INLINE int lua_stack_is_of(const struct frame *f, const struct coroutine *co)
{
	return f->site == (uint64_t)co->L && frame_is_lua(f);
}

#endif
