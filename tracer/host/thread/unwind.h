/* unwind.h - native events that are not the common case: which frames died
 * without a word. Hook-safe; busy. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/shadow_stack.h"

/* A native call whose stack pointer is above the innermost frame's, or on a Lua
 * frame that waits: ends what has died. Returns whether to push the frame;
 * false: it is the C function that Lua just called. */
bool unwind_native_enter(struct thread_state *s, const struct frame *f,
			 uint64_t now);

/* A native return that does not match the innermost frame. sp: the hook's frame
 * address. */
void unwind_native_exit(struct thread_state *s, uint64_t fn, uint64_t site,
			uint64_t sp, uint64_t now);

/* The stack pointer jumps to target (longjmp): native frames below it end, and
 * Lua frames that stand on such a frame in the same segment. Lua's own fate is
 * for the Lua side to decide at its next event. */
void unwind_jump(struct thread_state *s, uint64_t target, uint64_t now);

/* Does a jump to target end this native frame? */
bool unwind_is_below(const struct thread_state *s, const struct frame *f,
		     uint64_t target);

/* Is that jump a coroutine's yield to where it was resumed? Then nothing is to
 * be done: what is native among its frames is dropped when they are put
 * away. */
bool unwind_is_yield(struct thread_state *s, uint64_t target);
