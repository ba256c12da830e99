/* zone.c - names of zones, each kept once. SPDX-License-Identifier: MIT */
#include "tracer/host/thread/zone.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

/* A program may make names without end, which nobody reads one by one. */
enum { ZONES_MOST = 4096 };

static struct limited_map zones;
static const char too_many[] = "(too many zones)";

static bool is_name(const void *entry, const void *key)
{
	return strncmp(entry, key, CHUNK_STRING_MAX) == 0;
}

static char *make(const char *name, size_t length)
{
	char *const made = memory_get(length + 1);

	if (made)
		memcpy(made, name, length);
	return made;
}

uint64_t zone_key(const char *name)
{
	const size_t length = strnlen(name, CHUNK_STRING_MAX);
	const uint64_t hash = XXH64(name, length, 0);
	const char *kept = pointer_map_find(&zones.map, hash, is_name, name);
	char *made;

	if (!kept && atomic_load(&zones.count) < ZONES_MOST) {
		made = make(name, length);
		if (made)
			kept = limited_map_add(&zones, hash, is_name, name,
					       made);
	}
	return (uint64_t)(kept ? kept : too_many) | KEY_LUA | KEY_MARK |
	       KEY_ZONE;
}
