/* zone.h - the names of zones: spans of time that a program names, which are
 * recorded as calls of that name. Hook-safe.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/thread_state.h"

/* The key of zones of that name, of which as much is kept as a chunk can hold.
 * If there is no room for another name: a key that stands for all such names.
 * Takes about 20 ns. */
uint64_t zone_key(const char *name);

INLINE bool zone_is(uint64_t key)
{
	const uint64_t all = KEY_LUA | KEY_MARK | KEY_ZONE;

	return (key & all) == all;
}

/* Its name, which is never freed. */
INLINE const char *zone_name(uint64_t key)
{
	return (const char *)(key & ~(KEY_LUA | KEY_MARK | KEY_ZONE));
}
