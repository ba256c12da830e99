/* ordinal.h - the position of functions among those with the same lines of
 * their source. Process-wide; hook-safe. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* The ordinal of the prototype at this address. trait: what else is known of
 * it, which tells it from others that lay there. 0: the first, or never set. */
uint32_t lua_ordinal_of(uint64_t at, uint64_t trait);

/* Set it, in place of what was set for that address. Returns whether it is new.
 * If there is no room it stays 0. */
bool lua_ordinal_set(uint64_t at, uint64_t trait, uint32_t ordinal);

/* How often one was new. */
uint64_t lua_ordinal_news(void);

/* Were the functions of the main function at this address set when it had this
 * outline, and nothing is new since? Remember that they were, at that count of
 * news. */
bool lua_ordinal_is_set(uint64_t main, uint64_t outline, uint64_t news);
void lua_ordinal_are_set(uint64_t main, uint64_t outline, uint64_t news);

INLINE uint64_t lua_ordinal_mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * GOLDEN;
	return a ^ a >> 32;
}
