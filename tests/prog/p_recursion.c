/* p_recursion.c - functions that call themselves, each other, and themselves by
 * way of Lua and out of coroutines. Prints "CALLER CALLEE CALLS RECURSIVE" for
 * each pair, as it counted them itself.
 * flags: -finstrument-functions -I/usr/include/lua5.4 -llua5.4
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <string.h>

enum who { MAIN, FIB, EVEN, ODD, DESCEND, WALK, KINDS };
static const char *const names[] = { "main", "fib", "is_even", "is_odd",
				     "descend", "walk" };
static unsigned calls[KINDS][KINDS], recursive[KINDS][KINDS], open[KINDS];

#define SILENT __attribute__((no_instrument_function))

static SILENT void enter(enum who from, enum who to)
{
	calls[from][to]++;
	recursive[from][to] += open[to]++ > 0;
}

static unsigned fib(unsigned n, enum who from)
{
	unsigned result = n;

	enter(from, FIB);
	if (n > 1)
		result = fib(n - 1, FIB) + fib(n - 2, FIB);
	open[FIB]--;
	return result;
}

static int is_odd(unsigned n, enum who from);

static int is_even(unsigned n, enum who from)
{
	int result;

	enter(from, EVEN);
	result = n == 0 || is_odd(n - 1, EVEN);
	open[EVEN]--;
	return result;
}

static int is_odd(unsigned n, enum who from)
{
	int result;

	enter(from, ODD);
	result = n != 0 && is_even(n - 1, ODD);
	open[ODD]--;
	return result;
}

/* Called by Lua with a number and a function, which it calls with the number
 * less 1. */
static int descend(lua_State *L)
{
	const lua_Integer n = lua_tointeger(L, 1);
	/* The walk that the script called is open, too. */
	const unsigned is_first = open[DESCEND] == 0;

	open[WALK] += is_first;
	enter(WALK, DESCEND);
	if (n > 0) {
		enter(DESCEND, WALK);
		lua_pushvalue(L, 2);
		lua_pushinteger(L, n - 1);
		lua_call(L, 1, 0);
		open[WALK]--;
	}
	open[DESCEND]--;
	open[WALK] -= is_first;
	return 0;
}

/* Twice on the thread itself, then in a coroutine: nothing of it is open where
 * that is resumed. */
static const char script[] =
	"local function walk(n) descend(n, walk) end\n"
	"local function body() walk(3) end\n"
	"walk(5) walk(0) "
	"local co = coroutine.create(body) "
	"coroutine.resume(co) "
	"assert(coroutine.status(co) == 'dead')";

static SILENT void run_script(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "descend", descend);
	if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK ||
	    lua_pcall(L, 0, 0, 0) != LUA_OK)
		puts(lua_tostring(L, -1));
	lua_close(L);
}

int main(void)
{
	unsigned sum = fib(15, MAIN) + fib(0, MAIN);

	sum += (unsigned)is_even(100, MAIN) + (unsigned)is_odd(7, MAIN);
	run_script();
	for (int from = 0; from < KINDS; from++)
		for (int to = 0; to < KINDS; to++)
			if (calls[from][to] > 0)
				printf("%s %s %u %u\n", names[from], names[to],
				       calls[from][to], recursive[from][to]);
	return sum == 0;
}
