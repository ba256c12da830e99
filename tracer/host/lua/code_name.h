/* code_name.h - what the code around them calls Lua functions, by prototype.
 * Process-wide; all hook-safe. SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

struct lua_code_name {
	uint64_t hash;
	uint32_t size;       /* 0: no name */
	char text[];
};

/* Remember the name of the function at this address, in place of what was
 * remembered for it; size 0: it has none. trait: what else is known of it,
 * which tells it from others that lay there. If there is no room, none is
 * known. */
void lua_code_name_set(uint64_t at, uint64_t trait, const char *text,
		       uint32_t size);

/* Its name, which stays; NULL: none is known. */
const struct lua_code_name *lua_code_name_of(uint64_t at, uint64_t trait);
