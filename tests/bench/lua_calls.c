/* lua_calls.c - "lua_calls call|pair N [clock]": N Lua calls, or N resume +
 * yield pairs, timed by itself: "ns-per-one N". With "clock" under a hook of its
 * own that only reads the clock: what weft is compared with.
 * SPDX-License-Identifier: MIT */
#include "tests/bench/bench.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

static unsigned long long sum;

static void look(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
	sum += __rdtsc();
}

static const char calls[] =
	"local n = ... "
	"local function f(x) return x + 1 end "
	"local function g(x) local y = f(x) return y end "
	"local s = 0 for i = 1, n // 2 do s = s + g(i) end return s";
static const char pairs_[] =
	"local n = ... "
	"local yield, resume = coroutine.yield, coroutine.resume "
	"local co = coroutine.create(function() while true do yield() end end) "
	"for i = 1, n do resume(co) end";

int main(int argc, char **argv)
{
	const long n = argc > 2 ? atol(argv[2]) : 1000000;
	lua_State *L = luaL_newstate();

	pin();
	luaL_openlibs(L);
	if (argc > 3)
		lua_sethook(L, look, LUA_MASKCALL | LUA_MASKRET, 0);
	luaL_loadstring(L, argc > 1 && strcmp(argv[1], "pair") == 0 ? pairs_ :
			calls);
	lua_pushinteger(L, n);
	const double start = seconds();

	if (lua_pcall(L, 1, 0, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		return 1;
	}
	printf("%.3f %ld\n", (seconds() - start) * 1e9 / (double)n, n);
	lua_close(L);
	return 0;
}
