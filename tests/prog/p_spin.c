/* p_spin.c - functions that spin for known shares of the time, native ones and
 * Lua ones, in a coroutine too; prints what its own clock says of each:
 * "times SELF TOTAL SUSPENDED NAME", in ns.
 * flags: -finstrument-functions -I/usr/include/lua5.4 -llua5.4
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define PLAIN __attribute__((noinline, noclone))
#define OUTSIDE __attribute__((no_instrument_function))

OUTSIDE static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

OUTSIDE static int64_t spin(int64_t ns)
{
	const int64_t start = now();

	while (now() - start < ns)
		;
	return now() - start;
}

/* The clock's own account: an entry to exit, less what callees took. */
static struct tally { const char *name; int64_t self, total, suspended; }
	tallies[16];
enum { OUTER, MIDDLE, INNER, L_HEAVY, L_LIGHT, L_CORO, C_SPIN, TALLIES };

void outer(void), middle(void), inner(void);

PLAIN void inner(void)
{
	const int64_t t = spin(200000);

	tallies[INNER].self += t;
	tallies[INNER].total += t;
}

PLAIN void middle(void)
{
	const int64_t start = now();

	const int64_t t = spin(500000);

	inner();
	inner();
	tallies[MIDDLE].self += t;
	tallies[MIDDLE].total += now() - start;
}

PLAIN void outer(void)
{
	const int64_t start = now();

	const int64_t t = spin(300000);

	middle();
	middle();
	tallies[OUTER].self += t;
	tallies[OUTER].total += now() - start;
}

/* clock() for Lua: ns. Not instrumented; what it takes is Lua's. */
OUTSIDE static int l_now(lua_State *L)
{
	lua_pushinteger(L, now());
	return 1;
}

OUTSIDE static int l_tally(lua_State *L)
{
	struct tally *t = &tallies[lua_tointeger(L, 1)];

	t->self += lua_tointeger(L, 2);
	t->total += lua_tointeger(L, 3);
	t->suspended += lua_tointeger(L, 4);
	return 0;
}

/* The loops are long, since the first use of a page, which is in no function's
 * own account, may take 25 us on a virtual machine. */
static const char script[] =
"local now, tally, HEAVY, LIGHT, CORO = ...\n"
"local yield = coroutine.yield\n"
"local function light()\n"
"  local start, x = now(), 0\n"
"  for i = 1, 100000 do x = x + i end\n"
"  local t = now() - start\n"
"  tally(LIGHT, t, t, 0)\n"
"end\n"
"local function heavy()\n"
"  local start, x = now(), 0\n"
"  for i = 1, 500000 do x = x + i end\n"
"  local self = now() - start\n"
"  light()\n"
"  light()\n"
"  tally(HEAVY, self, now() - start, 0)\n"
"end\n"
"local function body()\n"
"  for _ = 1, 40 do\n"
"    local start, x = now(), 0\n"
"    for i = 1, 250000 do x = x + i end\n"
"    local t = now() - start\n"
"    local left = now()\n"
"    yield()\n"
"    tally(CORO, t, t, now() - left)\n"
"  end\n"
"end\n"
"local co = coroutine.create(body)\n"
"for _ = 1, 41 do\n"
"  coroutine.resume(co)\n"
"  heavy()\n"
"end\n";

OUTSIDE static void run_lua(void)
{
	lua_State *L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "@spin.lua"))
		return;
	lua_pushcfunction(L, l_now);
	lua_pushcfunction(L, l_tally);
	lua_pushinteger(L, L_HEAVY);
	lua_pushinteger(L, L_LIGHT);
	lua_pushinteger(L, L_CORO);
	if (lua_pcall(L, 5, 0, 0))
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
	lua_close(L);
}

OUTSIDE int main(void)
{
	static const char *const names[TALLIES] = {
		"outer", "middle", "inner", "heavy", "light", "body"
	};

	for (int i = 0; i < 150; i++)
		outer();
	run_lua();
	for (int i = 0; i < C_SPIN; i++)
		printf("times %lld %lld %lld %s\n", (long long)tallies[i].self,
		       (long long)tallies[i].total,
		       (long long)tallies[i].suspended, names[i]);
	return 0;
}
