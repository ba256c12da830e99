/* map.c - open addressing with linear probing. Removal closes the gap, so no
 * tombstones are needed.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

#include <assert.h>
#include <string.h>

/* used is 0 for a free slot. A used slot may hold the number 0: map_put returns
 * a place that its caller fills later. */
struct slot {
	uint64_t a, b;
	uint32_t number, used;
};

/* Invariants: room is a power of 2; count <= room * 3 / 4. */
struct map {
	struct slot *slots;
	size_t room, count;
};

enum { FIRST_ROOM = 16 };

static size_t hash(uint64_t a, uint64_t b)
{
	uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) ^ b;

	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	h ^= h >> 29;
	return (size_t)h;
}

struct map *map_new(void)
{
	struct map *const m = mem_alloc(sizeof(*m));

	m->room = FIRST_ROOM;
	m->slots = mem_alloc(m->room * sizeof(*m->slots));
	return m;
}

void map_free(struct map *m)
{
	if (!m)
		return;
	mem_free_all(m->slots, m);
}

/* The key's slot, or the free one where it would go. */
static size_t probe(const struct map *m, uint64_t a, uint64_t b)
{
	size_t i = hash(a, b) & (m->room - 1);

	while (m->slots[i].used &&
	       (m->slots[i].a != a || m->slots[i].b != b))
		i = (i + 1) & (m->room - 1);
	return i;
}

static void grow(struct map *m)
{
	const struct map old = *m;

	m->room *= 2;
	m->slots = mem_alloc(m->room * sizeof(*m->slots));
	for (size_t i = 0; i < old.room; i++)
		if (old.slots[i].used)
			m->slots[probe(m, old.slots[i].a, old.slots[i].b)] =
				old.slots[i];
	mem_free(old.slots);
}

uint32_t map_find(const struct map *m, uint64_t a, uint64_t b)
{
	const struct slot *const s = &m->slots[probe(m, a, b)];

	return s->used ? s->number : 0;
}

uint32_t *map_put(struct map *m, uint64_t a, uint64_t b)
{
	struct slot *s;

	if (m->count >= m->room / 4 * 3)
		grow(m);
	s = &m->slots[probe(m, a, b)];
	if (!s->used) {
		*s = (struct slot){ .a = a, .b = b, .used = 1 };
		m->count++;
		assert(m->count < m->room);
	}
	return &s->number;
}

/* A slot after the hole moves into it, unless that puts it before the slot
 * where its probing begins. */
void map_remove(struct map *m, uint64_t a, uint64_t b)
{
	const size_t mask = m->room - 1;
	size_t hole = probe(m, a, b);

	if (!m->slots[hole].used)
		return;
	assert(m->count > 0);
	for (size_t i = (hole + 1) & mask; m->slots[i].used;
	     i = (i + 1) & mask) {
		const size_t home = hash(m->slots[i].a, m->slots[i].b) & mask;

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole] = (struct slot){ 0 };
	m->count--;
}

void map_clear(struct map *m)
{
	memset(m->slots, 0, m->room * sizeof(*m->slots));
	m->count = 0;
}

size_t map_count(const struct map *m)
{
	return m->count;
}
