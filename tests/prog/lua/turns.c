/* turns.c - what turns.lua needs of C: a module of an interpreter and, with
 * -DHOST, a program that runs the script and is its own native place.
 * "turns SCRIPT ARGUMENT...". Built by tests/e2e/turns.sh.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#pragma weak weft_start
#pragma weak weft_status
#pragma weak weft_stop

#define UNSEEN __attribute__((no_instrument_function))

UNSEEN static int is_on(void)
{
	struct weft_status s = { .size = sizeof(s) };

	if (weft_status)
		weft_status(&s);
	return s.on;
}

void native_step(void);
__attribute__((noinline)) void native_step(void) { __asm__ volatile(""); }

/* step(): calls a native function. */
UNSEEN static int step(lua_State *L)
{
	(void)L;
	native_step();
	return 0;
}

/* await(on): sleeps until recording is on, or off. No function of Lua's is
 * called meanwhile. */
UNSEEN static int await(lua_State *L)
{
	const int wanted = lua_toboolean(L, 1);

	while (is_on() != wanted)
		usleep(1000);
	return 0;
}

/* start(title) */
UNSEEN static int start(lua_State *L)
{
	weft_start(lua_tostring(L, 1));
	return 0;
}

/* stop(title) */
UNSEEN static int stop(lua_State *L)
{
	weft_stop(lua_tostring(L, 1));
	return 0;
}

/* call(f, ...): f(...), called from C. */
UNSEEN static int call(lua_State *L)
{
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

/* resume(f): in a new coroutine, without saying who resumes it. */
UNSEEN static int resume(lua_State *L)
{
	lua_State *const co = lua_newthread(L);

	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
#if LUA_VERSION_NUM >= 504
	lua_resume(co, NULL, 0, &(int){ 0 });
#elif LUA_VERSION_NUM >= 502
	lua_resume(co, NULL, 0);
#else
	lua_resume(co, 0);
#endif
	return 0;
}

int luaopen_turns(lua_State *L);
UNSEEN int luaopen_turns(lua_State *L)
{
	static const struct { const char *name; lua_CFunction f; } all[] = {
		{ "step", step }, { "await", await }, { "start", start },
		{ "stop", stop }, { "call", call }, { "resume", resume },
	};

	lua_newtable(L);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		lua_pushcfunction(L, all[i].f);
		lua_setfield(L, -2, all[i].name);
	}
	return 1;
}

#ifdef HOST
/* A global function, if there is one. */
UNSEEN static void run(lua_State *L, const char *name)
{
	lua_getglobal(L, name);
	if (lua_isfunction(L, -1) && lua_pcall(L, 0, 0, 0) != 0) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
	lua_settop(L, 0);
}

UNSEEN int main(int argc, char **argv)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_getglobal(L, "package");
	lua_getfield(L, -1, "preload");
	lua_pushcfunction(L, luaopen_turns);
	lua_setfield(L, -2, "turns");
	lua_newtable(L);
	for (int i = 1; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i - 1);
	}
	lua_setglobal(L, "arg");
	if (luaL_loadfile(L, argv[1]) != 0)
		return 1;
	lua_setglobal(L, "script");
	run(L, "script");
	/* Recording is turned on while no Lua runs. */
	lua_getglobal(L, "turn_on");
	if (lua_isstring(L, -1)) {
		if (system(lua_tostring(L, -1)) != 0)
			return 1;
		while (!is_on())
			usleep(1000);
	}
	lua_settop(L, 0);
	run(L, "from_native");
	lua_close(L);
	return 0;
}
#endif
