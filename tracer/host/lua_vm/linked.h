/* linked.h - between libweft.so and a program or library whose Lua is linked
 * statically with the flags of weft-lua-static: which calls are led through
 * weft, and how the two find each other. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/weft.h"

/* Any lua_ function: at most six arguments, all in registers of this kind. */
typedef long any_fn(long, long, long, long, long, long);
#define ARGS long a, long b, long c, long d, long e, long f
#define PASS a, b, c, d, e, f

/* The functions that libweft.so stands in for. pkg-config's --wrap flags are
 * made from this list. New names are added at the end. */
#define WEFT_LUA_WRAPPED(X)                                                    \
	X(lua_newstate) X(luaL_newstate) X(lua_close) X(lua_newthread)         \
	X(lua_resume) X(lua_closethread) X(lua_resetthread) X(lua_pcallk)      \
	X(lua_callk) X(lua_pcall) X(lua_cpcall) X(lua_call) X(lua_sethook)     \
	X(lua_gethook) X(lua_gethookmask) X(lua_gethookcount)                  \
	X(luaJIT_setmode) X(luaopen_jit) X(lua_setlevel)

enum weft_lua_wrap {
#define WEFT_LUA_X(name) WEFT_LUA_WRAP_##name,
	WEFT_LUA_WRAPPED(WEFT_LUA_X)
#undef WEFT_LUA_X
	WEFT_LUA_WRAPS
};

/* The functions that open those of Lua's libraries which return functions of
 * their own. New names are added at the end. */
#define WEFT_LUA_OPENED(X)                                                     \
	X(luaopen_base) X(luaopen_string) X(luaopen_coroutine) X(luaopen_utf8)

enum weft_lua_open {
#define WEFT_LUA_X(name) WEFT_LUA_OPEN_##name,
	WEFT_LUA_OPENED(WEFT_LUA_X)
#undef WEFT_LUA_X
	WEFT_LUA_OPENS
};

struct weft_lua_linked {
	unsigned long size;
	const struct weft_lua_api *api;
	unsigned long wraps;           /* of the next two, by the enum above */
	const weft_lua_function *real; /* NULL: this Lua has none */
	weft_lua_function *used;       /* where its calls are led */
	int (*sees_all)(void);         /* are calls inside Lua, too? */
	unsigned long opens;           /* of the next, by the second enum */
	const weft_lua_function *open; /* NULL: it is not linked */
};

/* A program or library with such a Lua has been loaded; called on the thread
 * that loads it. If it is to be recorded, its used is changed. */
void weft_lua_linked(const struct weft_lua_linked *linked);
/* It is about to be unloaded. */
void weft_lua_unlinked(const struct weft_lua_linked *linked);
