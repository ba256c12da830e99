/* compat.h - calls of Lua's API whose form differs between its versions. Seen
 * by files that are compiled once per version.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ABI_COMPAT_H
#define WEFT_TRACER_HOST_LUA_ABI_COMPAT_H

#include "tracer/host/lua_abi/hook.h"

/* No arguments, no results. */
INLINE void ways_call(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	API(api, lua_callk)(L, 0, 0, 0, NULL);
#else
	API(api, lua_call)(L, 0, 0);
#endif
}

/* No results, no handler. */
INLINE int ways_pcall(const struct weft_lua_api *api, lua_State *L, int args)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_pcallk)(L, args, 0, 0, 0, NULL);
#else
	return API(api, lua_pcall)(L, args, 0, 0);
#endif
}

/* A function of ours, without arguments and results. Whatever fails, fails in
 * there: from 5.2 on a function without upvalues needs no memory. */
INLINE int ways_protected(const struct weft_lua_api *api, lua_State *L,
			  lua_CFunction f)
{
#if WEFT_LUA_ABI == 51
	lua_Debug d;

	/* After an error, 5.1 goes on where the frame says that it is, which
	 * as yet no one has written there in a call's event: this does. */
	if (API(api, lua_getstack)(L, 0, &d))
		API(api, lua_getinfo)(L, "l", &d);
#endif
#if LUA_VERSION_NUM >= 502
	API(api, lua_pushcclosure)(L, f, 0);
	return ways_pcall(api, L, 0);
#else
	return API(api, lua_cpcall)(L, f, NULL);
#endif
}

INLINE int ways_load(const struct weft_lua_api *api, lua_State *L,
		     lua_Reader reader, void *ud, const char *name)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_load)(L, reader, ud, name, "t");
#else
	return API(api, lua_load)(L, reader, ud, name);
#endif
}

/* Nothing is passed. */
INLINE int ways_yield(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_yieldk)(L, 0, 0, NULL);
#else
	return API(api, lua_yield)(L, 0);
#endif
}

INLINE int ways_resume(const struct weft_lua_api *api, lua_State *co,
		       lua_State *from)
{
#if LUA_VERSION_NUM >= 504
	int results;

	return API(api, lua_resume)(co, from, 0, &results);
#elif LUA_VERSION_NUM >= 502
	return API(api, lua_resume)(co, from, 0);
#else
	(void)from;
	return API(api, lua_resume)(co, 0);
#endif
}

/* Bytes of the source that lua_getinfo gave. */
INLINE size_t ways_source_length(const lua_Debug *d)
{
#if LUA_VERSION_NUM >= 504
	return d->srclen;
#else
	return strlen(d->source);
#endif
}

/* A frame for lua_getinfo to tell of. */
INLINE lua_Debug ways_frame(uint64_t id)
{
	lua_Debug d = { .event = 0 };

	d.i_ci = (__typeof__(d.i_ci))id;
	return d;
}

#endif
