/* attached.c - a program with a shared Lua, whose VM and coroutines are older
 * than the recording. Reads lines: "N" calls round(N) of its script, which
 * resumes a coroutine that lives for ever, and says the sum; "+N" does so in a
 * VM beside it, which nothing else runs in; "=N" resumes N coroutines from C,
 * twice each, in a VM whose main state runs nothing; "mN" calls middle(N),
 * which goes on resuming until recording is on; "renew" closes the VM beside
 * and makes another, where it lay; "on", "off" as in p_attach.c. Built by
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
	"end\n"
	"local function part(n) return n end\n"
	"function request(n)\n"
	"  return part(n) + coroutine.yield() - part(n)\n"
	"end\n"
	"function middle(n)\n"
	"  local sum = 0\n"
	"  while not on() do coroutine.resume(old, 1) end\n"
	"  coroutine.resume(old, 1) on()\n" /* its VM is met by now */
	"  for i = 1, n do sum = sum + step(i) - i + 1 end\n"
	"  return sum\n"
	"end\n";

static int is_on(void)
{
	void *const weft = dlopen("libweft.so", RTLD_LAZY | RTLD_NOLOAD);
	int (*status)(struct weft_status *) = !weft ? NULL :
		(int (*)(struct weft_status *))dlsym(weft, "weft_status");
	struct weft_status s = { .size = sizeof(s) };

	if (status)
		status(&s);
	return s.on;
}

/* A call may be what a recorder waits for. */
static void call(lua_State *L)
{
	lua_getglobal(L, "round");
	lua_pushinteger(L, 0);
	lua_call(L, 1, 0);
}

static int l_on(lua_State *L)
{
#ifdef LUA_JITLIBNAME /* whose coroutine.resume calls no function of Lua's */
	call(L);
#endif
	usleep(500);
	lua_pushboolean(L, is_on());
	return 1;
}

static lua_State *make(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "on", l_on);
	if (luaL_loadbuffer(L, script, sizeof(script) - 1, "=s") != 0 ||
	    lua_pcall(L, 0, 0, 0) != 0)
		exit(1);
	return L;
}

static void run(lua_State *L, const char *name, const char *times)
{
	lua_getglobal(L, name);
	lua_pushinteger(L, atol(times));
	if (lua_pcall(L, 1, 1, 0) != 0)
		exit(1);
	printf("sum %ld\n", (long)lua_tointeger(L, -1));
	lua_settop(L, 0);
}

/* Returns lua_resume's status. */
static int resume(lua_State *co, lua_State *from)
{
#if LUA_VERSION_NUM >= 504
	int results;

	return lua_resume(co, from, 1, &results);
#elif LUA_VERSION_NUM >= 502
	return lua_resume(co, from, 1);
#else
	(void)from;
	return lua_resume(co, 1);
#endif
}

/* None of the coroutines is there in the end. */
static void serve(lua_State *L, long times)
{
	long sum = 0;

	for (long i = 1; i <= times; i++) {
		lua_State *const co = lua_newthread(L);

		lua_getglobal(co, "request");
		lua_pushinteger(co, i);
		if (resume(co, L) != LUA_YIELD)
			exit(1);
		lua_settop(co, 0);
		lua_pushinteger(co, 1);
		if (resume(co, L) != 0)
			exit(1);
		sum += (long)lua_tointeger(co, -1);
		lua_settop(L, 0);
		if (i % 50 == 0)
			lua_gc(L, LUA_GCCOLLECT, 0);
	}
	lua_gc(L, LUA_GCCOLLECT, 0);
	printf("sum %ld\n", sum);
}

int main(void)
{
	lua_State *const L = make(), *const server = make(), *other = make();
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
		if (line[0] == '=' || line[0] == 'm') {
			if (line[0] == '=')
				serve(server, atol(line + 1));
			else
				run(L, "middle", line + 1);
			continue;
		}
		if (line[0] != 'o') {
			run(line[0] == '+' ? other : L, "round", line);
			continue;
		}
		do {
			usleep(500);
			call(L);
		} while (is_on() != (line[1] == 'n'));
		puts(line[1] == 'n' ? "on" : "off");
	}
	lua_close(other);
	lua_close(server);
	lua_close(L);
	puts("right");
	return 0;
}
