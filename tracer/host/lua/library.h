/* library.h - the Lua libraries of this process, and our functions that links
 * to theirs are led to. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/lua_vm/linked.h"

/* So many at a time; calls of further ones are passed on. interpose.c has
 * functions for as many. */
enum { LUA_LIBS = 32 };

/* The library of that number, as our functions get it. */
struct lua_lib *lua_lib_numbered(long number);

/* Ours in place of that library's function of enum weft_lua_wrap. */
void *lua_lib_stand_in(unsigned which, int number);
/* The number of the library for which this is one of ours, -1: it is none. */
int lua_lib_number_of(const void *function);

/* Of each function of enum weft_lua_wrap, LUA_LIBS entries of LUA_LIB_ENTRY
 * bytes; set before links are led. */
enum { LUA_LIB_ENTRY = 16 };
extern HIDDEN const char *const *lua_lib_entries;

/* The Lua that is linked into the program or library that these functions lie
 * in; NULL: they are not one module's, or no memory. It is about to be
 * unloaded. */
struct lua_lib *lua_lib_linked(const struct weft_lua_linked *linked);
void lua_lib_unlinked(const struct weft_lua_linked *linked);

/* The library whose functions a program gave to weft_lua_attach; NULL: no
 * memory. */
struct lua_lib *lua_lib_given(const struct weft_lua_api *api);

/* The library of this version that serves what runs on this thread: that of co
 * (may be NULL), or the only one there is; NULL: not known. Hook-safe. */
const struct lua_lib *lua_lib_running(const struct coroutine *co,
				      enum vm_abi);
