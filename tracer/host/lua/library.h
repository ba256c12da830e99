/* library.h - the Lua libraries of this process: which one a caller means, and
 * where its functions are.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua/coroutine.h"
#include "tracer/host/lua/linked.h"

/* The library that the code at this address would call if libweft.so were not
 * there; NULL: none is known. Not hook-safe when a caller is seen for the first
 * time: asks the loader. */
struct lua_lib *lua_lib_of(const void *caller);

/* The Lua that is linked into the program or library that these functions lie
 * in; NULL: they are not one module's, or no memory. It is about to be
 * unloaded. */
struct lua_lib *lua_lib_linked(const struct weft_lua_linked *linked);
void lua_lib_unlinked(const struct weft_lua_linked *linked);

/* Our functions, set at the start. Plugins of a program that has a Lua of its
 * own, linked or given, are led to them. */
extern HIDDEN const weft_lua_function *lua_lib_ours;

/* The library whose functions a program gave to weft_lua_attach; NULL: no
 * memory. */
struct lua_lib *lua_lib_given(const struct weft_lua_api *api,
			      const void *caller);

/* The library of this version that serves what runs on this thread: that of co
 * (may be NULL), or the only one there is; NULL: not known. Hook-safe. */
const struct lua_lib *lua_lib_running(const struct coroutine *co,
				      enum vm_abi);
