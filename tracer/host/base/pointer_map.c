/* pointer_map.c - tables of growing size, each open addressing in which a
 * place only ever goes from NULL to an entry. Where all places that an entry
 * may have are taken it goes to the next table; a search ends at the first
 * free place, so that all threads look for a key in the same order of
 * places. SPDX-License-Identifier: MIT */
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/base/memory.h"

/* The tables have 2^10, 2^12 ... places; an entry has 24 in a row in each. */
enum { FIRST_BITS = 10, GROW_BITS = 2, PROBES = 24 };

typedef void *_Atomic place;

static int bits_of(int table)
{
	return FIRST_BITS + table * GROW_BITS;
}

/* The place that a search looks at in that table, as its probe-th. */
static place *place_of(place *t, int table, uint64_t hash, uint32_t probe)
{
	const int bits = bits_of(table);

	return &t[(hash_place(hash, bits) + probe) &
		  ((UINT64_C(1) << bits) - 1)];
}

/* The table, made when it is first needed; NULL: no memory. */
static place *open_table(struct pointer_map *m, int i)
{
	place *t = atomic_load_explicit(&m->table[i], memory_order_acquire);
	place *made;

	if (t)
		return t;
	made = memory_get(sizeof(place) << bits_of(i));
	if (!made)
		return NULL;
	return atomic_compare_exchange_strong(&m->table[i], &t, made) ? made :
	       t;
}

/* Entries are never removed, so behind the first free place there can be none
 * with this key. */
void *pointer_map_find(const struct pointer_map *m, uint64_t hash,
		       pointer_map_match *match, const void *key)
{
	for (int i = 0; i < POINTER_MAP_TABLES; i++) {
		place *const t = atomic_load_explicit(&m->table[i],
						      memory_order_acquire);

		for (uint32_t k = 0; k < PROBES; k++) {
			void *const entry = !t ? NULL : atomic_load_explicit(
				place_of(t, i, hash, k), memory_order_acquire);

			if (!entry)
				return NULL;
			if (match(entry, key))
				return entry;
		}
	}
	return NULL;
}

/* A thread that loses the race for a place looks at what the other one has put
 * there: it may have the same key. */
void *pointer_map_add(struct pointer_map *m, uint64_t hash,
		      pointer_map_match *match, const void *key, void *entry)
{
	for (int i = 0; i < POINTER_MAP_TABLES; i++) {
		place *const t = open_table(m, i);

		if (!t)
			return NULL;
		for (uint32_t k = 0; k < PROBES; k++) {
			void *there = NULL;

			if (atomic_compare_exchange_strong(
				    place_of(t, i, hash, k), &there, entry))
				return entry;
			if (match(there, key))
				return there;
		}
	}
	return NULL;
}

void *pointer_map_offer(const struct pointer_map *m, uint64_t hash,
			bool (*take)(void *entry, const void *context),
			const void *context)
{
	enum { OFFERED = 2 }; /* of each table */

	for (int i = 0; i < POINTER_MAP_TABLES; i++) {
		place *const t = atomic_load_explicit(&m->table[i],
						      memory_order_acquire);

		for (uint32_t k = 0; k < OFFERED; k++) {
			void *const entry = !t ? NULL : atomic_load_explicit(
				place_of(t, i, hash, k), memory_order_acquire);

			if (!entry)
				return NULL;
			if (take(entry, context))
				return entry;
		}
	}
	return NULL;
}

void pointer_map_each(const struct pointer_map *m,
		      void (*visit)(void *entry, const void *context),
		      const void *context)
{
	for (int i = 0; i < POINTER_MAP_TABLES; i++) {
		place *const t = atomic_load(&m->table[i]);

		for (uint64_t k = 0; t && k < UINT64_C(1) << bits_of(i); k++) {
			void *const entry = atomic_load(&t[k]);

			if (entry)
				visit(entry, context);
		}
	}
}

void *limited_map_add(struct limited_map *m, uint64_t hash,
		      pointer_map_match *match, const void *key, void *made)
{
	void *const entry = pointer_map_add(&m->map, hash, match, key, made);

	CHECKED(!entry || match(entry, key));
	if (entry == made)
		atomic_fetch_add(&m->count, 1);
	return entry;
}
