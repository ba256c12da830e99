/* pointer_map.h - a hash table of pointers to objects, to which any thread may
 * add without a lock. Entries are never removed, and their objects never freed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

/* The last table has 2^20 places. */
enum { POINTER_MAP_TABLES = 6 };

/* All zero: empty. */
struct pointer_map {
	void *_Atomic *_Atomic table[POINTER_MAP_TABLES];
};

/* Is this entry the one with that key? */
typedef bool pointer_map_match(const void *entry, const void *key);

/* The entry with this key, or NULL. hash: of the key, need not be spread out.
 * Hook-safe. */
void *pointer_map_find(const struct pointer_map *m, uint64_t hash,
		       pointer_map_match *match, const void *key);

/* Adds an entry, which must be complete, as other threads see it at once.
 * Returns it, or the entry with this key that was there already; NULL: no
 * memory, or no place is left for this hash. Hook-safe. */
void *pointer_map_add(struct pointer_map *m, uint64_t hash,
		      pointer_map_match *match, const void *key, void *entry);

/* Few of the entries that are looked at first for this hash are offered: the
 * first that take accepts, or NULL. Its owner may give it a key with this hash,
 * by which it is found then, and no longer by the old one. Hook-safe. */
void *pointer_map_offer(const struct pointer_map *m, uint64_t hash,
			bool (*take)(void *entry, const void *context),
			const void *context);

/* Calls visit for every entry, in no order; entries that are added meanwhile
 * may be left out. */
void pointer_map_each(const struct pointer_map *m,
		      void (*visit)(void *entry, const void *context),
		      const void *context);

/* ------------------------------------------------------------- limited maps
 * Programs may load code without end: what is kept of it is limited. */

enum { LIMITED_MAP_MOST = 1 << 17 };

/* All zero: empty. */
struct limited_map {
	struct pointer_map map;
	_Atomic uint32_t count;
};

/* To be asked before an entry is made. Two threads may go past the limit by one
 * entry each. */
INLINE bool limited_map_is_full(const struct limited_map *m)
{
	return atomic_load_explicit(&m->count, memory_order_relaxed) >=
	       LIMITED_MAP_MOST;
}

/* Like pointer_map_add. */
void *limited_map_add(struct limited_map *m, uint64_t hash,
		      pointer_map_match *match, const void *key, void *made);
