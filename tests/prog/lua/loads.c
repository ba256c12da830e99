/* loads.c - chunks that are loaded, run once and forgotten, N of them: three of
 * four have one of NAMES names, which say what their functions are; every
 * fourth is unlike all others. Says how often each name ran, and how much
 * memory of its own the process has, in kB. For any version of Lua; built by
 * tests/e2e/lua-loads.sh.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES = 997 };

static unsigned long ran[NAMES], others;

static int run(lua_State *L, const char *text, int length, const char *name)
{
	if (luaL_loadbuffer(L, text, (size_t)length, name) != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0) {
		printf("%s\n", lua_tostring(L, -1));
		return 0;
	}
	return 1;
}

/* Chunks of one file differ: only its name and their lines tell. */
static int run_named(lua_State *L, unsigned long i, unsigned k)
{
	char name[32], text[96];
	const int n = snprintf(text, sizeof(text), "local function f(x) "
			       "return x + %lu end f(%u)", i % 5, k);

	snprintf(name, sizeof(name), "@c%u.lua", k);
	ran[k]++;
	return run(L, text, n, name);
}

static int run_other(lua_State *L, unsigned long i)
{
	char text[32];
	const int n = snprintf(text, sizeof(text), "return %lu", i);

	others++;
	return run(L, text, n, text);
}

static long own_memory(void)
{
	FILE *const f = fopen("/proc/self/status", "r");
	char line[256];
	long kb = -1;

	while (f && fgets(line, sizeof(line), f) != NULL)
		sscanf(line, "RssAnon: %ld", &kb);
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	const unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	lua_State *const L = luaL_newstate();
	unsigned x = 1;
	int good = 1;

	luaL_openlibs(L);
	for (unsigned long i = 0; good && i < n; i++) {
		x = x * 1664525u + 1013904223u;
		good = i % 4 == 3 ? run_other(L, i) :
		       run_named(L, i, (x >> 8) % NAMES);
	}
	fprintf(stderr, "memory %ld\n", own_memory());
	for (unsigned k = 0; k < NAMES; k++)
		printf("c%u %lu\n", k, ran[k]);
	printf("others %lu\n", others);
	lua_close(L);
	return !good;
}
