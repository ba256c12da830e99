/* hide.h - functions that bring weft itself to Lua: no part of the program,
 * so they are not recorded. SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_HIDE_H
#define WEFT_TRACER_HOST_LUA_HIDE_H

#include "tracer/host/base/base.h"

/* Of C functions; hook-safe. */
int lua_hide_c(uint64_t address);
/* Of Lua functions, by their source. */
int lua_hide_source(const char *source);

#endif
