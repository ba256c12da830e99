/* attach.c - a host with Lua linked in statically, which names its Lua
 * state to weft; prints what it called. Built by tests/e2e/lua-attach.sh.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracer/host/weft.h"

#define PLAIN __attribute__((noinline, noclone))

int l_work(lua_State *L);
int handle(lua_State *L, int i);
void settle(int i);
static long settled;

PLAIN void settle(int i)
{
	settled += i;
}

PLAIN int l_work(lua_State *L)
{
	settle(1);
	lua_pushvalue(L, 1);
	lua_call(L, 0, 0);
	return 0;
}

PLAIN int handle(lua_State *L, int i)
{
	int failed;

	lua_getglobal(L, "handle");
	lua_pushinteger(L, i);
	failed = lua_pcall(L, 1, 0, 0) != LUA_OK;
	lua_settop(L, 0);
	settle(failed);
	return failed;
}

static const char script[] =
	"local made = 0\n"
	"local function leaf() return 1 end\n"
	"local function body(n) leaf() coroutine.yield() work(leaf)"
	" if n % 5 == 0 then error('in') end end\n"
	"local function tail(n) if n == 0 then return leaf() end"
	" return tail(n - 1) end\n"
	"function handle(n)\n"
	"  local co = coroutine.create(body)\n"
	"  coroutine.resume(co, n) work(leaf) tail(3) coroutine.resume(co)\n"
	"  pcall(error, 'x') if n % 3 == 0 then error('out') end\n"
	"end\n";

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 30;
	lua_State *const L = luaL_newstate();
	int failed = 0;

	luaL_openlibs(L);
	lua_register(L, "work", l_work);
	printf("attach %d\n", weft_lua_attach(L));
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=script") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		printf("%s\n", lua_tostring(L, -1));
	for (int i = 0; i < n; i++)
		failed += handle(L, i);
	printf("failed %d\n", failed);
	printf("again %d\n", weft_lua_attach(L));
	printf("detach %d\n", weft_lua_detach(L));
	handle(L, 1);
	lua_close(L);
	return 0;
}
