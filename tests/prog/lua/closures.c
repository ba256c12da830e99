/* closures.c - a C library in which one function is several, by its upvalues.
 * For any version of Lua; built, without symbols, by tests/e2e/lua-closures.sh.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>

int luaopen_closures(lua_State *L);

/* Each entry of libraries is what its upvalue says. */
static int entry(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	return 1;
}

/* Likewise, in two libraries, of which one is a part of the other. */
static int entry_of_parts(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_pushnil(L);
	return 2;
}

/* Likewise, in two that have nothing in common. */
static int entry_of_two(lua_State *L)
{
	lua_pushnil(L);
	lua_pushnil(L);
	lua_pushvalue(L, lua_upvalueindex(1));
	return 3;
}

/* Likewise, in no table: an object's __index makes it. */
static int method(lua_State *L)
{
	lua_pushnil(L);
	lua_pushvalue(L, lua_upvalueindex(1));
	return 2;
}

static int get_method(lua_State *L)
{
	lua_pushcclosure(L, method, 1);
	return 1;
}

/* Functions of their own, with an upvalue. */
static int configured(lua_State *L)
{
	lua_pushinteger(L, lua_tointeger(L, lua_upvalueindex(1)) + 1);
	return 1;
}

static int single(lua_State *L)
{
	lua_pushinteger(L, lua_tointeger(L, lua_upvalueindex(1)) + 4);
	return 1;
}

static int close_handle(lua_State *L)
{
	lua_pushinteger(L, lua_tointeger(L, lua_upvalueindex(1)) + 2);
	return 1;
}

/* Two entries, and no upvalues: whichever, it does the same. */
static int plain(lua_State *L)
{
	lua_pushinteger(L, 3);
	return 1;
}

/* Of two types. */
static int to_string(lua_State *L)
{
	lua_pushstring(L, "an object");
	return 1;
}

/* Functions without names. */
#define TEN(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
#define FUNCTION(i) \
	static int function##i(lua_State *L) \
	{ \
		lua_pushinteger(L, i); \
		return 1; \
	}
#define FOUR(i) FUNCTION(i##0) FUNCTION(i##1) FUNCTION(i##2) FUNCTION(i##3)
#define NAME(i) function##i,
#define FOUR_NAMES(i) NAME(i##0) NAME(i##1) NAME(i##2) NAME(i##3)
TEN(FOUR)
static const lua_CFunction functions[] = { TEN(FOUR_NAMES) };

static int late(lua_State *L)
{
	lua_pushinteger(L, 5);
	return 1;
}

/* A message handler, which nothing names, and what calls a function with it. */
static int handle(lua_State *L)
{
	lua_settop(L, 1);
	return 1;
}

static int protect(lua_State *L)
{
	lua_pushcfunction(L, handle);
	lua_insert(L, 1);
	lua_pushboolean(L, lua_pcall(L, 0, 0, 1) == 0);
	return 1;
}

/* It is in the registry, below what means its type to C. */
static int member(lua_State *L)
{
	lua_pushinteger(L, 6);
	return 1;
}

static void put(lua_State *L, const char *name, lua_CFunction f)
{
	lua_pushstring(L, name);
	lua_pushcclosure(L, f, 1);
	lua_setfield(L, -2, name);
}

static void make_types(lua_State *L)
{
	luaL_newmetatable(L, "Handle");
	put(L, "close", close_handle);
	put(L, "__gc", close_handle);
	lua_pushcfunction(L, to_string);
	lua_setfield(L, -2, "__tostring");
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	luaL_newmetatable(L, "Object");
	lua_pushcfunction(L, get_method);
	lua_setfield(L, -2, "__index");
	lua_pushcfunction(L, to_string);
	lua_setfield(L, -2, "__tostring");
	lua_pop(L, 2);
}

/* And, without a name, in the table on top of the stack. */
static void keep_members(lua_State *L)
{
	static char type;

	lua_pushlightuserdata(L, &type);
	lua_newtable(L);
	lua_newtable(L);
	put(L, "member", member);
	lua_rawseti(L, -2, 0);
	lua_settable(L, LUA_REGISTRYINDEX);
	lua_pushnil(L);
	lua_pushcclosure(L, member, 1);
	lua_rawseti(L, -2, 0);
}

static void put_object(lua_State *L, const char *name, const char *type)
{
	lua_newuserdata(L, 1);
	luaL_getmetatable(L, type);
	lua_setmetatable(L, -2);
	lua_setfield(L, -2, name);
}

int luaopen_closures(lua_State *L)
{
	make_types(L);
	lua_newtable(L);
	put(L, "path", entry);
	put(L, "method", entry);
	put(L, "src", entry);
	put(L, "hostname", entry);
	put(L, "single", single);
	put(L, "whole", entry_of_parts);
	put(L, "first", entry_of_two);
	put(L, "configured", configured);
	lua_pushcfunction(L, plain);
	lua_setfield(L, -2, "plain");
	lua_pushcfunction(L, plain);
	lua_setfield(L, -2, "simple");
	lua_pushcfunction(L, protect);
	lua_setfield(L, -2, "protect");
	put_object(L, "handle", "Handle");
	put_object(L, "object", "Object");

	keep_members(L);
	lua_pushcfunction(L, late);
	lua_rawseti(L, -2, 1);
	for (int i = 0; i < 40; i++) {
		lua_pushcfunction(L, functions[i]);
		lua_rawseti(L, -2, 2 + i);
	}

	lua_newtable(L);
	put(L, "part", entry_of_parts);
	lua_setfield(L, -2, "other");

	lua_newtable(L);
	put(L, "second", entry_of_two);
	put(L, "configured", configured);
	lua_setfield(L, -2, "apart");
	return 1;
}
