/* linked.c - a host that knows nothing of weft: coroutines resumed by Lua and
 * by the host, errors, hooks of its own; prints what they counted. Built by
 * tests/e2e/lua-static.sh for each version of Lua.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#if LUA_VERSION_NUM >= 504
#define RESUME(co, from, n) lua_resume(co, from, n, &(int){ 0 })
#elif LUA_VERSION_NUM >= 502
#define RESUME(co, from, n) lua_resume(co, from, n)
#else
#define RESUME(co, from, n) lua_resume(co, n)
#endif

static const char script[] =
	"local function leaf() return 1 end\n"
	"local function fails(n) leaf() if n % 2 == 0 then error('x') end end\n"
	"local function body(n) leaf() coroutine.yield() fails(n) end\n"
	"function handle(n) local co = coroutine.create(body)\n"
	"  coroutine.resume(co, n) leaf() coroutine.resume(co)\n"
	"  local w = coroutine.wrap(body) w(1) w() pcall(fails, n)\n"
	"  for _ in ipairs({n, n}) do end end\n"
	"function task(n) leaf() coroutine.yield() leaf() end\n"
	"function nothing() end\n"
	"function hooked() local seen = 0\n"
	"  debug.sethook(function() seen = seen + 1 end, 'c')\n"
	"  leaf() leaf() local own = debug.gethook() ~= nil\n"
	"  debug.sethook() leaf()\n"
	"  return own and debug.gethook() == nil and seen end\n";

static int counted;

static void count(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
	counted++;
}

static int work(lua_State *L)
{
	lua_pushvalue(L, 1);
	lua_call(L, 0, 0);
	return 0;
}

static int run_task(lua_State *L)
{
	lua_State *const co = lua_newthread(L);
	int resumes = 0;

	do {
		if (resumes == 0)
			lua_getglobal(co, "task");
		resumes++;
	} while (RESUME(co, L, 0) == 1);
	lua_settop(L, 0);
	return resumes;
}

int main(void)
{
	lua_State *const L = luaL_newstate();
	int resumes = 0;

	luaL_openlibs(L);
	lua_register(L, "work", work);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=script") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		printf("%s\n", lua_tostring(L, -1));
	for (int i = 0; i < 100; i++) {
		lua_getglobal(L, "handle");
		lua_pushinteger(L, i);
		if (lua_pcall(L, 1, 0, 0) != 0)
			printf("%s\n", lua_tostring(L, -1));
		resumes += run_task(L);
	}
	lua_sethook(L, count, LUA_MASKCALL, 0);
	printf("%d", lua_gethook(L) == count && lua_gethookmask(L) ==
	       LUA_MASKCALL);
	if (luaL_dostring(L, "work(nothing)") != 0)
		printf("%s\n", lua_tostring(L, -1));
	lua_sethook(L, NULL, 0, 0);
	printf(" %d %d", counted, lua_gethook(L) == NULL);
	lua_getglobal(L, "hooked");
	lua_pcall(L, 0, 1, 0);
	printf(" %d %d\n", (int)lua_tointeger(L, -1), resumes);
	lua_getglobal(L, "nothing");
	lua_call(L, 0, 0);
	lua_close(L);
	return 0;
}
