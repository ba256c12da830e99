/* lua_any.h - one C API for the tests, whatever the version of Lua they are
 * compiled for. SPDX-License-Identifier: MIT */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
/* Before LUA_OK, by which it tells LuaJIT from 5.1, is defined below. */
#include "tracer/host/weft.h"

#if LUA_VERSION_NUM == 501 && defined(LUA_OK)
#define ANY_IS_JIT 1
#else
#define ANY_IS_JIT 0
#endif
#define ANY_IS_51 (LUA_VERSION_NUM == 501 && !ANY_IS_JIT)
#ifndef LUA_OK
#define LUA_OK 0
#endif

static inline lua_State *any_newstate(lua_Alloc allocate)
{
#if LUA_VERSION_NUM >= 505
	return lua_newstate(allocate, NULL, 0);
#else
	return lua_newstate(allocate, NULL);
#endif
}

static inline int any_resume(lua_State *co, lua_State *from, int *results)
{
#if LUA_VERSION_NUM >= 504
	return lua_resume(co, from, 0, results);
#elif LUA_VERSION_NUM >= 502
	const int status = lua_resume(co, from, 0);
#else
	const int status = lua_resume(co, 0);
#endif
#if LUA_VERSION_NUM < 504
	(void)from;
	*results = status <= LUA_YIELD ? lua_gettop(co) : 0;
	return status;
#endif
}

/* The frame's id: LuaJIT adds what it needs itself. */
static inline unsigned long any_id(const lua_Debug *d)
{
	return ANY_IS_JIT ? (unsigned long)d->i_ci & 0xffff :
	       (unsigned long)d->i_ci;
}

/* A level that stands for a tail call, not for a frame. */
static inline int any_is_lost_tail(const lua_Debug *d)
{
	return ANY_IS_51 && any_id(d) == 0;
}

/* Is this the call event of what is tail-called, whose caller still has its
 * frame? Of 5.1 the event does not tell. */
static inline int any_is_tail(int event)
{
	return (LUA_VERSION_NUM == 502 || LUA_VERSION_NUM == 503) &&
	       event == 4;
}
