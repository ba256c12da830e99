/* hist.c - most nodes see calls of one step, which one word holds with its
 * count; further steps go to a small hash table.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/hist.h"
#include "analyzer/base/mem.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* Up to SMALL pairs a block grows only when it is full, and is searched
 * whole. */
enum { SMALL = 8 };

#define ONE (UINT64_C(1) << HIST_KEY_BITS)

static uint32_t key_in(uint64_t pair)
{
	return (uint32_t)(pair & (ONE - 1));
}

static uint32_t step_in(uint64_t pair)
{
	return key_in(pair) >> 1;
}

/* The key's pair or the free one where it goes; NULL if there is none. Close
 * steps are close in memory. */
static uint64_t *find(struct hist_block *b, uint64_t key)
{
	uint32_t i = (uint32_t)(key >> 1);

	for (uint32_t n = 0; n <= b->mask; n++, i++) {
		uint64_t *const pair = &b->pair[i & b->mask];

		if (*pair == 0 || key_in(*pair) == key)
			return pair;
	}
	return NULL;
}

static struct hist_block *new_block(uint32_t room)
{
	struct hist_block *const b = mem_alloc(sizeof(*b) +
					  room * sizeof(b->pair[0]));

	b->mask = room - 1;
	return b;
}

static struct hist_block *block_of(uint64_t word)
{
	return (struct hist_block *)(uintptr_t)word;
}

/* A block of twice the size with the same pairs. */
static struct hist_block *grow(struct hist_block *old)
{
	struct hist_block *const b = new_block(2 * (old->mask + 1));

	b->used = old->used;
	for (uint32_t i = 0; i <= old->mask; i++)
		if (old->pair[i])
			*find(b, key_in(old->pair[i])) = old->pair[i];
	mem_free(old);
	return b;
}

static bool is_full(const struct hist_block *b)
{
	const uint32_t room = b->mask + 1;

	return room <= SMALL ? b->used == room : b->used * 4 >= room * 3;
}

void hist_add(struct hist *h, size_t i, uint32_t step, uint64_t n)
{
	uint64_t *const word = &h->slot[i];
	const uint64_t key = (uint64_t)step << 1 | 1;
	struct hist_block *b;
	uint64_t *pair;

	assert(i < h->room && step < HIST_STEPS);
	if (*word == 0 || ((*word & 1) && key_in(*word) == key)) {
		*word = (*word | key) + n * ONE;
		return;
	}
	if (*word & 1) {
		b = new_block(2);
		*find(b, key_in(*word)) = *word;
		b->used = 1;
	} else {
		b = block_of(*word);
	}
	pair = find(b, key);
	if (!pair || (*pair == 0 && is_full(b))) {
		b = grow(b);
		pair = find(b, key);
	}
	b->used += *pair == 0;
	*pair = (*pair | key) + n * ONE;
	*word = (uintptr_t)b;
}

void hist_counts(const struct hist *h, size_t i, uint64_t *counts)
{
	const uint64_t word = h->slot[i];
	const struct hist_block *const b = block_of(word);

	if (word & 1) {
		counts[step_in(word)] += word >> HIST_KEY_BITS;
		return;
	}
	for (uint32_t k = 0; word && k <= b->mask; k++)
		counts[step_in(b->pair[k])] += b->pair[k] >> HIST_KEY_BITS;
}

void hist_join(struct hist *to, size_t k, const struct hist *from, size_t i)
{
	const uint64_t word = from->slot[i];
	const struct hist_block *const b = block_of(word);

	if (word & 1) {
		hist_add(to, k, step_in(word), word >> HIST_KEY_BITS);
		return;
	}
	for (uint32_t j = 0; word && j <= b->mask; j++)
		if (b->pair[j])
			hist_add(to, k, step_in(b->pair[j]),
				 b->pair[j] >> HIST_KEY_BITS);
}

uint64_t hist_least(uint32_t step)
{
	const unsigned top = step < 16 ? 0 : step / 8 - 1;

	return (uint64_t)(step - top * 8) << top;
}

/* The middle of a step, rounded down. */
static uint64_t middle(uint32_t step)
{
	const unsigned top = step < 16 ? 0 : step / 8 - 1;

	return hist_least(step) + ((UINT64_C(1) << top) - 1) / 2;
}

uint64_t hist_quantile(const uint64_t *counts, uint64_t n, unsigned part,
		       uint64_t least, uint64_t most)
{
	const uint64_t rank = (uint64_t)(((unsigned __int128)n * part + 999) /
					 1000);
	uint64_t seen = 0, value = most;

	for (uint32_t step = 0; step < HIST_STEPS; step++) {
		seen += counts[step];
		if (seen >= rank && counts[step]) {
			value = middle(step);
			break;
		}
	}
	return value < least ? least : value > most ? most : value;
}

struct hist *hist_new(size_t room)
{
	struct hist *const h = mem_alloc(sizeof(*h));

	hist_need(h, room);
	return h;
}

void hist_need(struct hist *h, size_t room)
{
	if (room <= h->room)
		return;
	h->slot = mem_grow(h->slot, room, sizeof(*h->slot));
	memset(h->slot + h->room, 0, (room - h->room) * sizeof(*h->slot));
	h->room = room;
}

void hist_free(struct hist *h)
{
	if (!h)
		return;
	for (size_t i = 0; i < h->room; i++)
		if (h->slot[i] && !(h->slot[i] & 1))
			mem_free(block_of(h->slot[i]));
	mem_free_all(h->slot, h);
}
