/* code_name.c - names of Lua functions by prototype. A prototype comes to lie
 * where others lay; texts are kept once each. SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua/code_name.h"
#include "tracer/host/lua/function.h"
#include "tracer/host/lua/ordinal.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

/* Programs may load chunks without end: what is kept of them is limited. */
enum { MOST = 1 << 17 };

/* The name of what lies at an address. An entry that another thread is writing
 * has none. */
struct entry {
	uint64_t at;
	_Atomic(const struct lua_code_name *) name;
	_Atomic uint64_t check; /* mixes all that and the trait */
};

static struct pointer_map entries, texts;
static _Atomic uint32_t entry_count, text_count;

/* ------------------------------------------------------------------- texts */

struct text { const char *at; uint32_t size; uint64_t hash; };

static bool is_text(const void *entry, const void *key)
{
	const struct lua_code_name *const n = entry;
	const struct text *const t = key;

	return n->hash == t->hash && n->size == t->size &&
	       memcmp(n->text, t->at, t->size) == 0;
}

static struct lua_code_name *add_text(const struct text *t)
{
	struct lua_code_name *const n =
		atomic_fetch_add(&text_count, 1) >= MOST ? NULL :
		memory_get(sizeof(*n) + t->size);

	if (!n)
		return NULL;
	n->hash = t->hash;
	n->size = t->size;
	memcpy(n->text, t->at, t->size);
	return pointer_map_add(&texts, t->hash, is_text, t, n);
}

/* NULL: no room. */
static const struct lua_code_name *text_of(const char *text, uint32_t size)
{
	const struct text t = { text, size, XXH64(text, size, 0) };
	const struct lua_code_name *const n =
		pointer_map_find(&texts, t.hash, is_text, &t);

	return n ? n : add_text(&t);
}

/* ----------------------------------------------------------------- entries */

static bool is_entry(const void *entry, const void *key)
{
	return ((const struct entry *)entry)->at == *(const uint64_t *)key;
}

static struct entry *find(uint64_t at)
{
	return pointer_map_find(&entries, at, is_entry, &at);
}

static struct entry *add(uint64_t at)
{
	struct entry *const e =
		atomic_fetch_add(&entry_count, 1) >= MOST ? NULL :
		memory_get(sizeof(*e));

	if (!e)
		return NULL;
	e->at = at;
	return pointer_map_add(&entries, at, is_entry, &at, e);
}

static uint64_t check_of(uint64_t at, uint64_t trait,
			 const struct lua_code_name *name)
{
	return lua_ordinal_mix(lua_ordinal_mix(trait, at), (uint64_t)name);
}

static const struct lua_code_name *read_name(const struct entry *e,
					     uint64_t trait)
{
	const struct lua_code_name *const name =
		atomic_load_explicit(&e->name, memory_order_acquire);

	return name && atomic_load_explicit(&e->check, memory_order_relaxed) ==
		       check_of(e->at, trait, name) ? name : NULL;
}

const struct lua_code_name *lua_code_name_of(uint64_t at, uint64_t trait)
{
	const struct entry *const e = find(at);

	return !e ? NULL : read_name(e, trait);
}

void lua_code_name_set(uint64_t at, uint64_t trait, const char *text,
		       uint32_t size)
{
	struct entry *e = find(at);
	const struct lua_code_name *const old = !e ? NULL :
						read_name(e, trait);
	const struct lua_code_name *name = NULL;

	if (old && old->size == size && memcmp(old->text, text, size) == 0)
		return;
	if (size > 0)
		name = text_of(text, size);
	if (!e && name)
		e = add(at);
	if (!e)
		return;
	atomic_store(&e->check, 0);
	atomic_store(&e->name, name);
	atomic_store(&e->check, check_of(at, trait, name));
}
