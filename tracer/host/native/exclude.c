/* exclude.c - which Lua libraries call our hooks. A library that is a Lua and
 * nothing else is excluded whole; of a larger one, which may hold the program,
 * those functions that are seen while Lua alone runs.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/native/exclude.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"

#include <dlfcn.h>
#include <string.h>

struct excluded exclude_code[EXCLUDE_MOST];
_Atomic uint32_t exclude_count;

_Atomic uint32_t exclude_known;
THREAD_LOCAL enum exclude_learning exclude_learning;
_Atomic uint32_t exclude_learners;

/* The modules in which functions are known one by one. */
static struct excluded larger[EXCLUDE_MOST];
static _Atomic uint32_t larger_count;

/* Only code that was built with the flag refers to the hooks, and to both. */
static bool calls_hooks(const struct dynamic *s)
{
	for (int k = 0; k < 2; k++) {
		const size_t n = s->sizes[k] / sizeof(*s->relocs[k]);

		for (size_t i = 0; i < n; i++) {
			const uint64_t of = ELF64_R_SYM(
				s->relocs[k][i].r_info);

			if (of != 0 && strcmp(s->names + s->symbols[of].st_name,
					"__cyg_profile_func_enter") == 0)
				return true;
		}
	}
	return false;
}

/* Variables tell nothing, nor do names that begin with an underscore, which are
 * the compiler's and the linker's. */
static bool is_of_lua(const struct dynamic *s, uint32_t i)
{
	const char *const name = s->names + s->symbols[i].st_name;

	return ELF64_ST_TYPE(s->symbols[i].st_info) != STT_FUNC ||
	       name[0] == '_' || strncmp(name, "lua", 3) == 0 ||
	       strncmp(name, "lj_", 3) == 0;
}

/* Are all functions that it defines Lua's? Each bucket's chain ends with a word
 * whose lowest bit is set. */
static bool is_lua_alone(const struct dynamic *s)
{
	const uint32_t buckets = !s->hash ? 0 : s->hash[0];
	const uint32_t first = buckets == 0 ? 0 : s->hash[1];
	const uint32_t *const bucket = buckets == 0 ? NULL :
				       s->hash + 4 + 2 * s->hash[2];
	const uint32_t *const chain = bucket + buckets;
	bool some = false;

	for (uint32_t b = 0; b < buckets; b++) {
		uint32_t i = bucket[b];

		if (i < first)
			continue;
		do {
			if (!is_of_lua(s, i))
				return false;
			some = true;
		} while ((chain[i++ - first] & 1) == 0);
	}
	return some;
}

/* Adds a module, without a lock, unless it is there. If all places are taken it
 * is left out. */
static void add_excluded(struct excluded *to, _Atomic uint32_t *count,
			 const struct dl_find_object *o)
{
	const uint64_t start = (uint64_t)o->dlfo_map_start;
	const uint32_t n = atomic_load(count);
	uint64_t none = 0;

	for (uint32_t i = 0; i < EXCLUDE_MOST; i++) {
		if (atomic_load(&to[i].start) == start)
			return;
		/* Until its size is set it holds no address. */
		if (!atomic_compare_exchange_strong(&to[i].start, &none,
						    start)) {
			none = 0;
			continue;
		}
		atomic_store(&to[i].size, (uint64_t)o->dlfo_map_end - start);
		if (i >= n)
			atomic_store(count, i + 1);
		return;
	}
}

void exclude_look(const void *address)
{
	struct dl_find_object o;
	struct dynamic s;

	if (!address || _dl_find_object((void *)(uintptr_t)address, &o) != 0 ||
	    exclude_has((uint64_t)address) ||
	    !dynamic_read(&s, o.dlfo_link_map))
		return;
	/* A program exports what its libraries ask for: that tells nothing. */
	if (o.dlfo_link_map->l_name[0] == '\0' || !calls_hooks(&s) ||
	    !is_lua_alone(&s))
		return;
	add_excluded(exclude_code, &exclude_count, &o);
	/* Calls of functions that we stand in for have our address. */
	if (_dl_find_object(&exclude_count, &o) == 0)
		add_excluded(exclude_code, &exclude_count, &o);
}

/* ------------------------------------------------------------- one by one */

/* A function that is excluded; GONE once its module is. */
struct function {
	_Atomic uint64_t address;
};

enum { GONE = 1 };

static struct pointer_map functions;

static bool is_function(const void *function, const void *address)
{
	return atomic_load_explicit(
		       &((const struct function *)function)->address,
		       memory_order_relaxed) == *(const uint64_t *)address;
}

bool exclude_knows(uint64_t function)
{
	return pointer_map_find(&functions, function, is_function, &function) !=
	       NULL;
}

void exclude_add(uint64_t function)
{
	struct function *made;

	exclude_learning = EXCLUDE_LEARNED;
	if (exclude_knows(function))
		return;
	made = memory_get(sizeof(*made));
	if (!made)
		return;
	atomic_store(&made->address, function);
	if (pointer_map_add(&functions, function, is_function, &function,
			    made) == made)
		atomic_fetch_add(&exclude_known, 1);
}

bool exclude_learn(const void *address)
{
	struct dl_find_object o;
	struct dynamic s;

	if (!address ||
	    _dl_find_object((void *)(uintptr_t)address, &o) != 0 ||
	    exclude_has((uint64_t)address) ||
	    !dynamic_read(&s, o.dlfo_link_map) || !calls_hooks(&s))
		return false;
	add_excluded(larger, &larger_count, &o);
	exclude_learning = EXCLUDE_LEARNING;
	atomic_fetch_add(&exclude_learners, 1);
	return true;
}

bool exclude_learned(void)
{
	const bool some = exclude_learning == EXCLUDE_LEARNED;

	exclude_learning = EXCLUDE_NOTHING;
	atomic_fetch_sub(&exclude_learners, 1);
	return some;
}

/* --------------------------------------------------------- modules that go */

/* Does another module, or none, lie where this one lay? */
static bool has_gone(const struct excluded *q)
{
	const uint64_t start = atomic_load(&q->start);
	struct dl_find_object o;

	return start != 0 && (_dl_find_object((void *)start, &o) != 0 ||
			      (uint64_t)o.dlfo_map_start != start ||
			      (uint64_t)o.dlfo_map_end - start !=
			      atomic_load(&q->size));
}

/* The size first: an entry with size 0 holds no address. */
static void drop(struct excluded *q)
{
	atomic_store(&q->size, 0);
	atomic_store(&q->start, 0);
}

/* The entry cannot be removed from the map, so it gets an address that no
 * function has. */
static void forget(void *entry, const void *module)
{
	const struct excluded *const q = module;
	struct function *const f = entry;

	if (atomic_load(&f->address) - atomic_load(&q->start) <
	    atomic_load(&q->size))
		atomic_store(&f->address, GONE);
}

void exclude_check(void)
{
	for (uint32_t i = 0; i < EXCLUDE_MOST; i++) {
		if (has_gone(&exclude_code[i]))
			drop(&exclude_code[i]);
		if (has_gone(&larger[i])) {
			pointer_map_each(&functions, forget, &larger[i]);
			drop(&larger[i]);
		}
	}
}
