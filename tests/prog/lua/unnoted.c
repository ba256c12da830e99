/* unnoted.c - a native function that runs Lua which no tick can note, in a
 * thread that blocks the ticks' signals; of LuaJIT, in a second state, too. It
 * says how long the function's own code and Lua ran.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#define HIDDEN __attribute__((no_instrument_function))

static volatile unsigned sum;

HIDDEN static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

HIDDEN static lua_State *load(const char *text)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_loadstring(L, text))
		printf("error: %s\n", lua_tostring(L, -1));
	return L;
}

/* Its own loop is a fifth of what it takes. */
static void runs_lua(lua_State *L)
{
	double own = 0, lua = 0;

	while (own + lua < 0.6) {
		const double begin = cpu();
		double between;

		for (unsigned i = 0; own * 4 <= lua && i < 3000000; i++)
			sum += i;
		between = cpu();
		own += between - begin;
		lua_pushvalue(L, 1);
		lua_call(L, 0, 0);
		lua += cpu() - between;
	}
	printf("own %.0f\nlua %.0f\n", own * 1e9, lua * 1e9);
}

static void *beside(void *unused)
{
	lua_State *const L = load("local s = 0 "
				  "for i = 1, 300000 do s = s + i % 7 end");

	runs_lua(L);
	lua_close(L);
	return unused;
}

/* Coroutines in which hardly a tick comes, and one that never runs. */
static void resume_all(lua_State *L)
{
	for (int i = 0; i < 20; i++) {
		lua_State *const co = lua_newthread(L);
#if LUA_VERSION_NUM >= 504
		int results;
#endif

		luaL_loadstring(co, "coroutine.yield()");
#if LUA_VERSION_NUM >= 504
		lua_resume(co, NULL, 0, &results);
#elif LUA_VERSION_NUM >= 502
		lua_resume(co, NULL, 0);
#else
		lua_resume(co, 0);
#endif
	}
	lua_newthread(L);
}

int main(void)
{
	lua_State *const first = load("local s = 0 "
				      "for i = 1, 3e7 do s = s + i % 7 end");
	sigset_t ticks;
	pthread_t t;

	lua_call(first, 0, 0);
	luaL_checkstack(first, 30, "");
	resume_all(first);
	sigemptyset(&ticks);
	sigaddset(&ticks, SIGURG);
	sigaddset(&ticks, SIGWINCH);
	pthread_sigmask(SIG_BLOCK, &ticks, NULL);
	pthread_create(&t, NULL, beside, NULL);
	pthread_join(t, NULL);
	lua_close(first);
	return 0;
}
