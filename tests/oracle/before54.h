/* before54.h - the random program's Lua 5.4, for 5.2 and 5.3.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_BEFORE54_H
#define WEFT_TESTS_BEFORE54_H

#include <lua.h>

#if LUA_VERSION_NUM < 504
__attribute__((no_instrument_function))
static inline int resume_as_54(lua_State *co, lua_State *from, int args,
			       int *results)
{
	const int status = lua_resume(co, from, args);

	*results = status <= LUA_YIELD ? lua_gettop(co) : 0;
	return status;
}
#define lua_resume(co, from, args, results)                                    \
	resume_as_54(co, from, args, results)
#define lua_newuserdatauv(L, size, values) lua_newuserdata(L, size)
#undef lua_gc
#define lua_gc(L, what) (lua_gc)(L, what, 0)
#endif

#if LUA_VERSION_NUM == 502
typedef int lua_KContext;
/* How many calls on it cannot be yielded across: of 5.2 only the lua_State
 * itself tells (Debian's, 64 bits). */
#define lua_isyieldable(L) (((const unsigned short *)(L))[34] == 0)
#endif

#endif
