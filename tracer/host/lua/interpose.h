/* interpose.h - what stands in for Lua's functions, for callers that do not
 * find it by name.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_INTERPOSE_H
#define WEFT_TRACER_HOST_LUA_INTERPOSE_H

#include "tracer/host/lua/linked.h"

/* By enum weft_lua_wrap. */
extern const weft_lua_function lua_interpose_ours[WEFT_LUA_WRAPS];

#endif
