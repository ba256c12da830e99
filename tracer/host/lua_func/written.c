/* written.c - ordinals and names by prototype. SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua_func/written.h"

#include <string.h>

enum { ORDINAL_MOST = UINT16_MAX, MAIN_BITS = 12 };

/* What is kept, in words: the name ends with its size or a zero. */
struct known {
	uint64_t ordinal;
	char name[LUA_WRITTEN_NAME];
};
enum { WORDS = sizeof(struct known) / sizeof(uint64_t) };

/* Prototypes of which nothing was ever known have none. One that another thread
 * is writing reads as one that was never set. */
struct written {
	uint64_t at;             /* the prototype's address */
	_Atomic uint64_t word[WORDS];
	_Atomic uint64_t check;  /* mixes all that and the trait */
};

static struct limited_map all_written;
static _Atomic uint64_t news;
static _Atomic uint64_t mains[1 << MAIN_BITS];

static bool is_written_at(const void *entry, const void *key)
{
	return ((const struct written *)entry)->at == *(const uint64_t *)key;
}

static struct written *find_written(uint64_t at)
{
	return pointer_map_find(&all_written.map, at, is_written_at, &at);
}

static struct written *add_written(uint64_t at)
{
	struct written *const w = limited_map_is_full(&all_written) ? NULL :
				  memory_get(sizeof(*w));

	if (!w)
		return NULL;
	w->at = at;
	return limited_map_add(&all_written, at, is_written_at, &at, w);
}

/* Unlike what is kept it changes with whatever lies at the address. */
static uint64_t check_of(uint64_t at, uint64_t trait,
			 const uint64_t word[WORDS])
{
	uint64_t sum = hash_mix(trait, at);

	for (int i = 0; i < WORDS; i++)
		sum = hash_mix(sum, word[i]);
	return sum;
}

/* w may be NULL. */
static struct known read_written(const struct written *w, uint64_t trait)
{
	struct known k = { .ordinal = 0 };
	uint64_t word[WORDS];

	for (int i = 0; w && i < WORDS; i++)
		word[i] = atomic_load_explicit(&w->word[i],
					       memory_order_acquire);
	if (w && atomic_load_explicit(&w->check, memory_order_relaxed) ==
		 check_of(w->at, trait, word))
		memcpy(&k, word, sizeof(k));
	return k;
}

/* Returns false if there is no room. */
static bool write_written(uint64_t at, uint64_t trait, const struct known *k)
{
	struct written *w = find_written(at);
	uint64_t word[WORDS];

	if (!w)
		w = add_written(at);
	if (!w)
		return false;
	memcpy(word, k, sizeof(word));
	atomic_store(&w->check, 0);
	for (int i = 0; i < WORDS; i++)
		atomic_store(&w->word[i], word[i]);
	atomic_store(&w->check, check_of(at, trait, word));
	return true;
}

uint32_t lua_written_ordinal(uint64_t at, uint64_t trait)
{
	return (uint32_t)read_written(find_written(at), trait).ordinal;
}

bool lua_written_set_ordinal(uint64_t at, uint64_t trait, uint32_t ordinal)
{
	struct known k = read_written(find_written(at), trait);

	CHECKED(ordinal <= ORDINAL_MOST);
	if (k.ordinal == ordinal)
		return false;
	k.ordinal = ordinal;
	if (!write_written(at, trait, &k))
		return false;
	atomic_fetch_add(&news, 1);
	return true;
}

uint32_t lua_written_name(uint64_t at, uint64_t trait,
			  char name[LUA_WRITTEN_NAME])
{
	const struct known k = read_written(find_written(at), trait);

	memcpy(name, k.name, sizeof(k.name));
	return (uint32_t)strnlen(name, sizeof(k.name));
}

void lua_written_set_name(uint64_t at, uint64_t trait, const char *name,
			  uint32_t size)
{
	const struct written *const w = find_written(at);
	struct known k = read_written(w, trait);
	char now[LUA_WRITTEN_NAME] = { 0 };

	memcpy(now, name, size);
	/* Half of the room is for ordinals, which most functions have not. */
	if (memcmp(now, k.name, sizeof(now)) == 0 ||
	    (!w && atomic_load(&all_written.count) >= LIMITED_MAP_MOST / 2))
		return;
	memcpy(k.name, now, sizeof(now));
	write_written(at, trait, &k);
}

uint64_t lua_written_news(void)
{
	return atomic_load(&news);
}

static uint64_t main_check(uint64_t main, uint64_t outline, uint64_t before)
{
	return hash_mix(hash_mix(outline, main), before);
}

bool lua_written_is_set(uint64_t main, uint64_t outline, uint64_t before)
{
	return atomic_load_explicit(&mains[hash_place(main, MAIN_BITS)],
				    memory_order_relaxed) ==
	       main_check(main, outline, before);
}

void lua_written_are_set(uint64_t main, uint64_t outline, uint64_t before)
{
	atomic_store_explicit(&mains[hash_place(main, MAIN_BITS)],
			      main_check(main, outline, before),
			      memory_order_relaxed);
}
