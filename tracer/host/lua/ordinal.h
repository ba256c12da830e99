/* ordinal.h - which of the functions with the same lines of their source it
 * is that lies at an address now. Process-wide; knows no version of Lua.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ORDINAL_H
#define WEFT_TRACER_HOST_LUA_ORDINAL_H

#include "tracer/host/base/base.h"

/* Of the prototype there; trait: what else is known of it, which tells it from
 * others that lay there. 0: the first, or nobody said. Hook-safe. */
uint32_t lua_ordinal_of(uint64_t at, uint64_t trait);

/* Whatever was said of that address no longer holds; whether this is news. What
 * there is no room for stays 0. Hook-safe. */
int lua_ordinal_set(uint64_t at, uint64_t trait, uint32_t ordinal);

/* How often there were news. */
uint64_t lua_ordinal_news(void);

/* Were the functions of the main function there set when it had this outline,
 * as they are still? Remember that they were, before these news. Hook-safe. */
int lua_ordinal_is_set(uint64_t main, uint64_t outline, uint64_t news);
void lua_ordinal_are_set(uint64_t main, uint64_t outline, uint64_t news);

#endif
