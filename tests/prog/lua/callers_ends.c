/* callers_ends.c - C functions that Lua calls, and that count themselves by the
 * Lua functions that are open (callers.h), where what ran before has ended by
 * an error or a jump, where recording begins while Lua runs, in a forked
 * process, and where signals come.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tests/prog/lua/callers.h"
#include "tracer/host/weft.h"

#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak weft_pause
#pragma weak weft_resume
#pragma weak weft_status

int work(lua_State *L)
{
	count(L, "work");
	return 0;
}

/* turn(on): recording of this process goes on, or pauses. */
SILENT static int turn(lua_State *L)
{
	const int on = lua_toboolean(L, 1);
	struct weft_status s = { .size = sizeof(s) };

	(on ? weft_resume : weft_pause)();
	do
		weft_status(&s);
	while (!s.on != !on);
	is_off = !on;
	return 0;
}

SILENT static int split(lua_State *L)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		memset(stacks, 0, sizeof(stacks));
	else
		waitpid(pid, NULL, 0);
	lua_pushboolean(L, pid == 0);
	return 1;
}

SILENT static int leave(lua_State *L)
{
	(void)L;
	print();
	_exit(0);
}

static jmp_buf out;

SILENT static int jump(lua_State *L)
{
	(void)L;
	longjmp(out, 1);
}

/* Deeper on the stack, of which most stays as it was. */
SILENT static void __attribute__((noinline)) deeper(lua_State *L)
{
	volatile char hole[600];

	hole[0] = 0;
	work(L);
	hole[1] = 0;
}

/* A jump ends what another VM runs, for good. */
int jumped(lua_State *L)
{
	static const char text[] = "\n\nlocal function f() jump() end f()";
	lua_State *const other = luaL_newstate();

	lua_register(other, "jump", jump);
	if (luaL_loadbuffer(other, text, sizeof(text) - 1, "@callers.lua"))
		abort();
	if (setjmp(out) == 0)
		lua_call(other, 0, 0);
	deeper(L);
	return 0;
}

void handled(void) { __asm__ volatile(""); }
SILENT static void on_alarm(int signal)
{
	(void)signal;
	handled();
}

SILENT static int alarms(lua_State *L)
{
	const long us = (long)lua_tointeger(L, 1);
	const struct itimerval t = { { 0, us }, { 0, us } };

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &t, NULL);
	return 0;
}

/* No native call is recorded before Lua makes one. */
SILENT int main(int argc, char **argv)
{
	lua_State *const L = luaL_newstate();

	(void)argc;
	luaL_openlibs(L);
	lua_register(L, "work", work);
	lua_register(L, "again", again);
	lua_register(L, "turn", turn);
	lua_register(L, "split", split);
	lua_register(L, "leave", leave);
	lua_register(L, "jumped", jumped);
	lua_register(L, "alarms", alarms);
	if (luaL_loadfile(L, argv[1]) || lua_pcall(L, 0, 0, 0)) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		return 1;
	}
	lua_close(L);
	print();
	return 0;
}
