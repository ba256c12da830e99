/* built.c - runs the script given, in a Lua that may be built with
 * -finstrument-functions, as this is: with a C function for it to call, that
 * calls back. Prints what the script returns. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#ifdef ATTACH
#include "tracer/host/weft.h"
#endif

__attribute__((noinline)) int inner(lua_State *L);
int back(lua_State *L);

int inner(lua_State *L)
{
	lua_pushvalue(L, 1);
	lua_call(L, 0, 1);
	return 1;
}

int back(lua_State *L)
{
	return inner(L);
}

int main(int argc, char **argv)
{
	lua_State *const L = luaL_newstate();

	if (!L || argc < 2)
		return 2;
#ifdef ATTACH
	weft_lua_attach(L);
#endif
	luaL_openlibs(L);
	lua_pushcfunction(L, back);
	lua_setglobal(L, "back");
	if (luaL_dofile(L, argv[1]))
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
	else
		puts(lua_tostring(L, -1));
	lua_close(L);
	return 0;
}
