/* learn.c - where Lua is part of a program built with hooks, all in it
 * that is at work around an event is called once, on a Lua state that nobody
 * sees, so that quiet.h knows it. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/compat.h"

static THREAD_LOCAL const struct weft_lua_api *learned;

/* Calls that Lua makes itself, in each of its ways, and errors. */
static const char script[] =
	"local meta, call, protect, yield, resume = ...\n"
	"local function f(a, b) return a end local function yes() return true "
	"end\n"
	"local mt = {__index = f, __newindex = f, __call = f, __add = f, "
	"__unm = f, __concat = f, __lt = yes, __le = yes, __eq = yes, "
	"__len = f, __gc = f, __close = f}\n"
	"local m, n = meta({}, mt), meta({}, mt)\n"
	"local x = m.a, m(1), m + 1, -m, m .. 'a', m < n, m <= n, m == n\n"
	"m.b = 1 x = #m\n"
	"for k in function(s, c) if not c then return 1 end end do x = k end\n"
	"local function tail(...) return f(...) end tail(1) f(tail(2, 3))\n"
	"local function deep(i) if i > 0 then return 1 + deep(i - 1) end "
	"return 0 end deep(150)\n"
	"call(f) call(function() call(f) protect(f) end)\n"
	"protect(function() x = x.y.z.u end) protect(function() x() end)\n"
	"resume(function() yield() call(f) yield() end)\n"
	"resume(function() protect(yield) protect(f) f(yield()) end)\n"
	"resume(function() yield() x = nil + 1 end)\n"
	"for i = 1, 500 do x = {i .. 'a', function() return i end} x[2]() "
	"end\n";

static int meta(lua_State *L)
{
	API(learned, lua_settop)(L, 2);
	API(learned, lua_setmetatable)(L, 1);
	return 1;
}

static int call(lua_State *L)
{
	API(learned, lua_pushvalue)(L, 1);
	ways_call(learned, L);
	return 0;
}

static int protect(lua_State *L)
{
	API(learned, lua_pushvalue)(L, 1);
	ways_pcall(learned, L, 0);
	return 0;
}

static int yield(lua_State *L)
{
	return ways_yield(learned, L);
}

/* A coroutine, to its third stop or its end. */
static int resume(lua_State *L)
{
	lua_State *const co = API(learned, lua_newthread)(L);

	API(learned, lua_pushvalue)(L, 1);
	API(learned, lua_xmove)(L, co, 1);
	for (int i = 0; i < 3; i++) {
		if (i == 0 || API(learned, lua_status)(co) == LUA_YIELD)
			ways_resume(learned, co, L);
	}
	return 0;
}

/* What weft asks in hooks. */
static void ask(lua_State *L, lua_Debug *ar)
{
	lua_Debug d;

	API(learned, lua_getinfo)(L, "nSlf", ar);
	(void)API(learned, lua_topointer)(L, -1);
	(void)API(learned, lua_tocfunction)(L, -1);
	(void)API(learned, lua_iscfunction)(L, -1);
	API(learned, lua_settop)(L, -2);
	for (int level = 0; API(learned, lua_getstack)(L, level, &d); level++)
		;
	(void)API(learned, lua_status)(L);
	(void)API(learned, lua_gethook)(L);
	(void)API(learned, lua_gethookmask)(L);
	(void)API(learned, lua_gethookcount)(L);
}

static void look_through(lua_State *L, int table)
{
	API(learned, lua_pushnil)(L);
	while (API(learned, lua_next)(L, table)) {
		(void)API(learned, lua_type)(L, -2);
		API(learned, lua_settop)(L, -2);
	}
}

struct text { const char *at; size_t size; };

static const char *read_text(lua_State *L, void *ud, size_t *size)
{
	struct text *const t = ud;

	(void)L;
	*size = t->size;
	t->size = 0;
	return t->at;
}

void lua_hook_learn(const struct weft_lua_api *api, lua_State *L)
{
	static int (*const functions[])(lua_State *) = {
		meta, call, protect, yield, resume,
	};
	const int count = (int)(sizeof(functions) / sizeof(functions[0]));
	struct text t = { script, sizeof(script) - 1 };

	if (!api->lua_setmetatable)
		return;
	learned = api;
	API(api, lua_sethook)(L, ask, LUA_MASKCALL | LUA_MASKRET, 0);
	if (ways_load(api, L, read_text, &t, "=weft") == 0) {
		for (int i = 0; i < count; i++)
			API(api, lua_pushcclosure)(L, functions[i], 0);
		ways_pcall(api, L, count);
	}
	look_through(L, LUA_REGISTRYINDEX);
	API(api, lua_sethook)(L, NULL, 0, 0);
	learned = NULL;
}
