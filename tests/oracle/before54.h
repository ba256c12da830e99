/* before54.h - the random program's Lua 5.4, for the versions before it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <lua.h>
#include <lauxlib.h>

#if LUA_VERSION_NUM == 501 && !defined(LUA_OK)
#define IS_51 1
#define LUA_OK 0
#else
#define IS_51 0
#endif

#define IS_JIT (LUA_VERSION_NUM == 501 && !IS_51)

#if LUA_VERSION_NUM < 504
__attribute__((no_instrument_function))
static inline int resume_as_54(lua_State *co, lua_State *from, int args,
			       int *results)
{
#if LUA_VERSION_NUM >= 502
	const int status = lua_resume(co, from, args);
#else
	const int status = lua_resume(co, args);

	(void)from;
#endif
	*results = status <= LUA_YIELD ? lua_gettop(co) : 0;
	return status;
}
#define lua_resume(co, from, args, results)                                    \
	resume_as_54(co, from, args, results)
#define lua_newuserdatauv(L, size, values) lua_newuserdata(L, size)
#undef lua_gc
#define lua_gc(L, what) (lua_gc)(L, what, 0)
#endif

/* Whether it can yield the lua_State itself tells, where the API does not: by
 * how many calls on it cannot be yielded across (Debian's, 64 bits). */
#if LUA_VERSION_NUM == 502
typedef int lua_KContext;
#define lua_isyieldable(L) (((const unsigned short *)(L))[34] == 0)
#elif IS_51
#define lua_isyieldable(L) (!lua_pushthread(L) ? lua_pop(L, 1),                \
	((const unsigned short *)(L))[48] <=                                   \
	((const unsigned short *)(L))[49] : (lua_pop(L, 1), 0))
#endif

#if LUA_VERSION_NUM == 501
typedef long lua_KContext;
#define lua_callk(L, args, results, context, k) lua_call(L, args, results)
#define lua_pcallk(L, args, results, handler, context, k)                      \
	lua_pcall(L, args, results, handler)
#define luaL_setfuncs(L, funcs, upvalues) luaL_register(L, NULL, funcs)
#endif
