/* callers_ends.c - C functions that Lua calls, and that count themselves by the
 * Lua functions that are open, as callers.c does, where what ran before has
 * ended by an error or a jump, where recording begins while Lua runs, in a
 * forked process, and where signals come. Prints the same lines.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tracer/host/weft.h"

#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma weak weft_pause
#pragma weak weft_resume
#pragma weak weft_status

#define SILENT __attribute__((no_instrument_function))

enum { STACKS = 200 };
static struct { char text[200]; unsigned count; } stacks[STACKS];
static int is_off;

SILENT static void count(lua_State *L, const char *function)
{
	char text[200], lines[160] = "", all[160];
	lua_Debug d;

	for (int level = 0; lua_getstack(L, level, &d); level++) {
		lua_getinfo(L, "S", &d);
		if (d.what[0] == 'C')
			continue;
		snprintf(all, sizeof(all), "%d%s%s",
			 d.what[0] == 'm' ? 0 : d.linedefined,
			 lines[0] ? "," : "", lines);
		strcpy(lines, all);
	}
	snprintf(text, sizeof(text), "%s %s", function, lines);
	for (int i = 0; i < STACKS && !is_off; i++) {
		if (stacks[i].count == 0)
			strcpy(stacks[i].text, text);
		if (strcmp(stacks[i].text, text) == 0) {
			stacks[i].count++;
			return;
		}
	}
}

int work(lua_State *L)
{
	count(L, "work");
	return 0;
}

int again(lua_State *L)
{
	count(L, "again");
	lua_pushvalue(L, 1);
	lua_call(L, 0, 0);
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

SILENT static void print(void)
{
	for (int i = 0; i < STACKS && stacks[i].count > 0; i++)
		printf("is %s %u\n", stacks[i].text, stacks[i].count);
	fflush(stdout);
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
