/* lua_side.h - what the native side calls when the Lua side is linked in; each
 * is NULL until the first Lua state of the program is seen, so that a program
 * without Lua pays nothing. All are called with busy set and must be hook-safe.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_LUA_SIDE_H
#define WEFT_TRACER_HOST_THREAD_LUA_SIDE_H

#include "tracer/host/thread/thread_state.h"

/* Write the item of a Lua function (its key has KEY_LUA) into the
 * open chunk; its word in the items, UINT32_MAX: no room. */
extern uint32_t (*lua_side_item)(struct thread_state *s, uint64_t key);

/* A function was named under this index in the open chunk: add what Lua calls
 * it, if it is native and that is known, and whether its returns are told. */
extern void (*lua_side_hint)(struct thread_state *s, uint64_t key,
			     uint32_t index);

/* A chunk was opened: items every chunk should carry. */
extern void (*lua_side_chunk)(struct thread_state *s);

#endif
