/* compat.h - calls of Lua's C API whose form differs between its versions.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/vm.h"
#include "tracer/host/lua_abi/layout.h"

#include <limits.h>

/* The library's own function of that name. */
#define API(api, name) ((__typeof__(&name))(api)->name)

/* LUA_HOOKTAILCALL, and in 5.1 LUA_HOOKTAILRET. */
enum { HOOK_TAIL = 4 };

/* The length of a table; a library of an earlier weft's table may lack it. */
#if LUA_VERSION_NUM >= 502
#define API_LENGTH(api) API(api, lua_rawlen)
#else
#define API_LENGTH(api) API(api, lua_objlen)
#endif

/* The registry's index, which depends on how deep a stack this library was
 * built to allow: the highest index that does not count from the stack's top.
 * A program's table of an earlier weft's cannot tell. */
INLINE int compat_registry(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	int is = INT_MIN, is_not = -1;

	while (api->lua_absindex && is + 1 < is_not) {
		const int i = is + (is_not - is) / 2;

		if (API(api, lua_absindex)(L, i) == i)
			is = i;
		else
			is_not = i;
	}
	return api->lua_absindex ? is : LUA_REGISTRYINDEX;
#else
	(void)api;
	(void)L;
	return LUA_REGISTRYINDEX;
#endif
}

INLINE lua_State *compat_newstate(const struct weft_lua_api *api,
				  lua_Alloc allocate, void *ud)
{
#if LUA_VERSION_NUM >= 505
	return API(api, lua_newstate)(allocate, ud, 0);
#else
	return API(api, lua_newstate)(allocate, ud);
#endif
}

/* Call what lies on top of the stack, without arguments and results. */
INLINE void compat_call(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	API(api, lua_callk)(L, 0, 0, 0, NULL);
#else
	API(api, lua_call)(L, 0, 0);
#endif
}

/* The same, protected and with arguments. 0: no error. */
INLINE int compat_pcall(const struct weft_lua_api *api, lua_State *L, int args)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_pcallk)(L, args, 0, 0, 0, NULL);
#else
	return API(api, lua_pcall)(L, args, 0, 0);
#endif
}

/* Goes on where compat_pcall_on was called. */
#if LUA_VERSION_NUM >= 503
INLINE int compat_go_on(lua_State *L, int status, lua_KContext at)
{
	(void)L;
	(void)status;
	(void)at;
	return 0;
}
#elif LUA_VERSION_NUM == 502
INLINE int compat_go_on(lua_State *L)
{
	(void)L;
	return 0;
}
#endif

/* compat_pcall without arguments, as the last act of a C function without
 * results: from 5.2 on, what is called may yield. */
INLINE void compat_pcall_on(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	API(api, lua_pcallk)(L, 0, 0, 0, 0, compat_go_on);
#else
	compat_pcall(api, L, 0);
#endif
}

/* Call f, protected, without arguments and results. Nothing fails outside of f:
 * from 5.2 on a function without upvalues needs no memory. */
INLINE int compat_protected(const struct weft_lua_api *api, lua_State *L,
			    lua_CFunction f)
{
#if WEFT_LUA_ABI == 51
	lua_Debug d;

	/* After an error, 5.1 goes on at the program counter saved in the
	 * frame, which is not set yet in a call event. Asking for the line
	 * sets it. */
	if (API(api, lua_getstack)(L, 0, &d))
		API(api, lua_getinfo)(L, "l", &d);
#endif
#if LUA_VERSION_NUM >= 502
	API(api, lua_pushcclosure)(L, f, 0);
	return compat_pcall(api, L, 0);
#else
	return API(api, lua_cpcall)(L, f, NULL);
#endif
}

INLINE int compat_load(const struct weft_lua_api *api, lua_State *L,
		       lua_Reader reader, void *ud, const char *name)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_load)(L, reader, ud, name, "t");
#else
	return API(api, lua_load)(L, reader, ud, name);
#endif
}

/* Yield without results. */
INLINE int compat_yield(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	return API(api, lua_yieldk)(L, 0, 0, NULL);
#else
	return API(api, lua_yield)(L, 0);
#endif
}

/* Resume co from the coroutine from, without arguments. */
INLINE int compat_resume(const struct weft_lua_api *api, lua_State *co,
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
INLINE size_t compat_source_length(const lua_Debug *d)
{
#if LUA_VERSION_NUM >= 504
	return d->srclen;
#else
	return strlen(d->source);
#endif
}

/* What lua_getinfo needs to describe the frame with this id. */
INLINE lua_Debug compat_frame(uint64_t id)
{
	lua_Debug d = { .event = 0 };

	d.i_ci = (__typeof__(d.i_ci))id;
	return d;
}
