/* callers.h - C functions that Lua calls count themselves by the Lua functions
 * that are open, which they ask Lua for. Printed is, for each C function and
 * stack, "is FUNCTION LINES COUNT": the lines in which the open Lua functions
 * of the coroutine begin, outermost first; "-": there are none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <lauxlib.h>
#include <lualib.h>

#include <stdio.h>
#include <string.h>

#define SILENT __attribute__((no_instrument_function))

enum { STACKS = 200 };
static struct { char text[200]; unsigned count; } stacks[STACKS];
static int is_off; /* nothing is counted */

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
	snprintf(text, sizeof(text), "%s %s", function, lines[0] ? lines : "-");
	for (int i = 0; i < STACKS && !is_off; i++) {
		if (stacks[i].count == 0)
			strcpy(stacks[i].text, text);
		if (strcmp(stacks[i].text, text) == 0) {
			stacks[i].count++;
			return;
		}
	}
}

/* Lua, C, and Lua again. */
int again(lua_State *L)
{
	count(L, "again");
	lua_pushvalue(L, 1);
	lua_call(L, 0, 0);
	return 0;
}

SILENT static void print(void)
{
	for (int i = 0; i < STACKS && stacks[i].count > 0; i++)
		printf("is %s %u\n", stacks[i].text, stacks[i].count);
	fflush(stdout);
}
