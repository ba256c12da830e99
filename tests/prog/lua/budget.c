/* budget.c - hosts of Lua that calls a lot, or little: its own calls of C are
 * counted, and the scripts know the time they take. MODE SCRIPT SECONDS, of CPU
 * time. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define SILENT __attribute__((no_instrument_function))
#ifndef LUA_OK
#define LUA_OK 0
#endif
static unsigned long spins, inners;
static volatile unsigned long sum;

SILENT static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
void inner(void) { inners++; sum = sum + 1; }
int spin(lua_State *L)
{
	(void)L;
	spins++;
	inner();
	return 0;
}
/* Calls the function that it is given, once or for so many s of CPU time. */
int call(lua_State *L)
{
	lua_settop(L, 1);
	lua_call(L, 0, 0);
	return 0;
}
int loop(lua_State *L)
{
	const double end = cpu() + lua_tonumber(L, 2);

	while (cpu() < end) {
		lua_pushvalue(L, 1);
		if (lua_pcall(L, 0, 0, 0))
			return lua_error(L);
	}
	return 0;
}
SILENT static int cpu_of(lua_State *L)
{
	lua_pushnumber(L, cpu());
	return 1;
}
static lua_State *made(const char *script)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "spin", spin);
	lua_register(L, "call", call);
	lua_register(L, "loop", loop);
	lua_register(L, "cpu", cpu_of);
	if (luaL_dofile(L, script)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
	return L;
}
static void run(lua_State *L, const char *f)
{
	lua_getglobal(L, f);
	if (lua_pcall(L, 0, 0, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		exit(1);
	}
}
static int resume(lua_State *L)
{
#if LUA_VERSION_NUM >= 504
	int n;

	return lua_resume(L, NULL, 0, &n);
#elif LUA_VERSION_NUM >= 502
	return lua_resume(L, NULL, 0);
#else
	return lua_resume(L, 0);
#endif
}
/* A request: a coroutine that is resumed until it ends. */
static void serve(lua_State *L)
{
	lua_State *co = lua_newthread(L);

	lua_getglobal(co, "request");
	while (resume(co) == 1)
		lua_settop(co, 0);
	lua_settop(L, -2);
}
static void closed(const char *script, double end)
{
	while (cpu() < end) {
		lua_State *const L = made(script);

		for (int i = 0; i < 20; i++)
			run(L, "work");
		lua_close(L);
	}
}
int main(int argc, char **argv)
{
	const double end = atof(argv[3]);
	const char mode = argv[1][0];
	lua_State *const L = made(argv[2]), *const other = made(argv[2]);

	if (mode == 'c')
		closed(argv[2], end);
	if (mode == 'l')
		run(L, "looped");
	while (cpu() < end) {
		if (mode == 's')
			serve(L);
		else
			run(L, mode == 'f' ? "few" : "work");
		if (mode == 't')
			run(other, "few");
	}
	run(L, "told");
	run(other, "told");
	lua_close(other);
	lua_close(L);
	printf("calls %lu spin\ncalls %lu inner\n", spins, inners);
	return argc - 4;
}
