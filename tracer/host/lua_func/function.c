/* function.c - Lua functions by content. SPDX-License-Identifier: MIT */
#include "tracepoints/item.h"
#include "tracer/host/weft.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/thread/chunk_dictionary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

static struct limited_map functions;

/* ----------------------------------------------------------- Lua functions */

/* What tells a function from all others. */
struct function_id {
	uint64_t hash;        /* of the whole source, and of the body if that
	                       * tells functions of one source apart */
	uint64_t length;      /* of the whole source */
	int32_t first, last;  /* lines */
	uint32_t ordinal;
};

/* One of a function's names by its callers. */
struct call_name {
	struct call_name *next;
	_Atomic uint32_t count; /* the calls that were asked about */
	uint32_t length;
	char text[];
};

struct lua_func {
	_Atomic uint32_t asks; /* first: see lua_func_is_asked */
	_Atomic uint32_t asked;
	struct function_id is;
	uint32_t stored;
	const char *text;     /* the source's beginning */
	_Atomic(struct call_name *) names;
	_Atomic(struct call_name *) most; /* the most frequent one */
	_Atomic bool is_renamed; /* since its last item */
};

/* Stands for every function that there is no room for. */
static struct lua_func too_many = {
	.is.length = 21, .stored = 21, .text = "=(too many functions)",
};

/* Keeps no more of the source than a chunk can hold. */
static struct lua_func *make_function(const struct function_id *is,
				      const char *source)
{
	const size_t stored = is->length < CHUNK_STRING_MAX ? is->length :
			      CHUNK_STRING_MAX;
	struct lua_func *const f = memory_get(sizeof(*f) + stored);
	char *text;

	if (!f)
		return NULL;
	f->text = text = (char *)(f + 1);
	f->is = *is;
	f->stored = (uint32_t)stored;
	memcpy(text, source, stored);
	return f;
}

static bool is_function(const void *entry, const void *key)
{
	const struct lua_func *const f = entry;
	const struct function_id *const a = &f->is, *const b = key;

	return a->hash == b->hash && a->length == b->length &&
	       a->first == b->first && a->last == b->last &&
	       a->ordinal == b->ordinal;
}

bool lua_func_may_be_many(const char *source, size_t length)
{
	/* What has none of these as a text does nothing: it is a name, such as
	 * "?", which Lua gives to what the host gave none. */
	const char *const others = length > 0 && source[0] == '@' ? "/." :
				   "/.({[=\"'\n";

	if (length == 0 || source[0] == '=')
		return true;
	for (size_t i = 0; i < length; i++)
		if (strchr(others, source[i]))
			return false;
	return true;
}

static uint64_t hash_of(const struct function_id *is)
{
	const uint64_t lines = (uint64_t)(uint32_t)is->first << 32 |
			       (uint32_t)is->last;

	return is->hash ^ lines ^ (uint64_t)is->ordinal << 20;
}

static struct lua_func *find_function(const struct function_id *is)
{
	return pointer_map_find(&functions.map, hash_of(is), is_function, is);
}

/* A program may make sources of one name without end, which nobody reads one by
 * one: the functions that are told apart by their bodies, by source. Sources
 * that share a place share the limit. */
enum { BODIES_BITS = 8, BODIES_MOST = 1024 };
static _Atomic uint32_t bodies[1 << BODIES_BITS];

uint64_t lua_func_key(const char *source, size_t length, int first, int last,
		      uint32_t ordinal, uint64_t body)
{
	const uint64_t hash = XXH64(source, length, 0);
	struct function_id is = { hash ^ body, length, first, last, ordinal };
	struct lua_func *f = find_function(&is), *made;

	if (!f && body != 0 &&
	    atomic_fetch_add(&bodies[hash_place(hash, BODIES_BITS)], 1) >=
	    BODIES_MOST) {
		is.hash = hash;
		f = find_function(&is);
	}
	if (!f && !limited_map_is_full(&functions)) {
		made = make_function(&is, source);
		if (made)
			f = limited_map_add(&functions, hash_of(&is),
					    is_function, &is, made);
	}
	return (uint64_t)(f ? f : &too_many) | KEY_LUA;
}

/* -------------------------------------------------- what callers call them
 * Lua is asked about each of the first calls, then about one call in each chunk
 * that names the function. To ask about more would slow down all calls. */

enum { ASKS_FIRST = 8, ASKS_MOST = 64 };

/* The count of a name that says where the function is, and of one that the code
 * around it gives. */
enum { PLACED = 1 << 16, CODED = 1 << 20 };

static struct lua_func *func_of(uint64_t key)
{
	return (struct lua_func *)(key & ~KEY_LUA);
}

/* Find or add. NULL: no memory. Of names that two threads add at a time, both
 * are kept. */
static struct call_name *call_name_of(struct lua_func *f, const char *name,
				      size_t length)
{
	struct call_name *n = atomic_load(&f->names), *made;

	for (; n; n = n->next)
		if (n->length == length && !memcmp(n->text, name, length))
			return n;
	made = memory_get(sizeof(*made) + length);
	if (!made)
		return NULL;
	made->length = (uint32_t)length;
	memcpy(made->text, name, length);
	made->next = atomic_load(&f->names);
	while (!atomic_compare_exchange_weak(&f->names, &made->next, made))
		;
	return made;
}

/* Is it to be named by its calls? Not main functions and what stands for C
 * functions. */
static bool has_callers(const struct lua_func *f)
{
	return f->is.first > 0 || (f->is.first == NO_LINES && f->is.last == 0);
}

static void rename(struct lua_func *f, struct call_name *n)
{
	atomic_store(&f->most, n);
	atomic_store(&f->is_renamed, true);
}

static void count_name(struct lua_func *f, const char *name)
{
	struct call_name *const n = call_name_of(f, name,
						 strnlen(name, LUA_NAME_PART));
	struct call_name *const most = atomic_load(&f->most);
	const uint32_t count = !n ? 0 : atomic_fetch_add(&n->count, 1) + 1;

	if (n && (!most ||
		  (n != most && count > atomic_load(&most->count))))
		rename(f, n);
}

bool lua_func_called(uint64_t key, const char *name)
{
	struct lua_func *const f = func_of(key);
	uint32_t asked;

	if (!has_callers(f))
		return false;
	if (atomic_load(&f->asks) > 0)
		atomic_fetch_sub(&f->asks, 1);
	asked = atomic_fetch_add(&f->asked, 1);
	if (asked >= ASKS_MOST)
		return false;
	if (name && name[0] != '\0' && name[0] != '?')
		count_name(f, name);
	return asked + 1 >= ASKS_FIRST && !atomic_load(&f->most);
}

/* Does it have a name from code? That one stays. */
static bool is_coded(const struct lua_func *f)
{
	const struct call_name *const most = atomic_load(&f->most);

	return most && atomic_load(&most->count) >= CODED;
}

/* Is the text shorter, or before it in the alphabet? So that the order of a
 * table does not matter. */
static bool is_before(const char *text, size_t length,
		      const struct call_name *n)
{
	return length != n->length ? length < n->length :
	       memcmp(text, n->text, length) < 0;
}

void lua_func_placed(uint64_t key, const char *group, const char *name)
{
	struct lua_func *const f = func_of(key);
	const struct call_name *const most = atomic_load(&f->most);
	char text[LUA_NAME_MOST];
	const size_t length = lua_name_join(text, group, name);
	struct call_name *n;

	if (!(key & KEY_LUA) || !has_callers(f) || is_coded(f) ||
	    (most && (atomic_load(&most->count) < PLACED ||
		      !is_before(text, length, most))))
		return;
	n = call_name_of(f, text, length);
	if (!n)
		return;
	atomic_store(&n->count, PLACED);
	rename(f, n);
}

/* Of several, the first one. */
void lua_func_coded(uint64_t key, const char *name, uint32_t length)
{
	struct lua_func *const f = func_of(key);
	struct call_name *const n = is_coded(f) || !has_callers(f) ? NULL :
				    call_name_of(f, name, length);

	if (!n)
		return;
	atomic_fetch_add(&n->count, CODED);
	if (atomic_load(&f->most) == n)
		return;
	rename(f, n);
}

/* The function is named in another chunk. */
static void ask_again(struct lua_func *f)
{
	const uint32_t asked = atomic_load(&f->asked);

	if (has_callers(f) && asked < ASKS_MOST && !is_coded(f))
		atomic_store(&f->asks, asked < ASKS_FIRST ?
			     ASKS_FIRST - asked : 1);
}

void lua_func_tell_name(struct thread_state *s, uint64_t key)
{
	struct lua_func *const f = func_of(key);
	const struct call_name *n;
	uint32_t index;

	if (!(key & KEY_LUA) || !atomic_load(&f->is_renamed) ||
	    !atomic_exchange(&f->is_renamed, false))
		return;
	index = dictionary_try_name(s, key);
	n = atomic_load(&f->most);
	if (index != NO_INDEX)
		chunk_put_hint(s, index, n->text, n->length);
}

/* -------------------------------------------------- functions in a chunk */

/* A string of which only the beginning is kept. */
static uint64_t *put_source(uint64_t *to, const struct lua_func *f)
{
	to[0] = string_put(f->stored, f->is.length);
	to[1] = f->is.hash;
	to += 2;
	if (f->stored > 0) {
		to[(f->stored - 1) / 8] = 0;
		memcpy(to, f->text, f->stored);
	}
	return to + (f->stored + 7) / 8;
}

uint32_t lua_func_item(struct thread_state *s, uint64_t key)
{
	struct lua_func *const f = func_of(key);
	const struct call_name *const n = atomic_load(&f->most);
	const uint32_t length = !n ? 0 : n->length;
	const uint32_t words = 2 + item_string_words(f->is.length) +
			       item_string_words(length) +
			       (f->is.ordinal != 0);
	uint64_t *const item = chunk_item(s, words);

	CHECKED((key & KEY_LUA) && !(key & KEY_MARK));
	if (!item)
		return UINT32_MAX;
	item[0] = item_put(ITEM_LUA, words);
	item[1] = (uint64_t)(uint32_t)f->is.first << 32 |
		  (uint32_t)f->is.last;
	if (f->is.ordinal != 0)
		item[words - 1] = f->is.ordinal;
	item_put_string(put_source(item + 2, f), !n ? "" : n->text, length);
	chunk_publish_items(s);
	atomic_store(&f->is_renamed, false);
	ask_again(f);
	return s->items - words;
}

/* As the recorder finds it in the item. */
uint64_t lua_func_verdict(uint64_t key, struct function_origin *from)
{
	const struct lua_func *const f = func_of(key);
	const struct function_id *const is = &f->is;

	if (key & KEY_MARK)
		return 0;
	*from = (struct function_origin){ is->hash, f->text, f->stored };
	return verdict_of_lua(is->hash, (uint64_t)(uint32_t)is->first << 32 |
					(uint32_t)is->last, is->ordinal);
}

/* ------------------------------------------------- what lies at an address */

enum { SOURCE_BITS = 8 };

static struct source {
	_Atomic uint64_t current, last;
} sources[1 << SOURCE_BITS];

const _Atomic uint64_t lua_func_never = 1;

static _Atomic uint32_t times_unseen = 1;

static struct source *source_at(uint64_t source)
{
	return &sources[hash_place(source, SOURCE_BITS)];
}

const _Atomic uint64_t *lua_func_current(uint64_t source)
{
	return &source_at(source)->current;
}

void lua_func_changed(uint64_t source)
{
	atomic_fetch_add(&source_at(source)->current, 1);
}

uint64_t lua_func_main_runs(uint64_t source, const char *text, size_t length,
			    uint64_t body)
{
	const uint64_t hash = XXH64(text, length, 0) ^ body;
	const uint64_t what = hash ^ source;

	if (atomic_exchange(&source_at(source)->last, what) != what)
		lua_func_changed(source);
	return hash;
}

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
