/* lua_hook.h - what the files compiled once per version of Lua share.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_HOOK_H
#define WEFT_TRACER_HOST_LUA_HOOK_H

#include "tracer/host/lua_layout.h"
#include "tracer/host/lua_stack.h"

/* A name of this version: lua_hook_event_54. */
#define ABI_PASTE2(name, abi) name##_##abi
#define ABI_PASTE(name, abi) ABI_PASTE2(name, abi)
#define ABI(name) ABI_PASTE(name, WEFT_LUA_ABI)

/* The library's own function of that name. */
#define API(api, name) ((__typeof__(&name))(api)->name)

#define lua_hook_event ABI(lua_hook_event)
#define lua_hook_learn ABI(lua_hook_learn)
#define lua_hook_ask ABI(lua_hook_ask)
#define lua_hook_walk ABI(lua_hook_walk)
#define lua_hook_check ABI(lua_hook_check)
#define lua_hook_abi ABI(lua_hook_abi)

struct CallInfo;

INLINE struct lua_cached *lua_hook_cached(struct lua_local *me, uint64_t at)
{
	return &me->cache[(at * UINT64_C(0x9e3779b97f4a7c15)) >>
			  (64 - LUA_CACHE_BITS)];
}

/* The key of the frame's function by its layout, 0: not seen by this thread. */
INLINE uint64_t lua_hook_key(struct lua_local *me, uint64_t frame, int *is_c)
{
	const uint64_t at = layout_callee(frame, is_c);
	const struct lua_cached *const c = lua_hook_cached(me, at);
	uint64_t lines;

	if (unlikely(c->at != at))
		return 0;
	if (*is_c)
		return c->key;
	lines = layout_word(at + PROTO_LINES);
	if (unlikely(c->lines != lines ||
		     c->source != layout_word(at + PROTO_SOURCE)))
		return 0;
	/* Main chunks all have lines 0-0; others' addresses were never seen to
	 * be taken by another of the same lines and source. */
	if (unlikely((uint32_t)lines == 0) && c->text != layout_text(c->source))
		return 0;
	return c->key;
}

/* The hook; a lua_Hook. */
void lua_hook_event(lua_State *L, lua_Debug *ar);

/* The same as lua_hook_key by asking Lua, and remembering. Not busy. */
uint64_t lua_hook_learn(struct lua_local *me, const struct coroutine *co,
			struct CallInfo *frame, int *is_c);

/* By the public API alone. Not busy. */
uint64_t lua_hook_ask(const struct coroutine *co, struct CallInfo *frame,
		      int *is_c);

uint32_t lua_hook_walk(struct lua_local *me, const struct coroutine *co,
		       int level, struct frame *to, uint32_t room);
int lua_hook_check(const struct weft_lua_api *api);

extern const struct lua_abi lua_hook_abi;

#endif
