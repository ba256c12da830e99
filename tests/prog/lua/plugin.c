/* plugin.c - a shared object with a Lua of its own: runs a script that
 * makes coroutines, errors and hooks of its own, and gives what it counted. For
 * any version of Lua; built by tests/e2e/lua-versions.sh.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#if LUA_VERSION_NUM == 501 && defined(LUA_OK)
#define NAME "=LuaJIT"
#else
#define NAME "=" LUA_VERSION
#endif

int plugin_run(int times);

static const char script[] =
	"local n = 0\n"
	"local function f(i) n = n + 1 if i % 5 == 0 then error('x') end end\n"
	"local co = coroutine.wrap(function() while true do\n"
	"  pcall(f, n) coroutine.yield(n) end end)\n"
	"for i = 1, 100 do pcall(f, i) co()\n"
	"  coroutine.wrap(function() f(1) coroutine.yield() end)() end\n"
	"for _ in ipairs({1}) do end\n"
	"local seen = 0\n"
	"debug.sethook(function() seen = seen + 1 end, 'c')\n"
	"for i = 1, 10 do f(1) end debug.sethook()\n"
	"return n * 1000 + (seen > 9 and 1 or 0)\n";

int plugin_run(int times)
{
	int sum = 0;

	for (int i = 0; i < times; i++) {
		lua_State *const L = luaL_newstate();

		luaL_openlibs(L);
		if (luaL_loadbuffer(L, script, sizeof(script) - 1, NAME) != 0 ||
		    lua_pcall(L, 0, 1, 0) != 0)
			printf("%s\n", lua_tostring(L, -1));
		sum += (int)lua_tonumber(L, -1);
		lua_close(L);
	}
	return sum;
}
