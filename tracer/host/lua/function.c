/* function.c - two insert-only hash tables: Lua functions by content, names of
 * C functions by address. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/thread/chunk.h"
#include "tracer/host/base/memory.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOT_BITS = 17, SLOTS = 1 << SLOT_BITS, PROBES = 256, NAME_BYTES = 64 };

/* Which it is of its source's. */
struct spot { int32_t first, last; uint32_t ordinal; };

struct lua_func {
	uint64_t hash;        /* of the whole source */
	uint64_t length;      /* of the whole source */
	struct spot at;
	uint32_t stored, name_length;
	const char *text;     /* the source's beginning, then the name */
};

struct c_name {
	uint64_t address;
	uint32_t length;
	char text[];
};

typedef void *_Atomic slot;

static slot *_Atomic funcs, *_Atomic names;

/* Stands for every function beyond the table's room. */
static const struct lua_func too_many = {
	.length = 21, .stored = 21, .text = "=(too many functions)",
};

static slot *table(slot *_Atomic *which)
{
	slot *t = atomic_load_explicit(which, memory_order_acquire), *made;

	if (likely(t))
		return t;
	made = mmap(NULL, SLOTS * sizeof(slot), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (made == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(which, &t, made))
		return made;
	munmap(made, SLOTS * sizeof(slot));
	return t;
}

static uint32_t place(uint64_t hash, uint32_t probe)
{
	return (uint32_t)((hash >> (64 - SLOT_BITS)) + probe) & (SLOTS - 1);
}

/* ---------------------------------------------------------- Lua functions */

static uint64_t mix(uint64_t hash, const struct spot *p)
{
	const uint64_t lines = (uint64_t)(uint32_t)p->first << 32 |
			       (uint32_t)p->last;

	return (hash ^ lines ^ (uint64_t)p->ordinal << 20) * GOLDEN;
}

static struct lua_func *make(const char *source, size_t length, uint64_t hash,
			     const struct spot *at, const char *name)
{
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;
	const size_t named = !name ? 0 : strnlen(name, NAME_BYTES);
	struct lua_func *const f = memory_get(sizeof(*f) + stored + named);
	char *text;

	if (!f)
		return NULL;
	f->text = text = (char *)(f + 1);
	f->hash = hash;
	f->length = length;
	f->at = *at;
	f->stored = (uint32_t)stored;
	f->name_length = (uint32_t)named;
	memcpy(text, source, stored);
	if (named > 0)
		memcpy(text + stored, name, named);
	return f;
}

static int is(const struct lua_func *f, uint64_t hash, size_t length,
	      const struct spot *at)
{
	return f->hash == hash && f->length == length &&
	       f->at.first == at->first && f->at.last == at->last &&
	       f->at.ordinal == at->ordinal;
}

static uint64_t key_of(const void *f)
{
	return (uint64_t)f | KEY_LUA;
}

uint64_t lua_func_key(const char *source, size_t length, int first, int last,
		      uint32_t ordinal, const char *name)
{
	const int saved = errno;
	const uint64_t hash = XXH64(source, length, 0);
	const struct spot at = { first, last, ordinal };
	const uint64_t mixed = mix(hash, &at);
	slot *const t = table(&funcs);
	struct lua_func *made = NULL;

	errno = saved;
	for (uint32_t i = 0; t && i < PROBES; i++) {
		slot *const p = &t[place(mixed, i)];
		void *f = atomic_load_explicit(p, memory_order_acquire);

		if (!f) {
			if (!made)
				made = make(source, length, hash, &at, name);
			if (!made)
				break;
			if (atomic_compare_exchange_strong(p, &f, made))
				return key_of(made);
		}
		if (is(f, hash, length, &at))
			return key_of(f);
	}
	return key_of(&too_many);
}

/* The string of an item whose text is kept only in part. */
static uint64_t *put_source(uint64_t *to, const struct lua_func *f)
{
	to[0] = string_put(f->stored, f->length);
	to[1] = f->hash;
	to += 2;
	if (f->stored > 0) {
		to[(f->stored - 1) / 8] = 0;
		memcpy(to, f->text, f->stored);
	}
	return to + (f->stored + 7) / 8;
}

uint32_t lua_func_item(struct thread_state *s, uint64_t key)
{
	const struct lua_func *const f = (const void *)(key & ~KEY_LUA);
	const uint32_t words = 2 + chunk_string_words(f->length) +
			       chunk_string_words(f->name_length) +
			       (f->at.ordinal != 0);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return UINT32_MAX;
	item[0] = item_put(ITEM_LUA, words);
	item[1] = (uint64_t)(uint32_t)f->at.first << 32 |
		  (uint32_t)f->at.last;
	if (f->at.ordinal != 0)
		item[words - 1] = f->at.ordinal;
	chunk_put_string(put_source(item + 2, f), f->text + f->stored,
			 f->name_length);
	chunk_publish_items(s);
	return s->items - words;
}

/* ------------------------------------------------- what lies at an address */

enum { SOURCE_BITS = 8 };

static struct {
	_Atomic uint64_t current, last;
} sources[1 << SOURCE_BITS];

const _Atomic uint64_t lua_func_never = 1;

static uint32_t source_place(uint64_t source)
{
	return (uint32_t)((source * GOLDEN) >> (64 - SOURCE_BITS));
}

const _Atomic uint64_t *lua_func_current(uint64_t source)
{
	return &sources[source_place(source)].current;
}

uint64_t lua_func_main_runs(uint64_t source, const char *text, size_t length)
{
	const uint64_t hash = XXH64(text, length, 0);
	const uint64_t what = hash ^ source;
	const uint32_t i = source_place(source);

	if (atomic_exchange(&sources[i].last, what) != what)
		atomic_fetch_add(&sources[i].current, 1);
	return hash;
}

void lua_func_changed(uint64_t source)
{
	atomic_fetch_add(&sources[source_place(source)].current, 1);
}

static _Atomic uint32_t times_unseen = 1;

uint32_t lua_func_times_unseen(void)
{
	return atomic_load(&times_unseen);
}

void lua_func_unseen(void)
{
	atomic_fetch_add(&times_unseen, 1);
	for (uint32_t i = 0; i < 1u << SOURCE_BITS; i++) {
		atomic_store(&sources[i].last, 0);
		atomic_fetch_add(&sources[i].current, 1);
	}
}

/* ---------------------------------------------------- names of C functions */

static uint64_t spread(uint64_t address)
{
	return address * GOLDEN;
}

static const struct c_name *find_name(uint64_t address)
{
	slot *const t = atomic_load_explicit(&names, memory_order_acquire);

	for (uint32_t i = 0; t && i < PROBES; i++) {
		const struct c_name *const n = atomic_load_explicit(
			&t[place(spread(address), i)], memory_order_acquire);

		if (!n)
			return NULL;
		if (n->address == address)
			return n;
	}
	return NULL;
}

int lua_func_is_named(uint64_t address)
{
	return find_name(address) != NULL;
}

static struct c_name *make_name(uint64_t address, const char *group,
				const char *name)
{
	const size_t a = !group ? 0 : strnlen(group, NAME_BYTES);
	const size_t b = strnlen(name, NAME_BYTES);
	struct c_name *const n = memory_get(sizeof(*n) + a + 1 + b);
	char *to;

	if (!n)
		return NULL;
	n->address = address;
	to = n->text;
	if (a > 0) {
		memcpy(to, group, a);
		to[a] = '.';
		to += a + 1;
	}
	memcpy(to, name, b);
	n->length = (uint32_t)(to + b - n->text);
	return n;
}

void lua_func_name(uint64_t address, const char *group, const char *name)
{
	const int saved = errno;
	slot *const t = table(&names);
	struct c_name *made = NULL;

	errno = saved;
	if (!t || find_name(address))
		return;
	for (uint32_t i = 0; i < PROBES; i++) {
		slot *const p = &t[place(spread(address), i)];
		void *n = atomic_load_explicit(p, memory_order_acquire);

		if (!n) {
			if (!made)
				made = make_name(address, group, name);
			if (!made ||
			    atomic_compare_exchange_strong(p, &n, made))
				return;
		}
		if (((const struct c_name *)n)->address == address)
			return;
	}
}

/* Beyond every key: that its returns are not told; that it calls others. */
#define LATE (UINT64_C(1) << 61)
#define FFI (UINT64_C(1) << 60)

void lua_func_ffi(uint64_t address)
{
	lua_func_name(address | FFI, NULL, "");
}

int lua_func_is_ffi(uint64_t address)
{
	return lua_func_is_named(address | FFI);
}

void lua_func_late(uint64_t key)
{
	lua_func_name(key | LATE, NULL, "");
}

/* Text of at most NAME_BYTES after what stands in to already. */
static size_t add(char *to, size_t length, const char *text, size_t more)
{
	more = more < 2 * NAME_BYTES ? more : 2 * NAME_BYTES;
	memcpy(to + length, text, more);
	return length + more;
}

uint64_t lua_func_builtin(uint64_t place, const char *event)
{
	const struct c_name *n = find_name(place);
	char text[4 * NAME_BYTES];
	size_t length = add(text, 0, "=[builtin:", 10);
	uint64_t key;

	if (n) {
		length = add(text, length, n->text, n->length);
	} else if (event) {
		length = add(text, length, event, strnlen(event, NAME_BYTES));
	} else if ((n = find_name(place + 1)) != NULL) {
		/* What a library's function returns has the number before. */
		length = add(text, length, n->text, n->length);
		length = add(text, length, "_aux", 4);
	} else {
		length = add(text, length, "?", 1);
	}
	length = add(text, length, "]", 1);
	key = lua_func_key(text, length, -1, -1, 0, NULL);
	lua_func_late(key);
	return key;
}

static void put_late(struct thread_state *s, uint32_t index)
{
	uint64_t *const item = chunk_item(s, 2);

	if (!item)
		return;
	item[0] = item_put(ITEM_LATE, 2);
	item[1] = index;
	chunk_publish_items(s);
}

void lua_func_hint(struct thread_state *s, uint64_t key, uint32_t index)
{
	const struct c_name *const n = find_name(key);
	uint32_t words;
	uint64_t *item;

	if (find_name(key | LATE))
		put_late(s, index);
	if (!n)
		return;
	words = 2 + chunk_string_words(n->length);
	item = chunk_item(s, words);
	if (!item)
		return;
	item[0] = item_put(ITEM_HINT, words);
	item[1] = index;
	chunk_put_string(item + 2, n->text, n->length);
	chunk_publish_items(s);
}
