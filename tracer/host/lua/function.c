/* function.c - Lua functions by content, names of C functions by address,
 * ordinals by prototype. SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua/function.h"
#include "tracer/host/thread/chunk_dictionary.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <string.h>

enum { NAME_BYTES = 64 };

/* Programs may load chunks without end: what is kept of them is limited. */
enum { MOST = 1 << 17 };

static struct table {
	struct pointer_map map;
	_Atomic uint32_t count;
} functions, names;

/* Two threads may go past the limit by one entry each. */
static bool is_full(const struct table *t)
{
	return atomic_load_explicit(&t->count, memory_order_relaxed) >= MOST;
}

/* Returns the entry, or the one that another thread has added meanwhile; NULL:
 * no memory. */
static void *add(struct table *t, uint64_t hash, pointer_map_match *match,
		 const void *key, void *made)
{
	void *const entry = pointer_map_add(&t->map, hash, match, key, made);

	CHECKED(!entry || match(entry, key));
	if (entry == made)
		atomic_fetch_add(&t->count, 1);
	return entry;
}

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
	if (!f && !is_full(&functions)) {
		made = make_function(&is, source);
		if (made)
			f = add(&functions, hash_of(&is), is_function, &is,
				made);
	}
	return (uint64_t)(f ? f : &too_many) | KEY_LUA;
}

/* What the function of that index is called. */
static void put_hint(struct thread_state *s, uint32_t index, const char *text,
		     uint32_t length)
{
	const uint32_t words = 2 + chunk_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return;
	item[0] = item_put(ITEM_HINT, words);
	item[1] = index;
	chunk_put_string(item + 2, text, length);
	chunk_publish_items(s);
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
						 strnlen(name, NAME_BYTES));
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

/* group.name. Returns its length. */
static size_t join(char to[2 * NAME_BYTES + 1], const char *group,
		   const char *name)
{
	const size_t a = !group ? 0 : strnlen(group, NAME_BYTES);
	const size_t b = strnlen(name, NAME_BYTES);
	const size_t dot = a > 0;

	memcpy(to, group ? group : "", a);
	memcpy(to + a, ".", dot);
	memcpy(to + a + dot, name, b);
	return a + dot + b;
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
	char text[2 * NAME_BYTES + 1];
	const size_t length = join(text, group, name);
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
		put_hint(s, index, n->text, n->length);
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
	const uint32_t words = 2 + chunk_string_words(f->is.length) +
			       chunk_string_words(length) +
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
	chunk_put_string(put_source(item + 2, f), !n ? "" : n->text, length);
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

/* ---------------------------------------------------- names of C functions */

struct c_name {
	uint64_t address;
	uint32_t length;
	char text[];
};

static bool is_name_of(const void *entry, const void *key)
{
	return ((const struct c_name *)entry)->address ==
	       *(const uint64_t *)key;
}

static const struct c_name *find_name(uint64_t address)
{
	return pointer_map_find(&names.map, address, is_name_of, &address);
}

bool lua_func_is_named(uint64_t address)
{
	return find_name(address) != NULL;
}

bool lua_func_has_name(uint64_t address, const char *name)
{
	const struct c_name *const n = find_name(address);

	return n && n->length == strlen(name) &&
	       memcmp(n->text, name, n->length) == 0;
}

/* Its text is group.name. */
static struct c_name *make_name(uint64_t address, const char *group,
				const char *name)
{
	char text[2 * NAME_BYTES + 1];
	const size_t length = join(text, group, name);
	struct c_name *const n = memory_get(sizeof(*n) + length);

	if (!n)
		return NULL;
	n->address = address;
	n->length = (uint32_t)length;
	memcpy(n->text, text, length);
	return n;
}

void lua_func_name(uint64_t address, const char *group, const char *name)
{
	struct c_name *const n = find_name(address) || is_full(&names) ? NULL :
				 make_name(address, group, name);

	if (n)
		add(&names, address, is_name_of, &address, n);
}

/* Names that only say something of a function: its returns are not told; it is
 * the FFI's. These bits lie beyond every address. */
#define UNTOLD (UINT64_C(1) << 61)
#define FFI (UINT64_C(1) << 60)

void lua_func_ffi(uint64_t address)
{
	lua_func_name(address | FFI, NULL, "");
}

bool lua_func_is_ffi(uint64_t address)
{
	return lua_func_is_named(address | FFI);
}

void lua_func_untold(uint64_t key)
{
	lua_func_name(key | UNTOLD, NULL, "");
}

/* Returns the new length. Names are cut: text has room for two of them. */
static size_t append(char *to, size_t length, const char *text, size_t more)
{
	more = more < 2 * NAME_BYTES ? more : 2 * NAME_BYTES;
	memcpy(to + length, text, more);
	return length + more;
}

static bool is_text(const struct c_name *n, const char *text)
{
	return n->length == strlen(text) && !memcmp(n->text, text, n->length);
}

/* What returns the function at this place, or NULL. The program may have put
 * that one into a table, but it has the number before what returns it. */
static const struct c_name *returned_by(uint64_t place)
{
	const struct c_name *const next = find_name(place + 1);

	return next && (is_text(next, "ipairs") ||
			is_text(next, "coroutine.wrap")) ? next : NULL;
}

uint64_t lua_func_builtin(uint64_t place, const char *event)
{
	const struct c_name *const by = returned_by(place);
	const struct c_name *const n = by ? by : find_name(place);
	char text[4 * NAME_BYTES];
	size_t length = append(text, 0, "=[builtin:", 10);
	uint64_t key;

	if (by)
		length = append(text, length, "return of ", 10);
	if (n) {
		length = append(text, length, n->text, n->length);
	} else if (event) {
		length = append(text, length, event,
				strnlen(event, NAME_BYTES));
	} else {
		length = append(text, length, "?", 1);
	}
	length = append(text, length, "]", 1);
	key = lua_func_key(text, length, -1, -1, 0, 0);
	lua_func_untold(key);
	return key;
}

void lua_func_hint(struct thread_state *s, uint64_t key, uint32_t index)
{
	const struct c_name *const n = find_name(key);
	uint64_t *item;

	item = find_name(key | UNTOLD) ? chunk_item(s, 2) : NULL;
	if (item) {
		item[0] = item_put(ITEM_UNTOLD_RETURN, 2);
		item[1] = index;
		chunk_publish_items(s);
	}
	if (n)
		put_hint(s, index, n->text, n->length);
}

/* ------------------------------------------------------------------ ordinals
 * Prototypes whose ordinal was always 0, nearly all, have no entry. An entry
 * that another thread is writing reads as one that was never set. */

enum { ORDINAL_BITS = 16, MAIN_BITS = 12 };

struct ordinal {
	uint64_t at;             /* the prototype's address */
	_Atomic uint64_t number;
	_Atomic uint64_t check;  /* mixes all that and the trait */
};

static struct table ordinals;
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
	struct ordinal *const o = is_full(&ordinals) ? NULL :
				  memory_get(sizeof(*o));

	if (!o)
		return NULL;
	o->at = at;
	return add(&ordinals, at, is_ordinal_of, &at, o);
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
