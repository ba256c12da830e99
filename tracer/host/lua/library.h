/* library.h - the Lua libraries of this process: which one a caller means, and
 * where its functions are.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_LIBRARY_H
#define WEFT_TRACER_HOST_LUA_LIBRARY_H

#include "tracer/host/lua/linked.h"
#include "tracer/host/lua/vm.h"

/* The library that the code at this address would have called had libweft.so
 * not been there; NULL: none is known. Not hook-safe when a caller is seen for
 * the first time: asks the loader. */
struct lua_lib *lua_lib_of(const void *caller);

/* The Lua that is linked into the program or library these functions lie in;
 * NULL: not one module's, or no memory. It is no more. */
struct lua_lib *lua_lib_linked(const struct weft_lua_linked *linked);
void lua_lib_unlinked(const struct weft_lua_linked *linked);

/* The library whose functions a program gave; NULL: no memory. */
struct lua_lib *lua_lib_given(const struct weft_lua_api *api,
			      const void *caller);

/* The program's own table that serves what runs on this thread: co's, or the
 * only one there is; NULL: cannot be told. Hook-safe. */
const struct lua_lib *lua_lib_running(const struct coroutine *co,
				      const struct lua_abi *abi);

#endif
