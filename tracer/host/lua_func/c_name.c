/* c_name.c - what Lua calls C functions. SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/base/pointer_map.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/thread/chunk_dictionary.h"

#include <string.h>

struct name {
	enum c_name_rank rank;
	uint32_t group;  /* the length of that part, with the dot */
	uint32_t length;
	char text[LUA_NAME_MOST];
};

enum { OWN_NAME = UINT32_MAX };

enum { ASKS_MOST = 16, LASTS_MOST = 64 };

struct entry {
	uint64_t address;
	_Atomic(const struct name *) name; /* NULL: none */
	_Atomic uint64_t closure; /* that has the name, and its VM; or 0 */
	_Atomic uint32_t common;  /* the length of what the groups of its names
				   * have in common, of which any may be meant;
				   * or OWN_NAME */
	_Atomic bool is_keyed;    /* the name without its group is what all of
				   * its names are */
	_Atomic uint32_t asks;    /* calls without a name */
	_Atomic bool is_told;     /* that it got one later */
};

static struct limited_map entries;

static bool is_of(const void *e, const void *key)
{
	return ((const struct entry *)e)->address == *(const uint64_t *)key;
}

static struct entry *find_entry(uint64_t address)
{
	return pointer_map_find(&entries.map, address, is_of, &address);
}

/* NULL: no memory, or too many. */
static struct entry *find_or_add(uint64_t address)
{
	struct entry *e = find_entry(address);

	if (e || limited_map_is_full(&entries))
		return e;
	e = memory_get(sizeof(*e));
	if (!e)
		return NULL;
	e->address = address;
	e->common = OWN_NAME;
	return limited_map_add(&entries, address, is_of, &address, e);
}

static const struct name *name_of(uint64_t address)
{
	const struct entry *const e = find_entry(address);

	return !e ? NULL : atomic_load(&e->name);
}

bool lua_c_is_named(uint64_t address)
{
	return name_of(address) != NULL;
}

bool lua_c_is_asked_again(uint64_t address)
{
	struct entry *const e = find_or_add(address);

	return e && !atomic_load(&e->name) &&
	       atomic_fetch_add(&e->asks, 1) < ASKS_MOST;
}

bool lua_c_is_asked_last(uint64_t address)
{
	static _Atomic uint32_t lasts;
	const struct entry *const e = find_entry(address);

	return e && atomic_load(&e->asks) == ASKS_MOST &&
	       atomic_fetch_add(&lasts, 1) < LASTS_MOST;
}

static bool is_text(const struct name *n, const char *text)
{
	return n && n->length == strlen(text) &&
	       memcmp(n->text, text, n->length) == 0;
}

bool lua_c_has_name(uint64_t address, const char *name)
{
	return is_text(name_of(address), name);
}

/* --------------------------------------------------------- the better name */

/* Those of all versions of Lua. */
static const char *const libraries[] = {
	"bit", "bit32", "coroutine", "debug", "ffi", "io", "jit", "math", "os",
	"package", "string", "table", "utf8", NULL
};
static const char *const globals[] = {
	"assert", "collectgarbage", "dofile", "error", "gcinfo", "getfenv",
	"getmetatable", "ipairs", "load", "loadfile", "loadstring", "module",
	"newproxy", "next", "pairs", "pcall", "print", "rawequal", "rawget",
	"rawlen", "rawset", "require", "select", "setfenv", "setmetatable",
	"tonumber", "tostring", "type", "unpack", "warn", "xpcall", NULL
};

/* Older names of string.gmatch and math.fmod, which 5.1 and LuaJIT have too. */
static const char *const outdated[] = { "gfind", "mod", NULL };

static bool is_one_of(const char *const *words, const char *word)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words;
}

/* What Lua calls for an event is mostly a method, too. */
static bool is_event(const struct name *n)
{
	return n->length - n->group >= 2 &&
	       memcmp(n->text + n->group, "__", 2) == 0;
}

static bool is_better(const struct name *a, const struct name *b)
{
	if (!b || a->rank != b->rank)
		return !b || a->rank < b->rank;
	if (is_event(a) != is_event(b))
		return is_event(b);
	return a->length != b->length ? a->length < b->length :
	       memcmp(a->text, b->text, a->length) < 0;
}

static struct name make_name(enum c_name_rank rank, const char *group,
			     const char *name)
{
	struct name n = { .rank = rank };

	n.length = (uint32_t)lua_name_join(n.text, group, name);
	n.group = n.length - (uint32_t)strnlen(name, LUA_NAME_PART);
	if (rank == C_NAME_LIBRARY && is_one_of(group ? libraries : globals,
						group ? group : name) &&
	    !(group && is_one_of(outdated, name)))
		n.rank = C_NAME_STANDARD;
	return n;
}

static void set_better(struct entry *e, const struct name *n)
{
	const struct name *old = atomic_load(&e->name);
	struct name *const made = !is_better(n, old) ? NULL :
				  memory_get(sizeof(*made));

	if (!made)
		return;
	*made = *n;
	while (is_better(made, old) &&
	       !atomic_compare_exchange_weak(&e->name, &old, made))
		;
}

/* --------------------------------------------- one function that is several */

static bool is_same_key(const struct name *a, const struct name *b)
{
	const uint32_t length = a->length - a->group;

	return b->length - b->group == length &&
	       memcmp(a->text + a->group, b->text + b->group, length) == 0;
}

/* How much of their groups, up to a dot. */
static uint32_t in_common(const struct name *a, const struct name *b)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < a->group && i < b->group &&
	     a->text[i] == b->text[i]; i++)
		if (a->text[i] == '.')
			length = i + 1;
	return length;
}

/* The function has both names, and what runs under one may be something else
 * than what runs under the other. */
static void set_common(struct entry *e, const struct name *a,
		       const struct name *b)
{
	const uint32_t common = in_common(a, b);

	if (is_same_key(a, b))
		atomic_store(&e->is_keyed, true);
	else if (!is_event(a) && !is_event(b) &&
		 atomic_load(&e->common) > common)
		atomic_store(&e->common, common);
}

static bool is_same(const struct name *a, const struct name *b)
{
	return a->length == b->length &&
	       memcmp(a->text, b->text, a->length) == 0;
}

/* Addresses of objects have fewer bits. */
enum { VM_SHIFT = 48 };

/* closure: 0: it has no upvalues. Then it is one function under all names, but
 * types share what handles an event. */
static void add_name(struct entry *e, const struct name *n, uint64_t closure)
{
	const struct name *const had = atomic_load(&e->name);
	const uint64_t named = atomic_load(&e->closure);
	const bool is_another = closure != 0 && closure != named &&
				(closure ^ named) >> VM_SHIFT == 0;
	const struct name *now;

	if (had && !is_same(had, n) &&
	    (is_another || (is_event(n) && is_same_key(had, n) &&
			    had->rank == C_NAME_TYPE &&
			    n->rank == C_NAME_TYPE)))
		set_common(e, had, n);
	set_better(e, n);
	now = atomic_load(&e->name);
	if (had && now && !is_same_key(had, now))
		atomic_store(&e->is_keyed, false);
	if (closure != 0 && now && is_same(now, n))
		atomic_store(&e->closure, closure);
}

void lua_c_name(uint64_t address, enum c_name_rank rank, const char *group,
		const char *name)
{
	lua_c_name_closure(address, 0, 0, rank, group, name);
}

void lua_c_name_closure(uint64_t address, uint32_t vm, uint64_t closure,
			enum c_name_rank rank, const char *group,
			const char *name)
{
	const struct name n = make_name(rank, group, name);
	struct entry *const e = find_or_add(address);

	if (e)
		add_name(e, &n, closure == 0 ? 0 :
			 (uint64_t)vm << VM_SHIFT ^ closure);
}

/* --------------------------------------------------------- what else is known
 * These bits lie beyond every address: entries of their own, without a name. */

#define UNTOLD (UINT64_C(1) << 61)
#define FFI (UINT64_C(1) << 60)

void lua_c_set_ffi(uint64_t address)
{
	find_or_add(address | FFI);
}

bool lua_c_is_ffi(uint64_t address)
{
	return find_entry(address | FFI) != NULL;
}

void lua_c_set_untold(uint64_t key)
{
	find_or_add(key | UNTOLD);
}

/* What returns the function at this place, or NULL. The program may have put
 * that one into a table, but it has the number before what returns it. */
static const struct name *returned_by(uint64_t place)
{
	const struct name *const next = name_of(place + 1);

	return is_text(next, "ipairs") || is_text(next, "coroutine.wrap") ?
	       next : NULL;
}

/* Returns the new length. Names are cut: text has room for two of them. */
static size_t append(char *to, size_t length, const char *text, size_t more)
{
	more = more < LUA_NAME_MOST ? more : LUA_NAME_MOST;
	memcpy(to + length, text, more);
	return length + more;
}

uint64_t lua_c_builtin(uint64_t place, const char *event)
{
	const struct name *const by = returned_by(place);
	const struct name *const n = by ? by : name_of(place);
	char text[2 * LUA_NAME_MOST];
	size_t length = append(text, 0, "=[builtin:", 10);
	uint64_t key;

	if (by)
		length = append(text, length, "return of ", 10);
	if (n) {
		length = append(text, length, n->text, n->length);
	} else if (event) {
		length = append(text, length, event,
				strnlen(event, LUA_NAME_PART));
	} else {
		length = append(text, length, "?", 1);
	}
	length = append(text, length, "]", 1);
	key = lua_func_key(text, length, -1, -1, 0, 0);
	lua_c_set_untold(key);
	return key;
}

/* ----------------------------------------------------------------- the hint */

static void put_name(struct thread_state *s, uint32_t index,
		     const struct entry *e)
{
	const struct name *const n = atomic_load(&e->name);
	const uint32_t common = atomic_load(&e->common);
	const uint32_t from = !n || !atomic_load(&e->is_keyed) ? 0 : n->group;
	char text[LUA_NAME_PART + 2];

	if (n && common == OWN_NAME) {
		chunk_put_hint(s, index, n->text + from, n->length - from);
	} else if (n && common > 0) {
		memcpy(text, n->text, common);
		text[common] = '*';
		chunk_put_hint(s, index, text, common + 1);
	}
}

void lua_c_hint(struct thread_state *s, uint64_t key, uint32_t index)
{
	const struct entry *const e = find_entry(key);
	uint64_t *const item = find_entry(key | UNTOLD) ? chunk_item(s, 2) :
			       NULL;

	if (item) {
		item[0] = item_put(ITEM_UNTOLD_RETURN, 2);
		item[1] = index;
		chunk_publish_items(s);
	}
	if (e)
		put_name(s, index, e);
}

void lua_c_tell_name(struct thread_state *s, uint64_t key)
{
	struct entry *const e = find_entry(key);
	uint32_t index;

	if (!e || atomic_load(&e->asks) == 0 || !atomic_load(&e->name) ||
	    atomic_exchange(&e->is_told, true))
		return;
	index = dictionary_try_name(s, key);
	if (index != NO_INDEX)
		put_name(s, index, e);
}
