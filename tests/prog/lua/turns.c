/* turns.c - what turns.lua needs of C: a module of an interpreter and, with
 * -DHOST, a program that runs the script and is its own native place; or has a
 * thread with a Lua state for each place.
 * "turns SCRIPT ARGUMENT...". Built by tests/e2e/turns.sh.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#pragma weak weft_start
#pragma weak weft_stop

#define UNSEEN __attribute__((no_instrument_function))

/* The library may come late. */
UNSEEN static struct weft_status now(void)
{
	static int (*_Atomic status)(struct weft_status *);
	struct weft_status s = { .size = sizeof(s) };
	void *weft;

	if (!status) {
		weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);
		if (weft)
			status = (int (*)(struct weft_status *))dlsym(
				weft, "weft_status");
	}
	if (status)
		status(&s);
	return s;
}

UNSEEN static int is_on(void)
{
	return now().on;
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

/* await(on, away): sleeps until recording is on, or off; away: until the
 * program has left it. No function of Lua's is called meanwhile. */
UNSEEN static int await(lua_State *L)
{
	const int wanted = lua_toboolean(L, 1);

	while (is_on() != wanted || (lua_toboolean(L, 2) && now().recorded))
		usleep(5000);
	return 0;
}

static atomic_int threads = 1, arrived, waiting;

/* turn(starts): sleeps until recording is turned on after all threads have come
 * here; or, if this one turns it on, until the file $GO is there. Returns the
 * time. No function of Lua's is called meanwhile. "ready": all have seen that
 * recording is off, so that none takes the turn for the time before it. */
UNSEEN static int turn(lua_State *L)
{
	const int starts = lua_toboolean(L, 1);
	const char *const go = getenv("GO");
	struct timespec t;

	arrived++;
	while (arrived < threads || is_on())
		usleep(10000);
	if (++waiting == threads) {
		puts("ready");
		fflush(stdout);
	}
	while (starts ? access(go, F_OK) != 0 : !is_on())
		usleep(10000);
	clock_gettime(CLOCK_MONOTONIC, &t);
	lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec / 1e9);
	return 1;
}

/* since(time): seconds; nothing if recording is off. */
UNSEEN static int since(lua_State *L)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec / 1e9 -
		       lua_tonumber(L, 1));
	return is_on();
}

/* thread(): its number. */
UNSEEN static int thread(lua_State *L)
{
	lua_pushinteger(L, gettid());
	return 1;
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

/* apart(f): calls it on a lua_State of its own, which nobody resumes. */
UNSEEN static int apart(lua_State *L)
{
	lua_State *const co = lua_newthread(L);

	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	lua_call(co, 0, 0);
	return 0;
}

int luaopen_turns(lua_State *L);
UNSEEN int luaopen_turns(lua_State *L)
{
	static const struct { const char *name; lua_CFunction f; } all[] = {
		{ "step", step }, { "await", await }, { "start", start },
		{ "stop", stop }, { "call", call }, { "resume", resume },
		{ "turn", turn }, { "since", since }, { "thread", thread },
		{ "apart", apart },
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

/* A Lua state with the script loaded and its arguments in place. */
UNSEEN static lua_State *load(int argc, char **argv)
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
		exit(1);
	lua_setglobal(L, "script");
	return L;
}

/* SCRIPT WAY ON OFF STATUS come before the places. */
enum { PLACE = 6 };
static char **given;

UNSEEN static void *at_place(void *place)
{
	char *argv[PLACE + 1];
	lua_State *L;

	memcpy(argv, given, sizeof(argv));
	argv[PLACE] = place;
	L = load(PLACE + 1, argv);
	run(L, "script");
	lua_close(L);
	return NULL;
}

/* All places at once. */
UNSEEN static int run_threads(int argc, char **argv)
{
	pthread_t thread[argc];

	threads = argc - PLACE;
	given = argv;
	for (int i = PLACE; i < argc; i++)
		pthread_create(&thread[i], NULL, at_place, argv[i]);
	for (int i = PLACE; i < argc; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

UNSEEN int main(int argc, char **argv)
{
	lua_State *L;

	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	if (strcmp(argv[2], "together") == 0)
		return run_threads(argc, argv);
	L = load(argc, argv);
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
