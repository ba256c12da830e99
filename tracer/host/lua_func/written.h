/* written.h - what is known of Lua functions by where their prototypes lie: the
 * position among those with the same lines of their source, and what the code
 * around them calls them. Process-wide; hook-safe.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* The longest name from code; it has no zero then. */
enum { LUA_WRITTEN_NAME = 64 };

/* The ordinal of the prototype at this address. trait: what else is known of
 * it, which tells it from others that lay there. 0: the first, or never set. */
uint32_t lua_written_ordinal(uint64_t at, uint64_t trait);

/* Its name. Returns the size, 0: none. */
uint32_t lua_written_name(uint64_t at, uint64_t trait,
			  char name[LUA_WRITTEN_NAME]);

/* Set one, in place of what was set for that address; the other stays if it is
 * of the same prototype. The ordinal: returns whether it is new. If there is no
 * room it stays 0, and the name none. */
bool lua_written_set_ordinal(uint64_t at, uint64_t trait, uint32_t ordinal);
void lua_written_set_name(uint64_t at, uint64_t trait, const char *name,
			  uint32_t size);

/* How often an ordinal was new. */
uint64_t lua_written_news(void);

/* Were the functions of the main function at this address set when it had this
 * outline, and nothing is new since? Remember that they were, at that count of
 * news. */
bool lua_written_is_set(uint64_t main, uint64_t outline, uint64_t news);
void lua_written_are_set(uint64_t main, uint64_t outline, uint64_t news);
