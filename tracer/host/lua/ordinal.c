/* ordinal.c - a hash table of addresses, each with what was said of it last;
 * of those with ordinal 0 alone it holds nothing, which is nearly all. Without
 * locks: an entry that is being written is one that nobody made.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/ordinal.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum {
	SLOT_BITS = 17, SLOTS = 1 << SLOT_BITS, PROBES = 64, ORDINAL_BITS = 16,
	MAIN_BITS = 12,
};

struct slot {
	_Atomic uint64_t who;   /* address, then ordinal; never 0 again */
	_Atomic uint64_t check; /* of all that, and the trait */
};

static struct slot *_Atomic slots;
static _Atomic uint64_t news;
static _Atomic uint64_t mains[1 << MAIN_BITS];

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * GOLDEN;
	return a ^ a >> 32;
}

static struct slot *table(int make)
{
	const size_t size = SLOTS * sizeof(struct slot);
	const int saved = errno;
	struct slot *t = atomic_load_explicit(&slots, memory_order_acquire);
	struct slot *made;

	if (t || !make)
		return t;
	made = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	errno = saved;
	if (made == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&slots, &t, made))
		return made;
	munmap(made, size);
	errno = saved;
	return t;
}

/* The address's own, made if asked for; NULL: it has none. */
static struct slot *find(uint64_t at, int make)
{
	struct slot *const t = table(make);
	const uint64_t first = at * GOLDEN >> (64 - SLOT_BITS);

	for (uint32_t i = 0; t && i < PROBES; i++) {
		struct slot *const s = &t[(first + i) & (SLOTS - 1)];
		uint64_t who = atomic_load_explicit(&s->who,
						    memory_order_acquire);

		if (who == 0 && !make)
			return NULL;
		if (who == 0 && atomic_compare_exchange_strong(
					&s->who, &who, at << ORDINAL_BITS))
			return s;
		if (who >> ORDINAL_BITS == at)
			return s;
	}
	return NULL;
}

static uint32_t read(const struct slot *s, uint64_t trait)
{
	const uint64_t who = atomic_load_explicit(&s->who,
						  memory_order_acquire);

	return atomic_load_explicit(&s->check, memory_order_relaxed) !=
	       mix(trait, who) ? 0 : (uint32_t)who & ((1 << ORDINAL_BITS) - 1);
}

uint32_t lua_ordinal_of(uint64_t at, uint64_t trait)
{
	const struct slot *const s = find(at, 0);

	return !s ? 0 : read(s, trait);
}

int lua_ordinal_set(uint64_t at, uint64_t trait, uint32_t ordinal)
{
	struct slot *const s = find(at, ordinal != 0);
	const uint64_t who = at << ORDINAL_BITS | ordinal;

	if (!s || read(s, trait) == ordinal)
		return 0;
	atomic_store(&s->check, 0);
	atomic_store(&s->who, who);
	atomic_store(&s->check, mix(trait, who));
	atomic_fetch_add(&news, 1);
	return 1;
}

uint64_t lua_ordinal_news(void)
{
	return atomic_load(&news);
}

static _Atomic uint64_t *place(uint64_t main)
{
	return &mains[main * GOLDEN >> (64 - MAIN_BITS)];
}

int lua_ordinal_is_set(uint64_t main, uint64_t outline, uint64_t before)
{
	return atomic_load_explicit(place(main), memory_order_relaxed) ==
	       mix(mix(outline, main), before);
}

void lua_ordinal_are_set(uint64_t main, uint64_t outline, uint64_t before)
{
	atomic_store_explicit(place(main), mix(mix(outline, main), before),
			      memory_order_relaxed);
}
