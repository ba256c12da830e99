/* alloc.h - the memory of VMs whose Lua does not take it from malloc: LuaJIT's.
 * Its allocator is called by ours, which notes what it gives out, if that is
 * wanted (weft record --heap). SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/vm.h"

/* A function of the library's, by its name; NULL: it has none. */
void *lua_alloc_function(const struct lua_lib *lib, const char *name);

/* From now on, on the VM's own thread. Does nothing if nobody wants to know, or
 * the VM will be left again (weft record -p). */
void lua_alloc_lead(struct lua_vm *vm);

/* The VM is about to be closed: LuaJIT gives all of its memory back at once if
 * its own allocator is there when all else is gone. */
void lua_alloc_closing(struct lua_vm *vm);
