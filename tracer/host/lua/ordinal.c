/* ordinal.c - ordinals by prototype. SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua/ordinal.h"

/* Prototypes whose ordinal was always 0, nearly all, have no entry. An entry
 * that another thread is writing reads as one that was never set. */

enum { ORDINAL_BITS = 16, MAIN_BITS = 12 };

struct ordinal {
	uint64_t at;             /* the prototype's address */
	_Atomic uint64_t number;
	_Atomic uint64_t check;  /* mixes all that and the trait */
};

static struct limited_map ordinals;
static _Atomic uint64_t news;
static _Atomic uint64_t mains[1 << MAIN_BITS];

static bool is_ordinal_of(const void *entry, const void *key)
{
	return ((const struct ordinal *)entry)->at == *(const uint64_t *)key;
}

static struct ordinal *find_ordinal(uint64_t at)
{
	return pointer_map_find(&ordinals.map, at, is_ordinal_of, &at);
}

static struct ordinal *add_ordinal(uint64_t at)
{
	struct ordinal *const o = limited_map_is_full(&ordinals) ? NULL :
				  memory_get(sizeof(*o));

	if (!o)
		return NULL;
	o->at = at;
	return limited_map_add(&ordinals, at, is_ordinal_of, &at, o);
}

/* Unlike the number it changes with whatever lies at the address. */
static uint64_t check_of(const struct ordinal *o, uint64_t trait,
			 uint64_t number)
{
	return lua_ordinal_mix(trait, o->at << ORDINAL_BITS | number);
}

static uint32_t read_ordinal(const struct ordinal *o, uint64_t trait)
{
	const uint64_t number = atomic_load_explicit(&o->number,
						     memory_order_acquire);

	return atomic_load_explicit(&o->check, memory_order_relaxed) !=
	       check_of(o, trait, number) ? 0 : (uint32_t)number;
}

uint32_t lua_ordinal_of(uint64_t at, uint64_t trait)
{
	const struct ordinal *const o = find_ordinal(at);

	return !o ? 0 : read_ordinal(o, trait);
}

bool lua_ordinal_set(uint64_t at, uint64_t trait, uint32_t ordinal)
{
	struct ordinal *o = find_ordinal(at);

	CHECKED(ordinal < 1 << ORDINAL_BITS);
	if (!o && ordinal != 0)
		o = add_ordinal(at);
	if (!o || read_ordinal(o, trait) == ordinal)
		return false;
	atomic_store(&o->check, 0);
	atomic_store(&o->number, ordinal);
	atomic_store(&o->check, check_of(o, trait, ordinal));
	atomic_fetch_add(&news, 1);
	return true;
}

uint64_t lua_ordinal_news(void)
{
	return atomic_load(&news);
}

static uint64_t main_check(uint64_t main, uint64_t outline, uint64_t before)
{
	return lua_ordinal_mix(lua_ordinal_mix(outline, main), before);
}

bool lua_ordinal_is_set(uint64_t main, uint64_t outline, uint64_t before)
{
	return atomic_load_explicit(&mains[hash_place(main, MAIN_BITS)],
				    memory_order_relaxed) ==
	       main_check(main, outline, before);
}

void lua_ordinal_are_set(uint64_t main, uint64_t outline, uint64_t before)
{
	atomic_store_explicit(&mains[hash_place(main, MAIN_BITS)],
			      main_check(main, outline, before),
			      memory_order_relaxed);
}
