/* twins.c - "twins SCRIPT ROUNDS...": runs the script for each of the numbers,
 * in a thread and Lua state of its own, all at once. For any version of Lua;
 * built by tests/e2e/lua-twins.sh.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>

enum { MOST = 8 };

static const char *script;

static void *run(void *arg)
{
	const char *const rounds = arg;
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_loadfile(L, script) != 0)
		printf("%s\n", lua_tostring(L, -1));
	lua_pushstring(L, rounds);
	lua_pushstring(L, rounds);
	if (lua_pcall(L, 2, 0, 0) != 0)
		printf("%s\n", lua_tostring(L, -1));
	lua_close(L);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	int n = 0;

	script = argv[1];
	for (; n < MOST && n + 2 < argc; n++)
		pthread_create(&threads[n], NULL, run, argv[n + 2]);
	while (n-- > 0)
		pthread_join(threads[n], NULL);
	return 0;
}
