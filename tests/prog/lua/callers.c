/* callers.c - C functions that Lua calls, and that count themselves: callers.h.
 * SPDX-License-Identifier: MIT */
#include "tests/prog/lua/callers.h"

#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

void deeper(unsigned n)
{
	volatile unsigned sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += i;
}

int work(lua_State *L)
{
	count(L, "work");
	deeper(50);
	return 0;
}

int raise_error(lua_State *L)
{
	deeper(5);
	return luaL_error(L, "on purpose");
}

/* A VM's memory, by a function with hooks: Lua calls it in the midst of its
 * own work. */
void *allocate(void *ud, void *p, size_t old, size_t size)
{
	(void)ud;
	(void)old;
	if (size != 0)
		return realloc(p, size);
	free(p);
	return NULL;
}

/* Without hooks: only what it calls is recorded. */
SILENT static int nap(lua_State *L)
{
	const struct timespec ms = { 0, 1000000 };

	count(L, "nanosleep");
	nanosleep(&ms, NULL);
	return 0;
}

SILENT static int take(lua_State *L)
{
	static void *volatile kept;

	count(L, "take");
	kept = malloc((size_t)lua_tointeger(L, 1));
	return 0;
}

static jmp_buf out;

SILENT static int jumps(lua_State *L)
{
	(void)L;
	longjmp(out, 1);
}

/* The outermost call of Lua is left by a jump: its functions stay in the state,
 * and are not open. */
SILENT static void leave(lua_State *L)
{
	const char *const text = "local function f() jumps() end f()";
	lua_State *const left = luaL_newstate();

	lua_register(left, "jumps", jumps);
	luaL_loadbuffer(left, text, strlen(text), "@callers.lua");
	if (setjmp(out) == 0)
		lua_call(left, 0, 0);
	work(L);
}

void run(lua_State *L, const char *path, const char *times)
{
	lua_pushinteger(L, atoi(times));
	lua_setglobal(L, "times");
	if (luaL_loadfile(L, path) || lua_pcall(L, 0, 0, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
}

int main(int argc, char **argv)
{
	lua_State *const L = argc > 3 ? lua_newstate(allocate, NULL) :
			     luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "work", work);
	lua_register(L, "again", again);
	lua_register(L, "raise", raise_error);
	lua_register(L, "nap", nap);
	lua_register(L, "take", take);
	leave(L);
	if (argc > 1)
		run(L, argv[1], argc > 2 ? argv[2] : "1");
	leave(L);
	lua_close(L);
	print();
	return 0;
}
