/* attached.c - a program with a shared Lua, whose VM and coroutines are older
 * than the recording. Reads lines: "N" calls round(N) of its script, which
 * resumes a coroutine that lives for ever, and says the sum; "+N" does so in a
 * VM beside it, which nothing else runs in; "renew" closes that one and makes
 * another, where it lay; "on", "off" as in p_attach.c. Built by
 * tests/e2e/attach-lua.sh.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char script[] =
	"local function inner(n) return n + 1 end\n"
	"local old = coroutine.create(function(n)\n"
	"  while true do n = coroutine.yield(inner(n)) end\n"
	"end)\n"
	"coroutine.resume(old, 1)\n"
	"local function step(n)\n"
	"  local _, v = coroutine.resume(old, n)\n"
	"  return v - 1\n"
	"end\n"
	"local function young(n)\n"
	"  return coroutine.wrap(function(a) return inner(a) end)(n) - 1\n"
	"end\n"
	"function round(n)\n"
	"  local sum = 0\n"
	"  for i = 1, n do sum = sum + step(i) - young(i) + 1 end\n"
	"  return sum\n"
	"end\n";

static int is_on(lua_State *L)
{
	void *const weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);
	int (*status)(struct weft_status *) = !weft ? NULL :
		(int (*)(struct weft_status *))dlsym(weft, "weft_status");
	struct weft_status s = { .size = sizeof(s) };

	/* Which may be what a recorder waits for. */
	lua_getglobal(L, "round");
	lua_pushinteger(L, 0);
	lua_call(L, 1, 0);
	if (status)
		status(&s);
	return s.on;
}

static lua_State *make(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=s") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		exit(1);
	return L;
}

static void run(lua_State *L, const char *times)
{
	lua_getglobal(L, "round");
	lua_pushinteger(L, atol(times));
	if (lua_pcall(L, 1, 1, 0) != 0)
		exit(1);
	printf("sum %ld\n", (long)lua_tointeger(L, -1));
	lua_settop(L, 0);
}

int main(void)
{
	lua_State *const L = make(), *other = make();
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] == 'r') {
			lua_State *const old = other;

			lua_close(other);
			other = make();
			puts(other == old ? "renewed" : "moved");
			continue;
		}
		if (line[0] != 'o') {
			run(line[0] == '+' ? other : L, line);
			continue;
		}
		while (is_on(L) != (line[1] == 'n'))
			usleep(500);
		puts(line[1] == 'n' ? "on" : "off");
	}
	lua_close(other);
	lua_close(L);
	puts("right");
	return 0;
}
