/* names.c - what functions are called by the tables that they are in, and when
 * Lua's own name for a call is none. Tables are read raw: nothing allocates,
 * runs a metamethod or raises an error.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua_abi/abi.h"

#include <errno.h>
#include <stdlib.h>

/* How many entries of a table are looked at, and of all tables each time. Fewer
 * of tables that are no library's: they may hold any data. */
enum { TABLE_LOOK = 4096, LOOK = 1 << 16, OTHER_LOOK = 512,
       OTHERS_LOOK = 1 << 13, LIBRARIES = 32 };

/* Ways to functions: tables in tables, from the registry on. */
enum step {
	TO_FUNCTIONS, /* these are looked at: the last step of each way */
	TO_LOADED, TO_GLOBALS, /* package.loaded, and what it has as _G */
	TO_LIBRARY,   /* but no globals, and not package, whose functions have
	               * names already: name_package */
	TO_NAMED,     /* under a name; no library */
	TO_KEPT,      /* the program keeps it to call what is in it, under a key
	               * that names nothing; no library */
};

struct look {
	const struct lua_vm *vm;
	lua_State *L;
	names_key_fn *key_of;
	const struct lua_cached *called;
	enum c_name_rank rank; /* of what is looked through */
	int left;              /* entries */
	const void *seen[LIBRARIES]; /* libraries: not looked through again */
	int libraries;
	const enum step *way;  /* the steps that are left of it */
};

typedef void entry_fn(struct look *k, const char *key, const char *group);

static bool is_table(const struct look *k)
{
	return API(&k->vm->lib->api, lua_type)(k->L, -1) == LUA_TTABLE;
}

/* Call f for the entries of the table at this index, which is on top of the
 * stack or no place of it. The value is on top meanwhile. A key that is no
 * string is "". */
static void each_entry(struct look *k, int table, const char *group, int most,
		       entry_fn *f)
{
	const struct weft_lua_api *const api = &k->vm->lib->api;
	lua_State *const L = k->L;

	API(api, lua_pushnil)(L);
	while (API(api, lua_next)(L, table)) {
		f(k, API(api, lua_type)(L, -2) != LUA_TSTRING ? "" :
		  API(api, lua_tolstring)(L, -2, NULL), group);
		API(api, lua_settop)(L, -2);
		if (--most <= 0 || --k->left <= 0) {
			API(api, lua_settop)(L, -2);
			return;
		}
	}
}

/* The same of the table on top of the stack. */
static void each_inside(struct look *k, const char *group, int most,
			entry_fn *f)
{
	each_entry(k, API(&k->vm->lib->api, lua_gettop)(k->L), group, most, f);
}

/* ---------------------------------------------------------------- functions */

uint64_t names_c_address(const struct weft_lua_api *api, lua_State *L,
			 bool *is_library)
{
	const lua_CFunction f = API(api, lua_tocfunction)(L, -1);

	*is_library = !f;
	if (f)
		return lua_func_original((uint64_t)f);
	return IS_JIT ? luajit_library_function(api, L) : 0;
}

/* Has the C function on top of the stack upvalues? */
static bool has_upvalues(const struct look *k)
{
	const struct weft_lua_api *const api = &k->vm->lib->api;
	lua_Debug d;

	API(api, lua_pushvalue)(k->L, -1);
	return API(api, lua_getinfo)(k->L, ">u", &d) && d.nups > 0;
}

/* An entry of a table: it may be a function. */
static void name_function(struct look *k, const char *key, const char *group)
{
	const struct weft_lua_api *const api = &k->vm->lib->api;
	lua_State *const L = k->L;
	uint64_t f, in_library;
	bool is_library;

	if (API(api, lua_type)(L, -1) != LUA_TFUNCTION || key[0] == '\0')
		return;
	if (!API(api, lua_iscfunction)(L, -1)) {
		f = k->key_of(k->vm, L, k->called);
		if (f != 0)
			lua_func_placed(f, group, key);
		return;
	}
	f = names_c_address(api, L, &is_library);
	in_library = !IS_JIT ? 0 : luajit_library_function(api, L);
	if (f != 0 && !is_library && has_upvalues(k))
		lua_c_name_closure(f, k->vm->serial,
				   (uint64_t)API(api, lua_topointer)(L, -1),
				   k->rank, group, key);
	else if (f != 0)
		lua_c_name(f, k->rank, group, key);
	if (in_library != 0) /* names a neighbour, too: lua_c_builtin */
		lua_c_name(in_library, k->rank, group, key);
}

/* ---------------------------------------------------------------- libraries */

#if LUA_VERSION_NUM >= 502
#define SEARCHERS "searchers"
#else
#define SEARCHERS "loaders"
#endif

/* package.searchers, by place; and package.preload, whose entries may be one
 * function for all modules. */
static void name_package(struct look *k, const char *key, const char *group)
{
	const struct weft_lua_api *const api = &k->vm->lib->api;
	lua_State *const L = k->L;
	const bool is_preload = strcmp(key, "preload") == 0;
	char name[] = SEARCHERS "[0]";
	const int table = API(api, lua_gettop)(L);

	(void)group;
	if (!is_table(k) || (!is_preload && strcmp(key, SEARCHERS) != 0))
		return;
	k->rank = is_preload ? C_NAME_OTHER : C_NAME_LIBRARY;
	API(api, lua_pushnil)(L);
	for (int i = 1; i <= (is_preload ? TABLE_LOOK : 9) &&
	     API(api, lua_next)(L, table); i++) {
		name[sizeof(SEARCHERS)] = (char)('0' + i);
		name_function(k, is_preload ? "preload[...]" : name,
			      "package");
		API(api, lua_settop)(L, -2);
	}
	k->rank = C_NAME_LIBRARY;
	API(api, lua_settop)(L, table);
}

/* Is the table on top of the stack a library? */
static bool was_seen(const struct look *k)
{
	const void *const t = API(&k->vm->lib->api, lua_topointer)(k->L, -1);
	int i = 0;

	while (i < k->libraries && k->seen[i] != t)
		i++;
	return i < k->libraries;
}

/* An entry of package.loaded. Globals have no group. */
static void name_library(struct look *k, const char *key, const char *group)
{
	(void)group;
	if (!is_table(k) || key[0] == '\0')
		return;
	if (k->libraries < LIBRARIES)
		k->seen[k->libraries++] =
			API(&k->vm->lib->api, lua_topointer)(k->L, -1);
	each_inside(k, strcmp(key, "_G") == 0 ? NULL : key, TABLE_LOOK,
		    name_function);
	if (strcmp(key, "package") == 0)
		each_inside(k, NULL, TABLE_LOOK, name_package);
}

/* An entry of the registry: package.loaded. */
static void name_loaded(struct look *k, const char *key, const char *group)
{
	(void)group;
	if (strcmp(key, "_LOADED") == 0 && is_table(k))
		each_inside(k, NULL, TABLE_LOOK, name_library);
}

/* An entry of a type's metatable. What __close has is mostly __gc, too. */
static void name_method(struct look *k, const char *key, const char *group)
{
	if (strcmp(key, "__index") == 0 && is_table(k))
		each_inside(k, group, TABLE_LOOK, name_function);
	else if (strcmp(key, "__close") != 0)
		name_function(k, key, group);
}

/* An entry of the registry: the metatable of a type, under its name. What
 * begins with "_" is Lua's own, and no type, but for that of its buffers. */
static void name_type(struct look *k, const char *key, const char *group)
{
	(void)group;
	if ((key[0] != '_' || strcmp(key, "_UBOX*") == 0) && key[0] != '\0' &&
	    is_table(k))
		each_inside(k, key, TABLE_LOOK, name_method);
}

/* ------------------------------------------------------------- other tables */

static bool is_taken(const struct look *k, enum step step, const char *key)
{
	switch (step) {
	case TO_LOADED:
		return strcmp(key, "_LOADED") == 0;
	case TO_GLOBALS:
		return strcmp(key, "_G") == 0;
	case TO_LIBRARY:
		return key[0] != '\0' && strcmp(key, "_G") != 0 &&
		       strcmp(key, "package") != 0;
	case TO_NAMED:
		return key[0] != '\0' && !was_seen(k);
	default:
		return key[0] == '\0' && !was_seen(k);
	}
}

static void name_on_way(struct look *k, const char *key, const char *group)
{
	const enum step step = *k->way, next = k->way[1];
	char names[LUA_NAME_MOST + 1];

	if (!is_table(k) || !is_taken(k, step, key))
		return;
	names[lua_name_join(names, group, key)] = '\0';
	k->way++;
	each_inside(k, step == TO_LIBRARY || step == TO_NAMED ? names : NULL,
		    next == TO_FUNCTIONS ? OTHER_LOOK : TABLE_LOOK,
		    next == TO_FUNCTIONS ? name_function : name_on_way);
	k->way--;
}

/* ---------------------------------------------------------------- the looks */

/* Is there room on L's stack for a look? Surely in a hook. LuaJIT makes it, a
 * library of an earlier weft's table cannot be asked; nor can 5.1, which throws
 * an error if there is no memory: frames_walk does without. */
static bool has_room(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 502
	return !api->lua_checkstack || API(api, lua_checkstack)(L, 16);
#else
	(void)api;
	(void)L;
	return true;
#endif
}

/* Looks through all libraries that are loaded, then through types, then through
 * what else is near, and then through tables in all that. */
void names_look(const struct lua_vm *vm, lua_State *L, names_key_fn *key_of,
		const struct lua_cached *called)
{
	static const enum step ways[][5] = {
		{ TO_KEPT },
		{ TO_LOADED, TO_GLOBALS, TO_NAMED },
		{ TO_LOADED, TO_LIBRARY, TO_NAMED },
		{ TO_LOADED, TO_GLOBALS, TO_LIBRARY, TO_NAMED },
		{ TO_KEPT, TO_KEPT },
	};
	const struct weft_lua_api *const api = &vm->lib->api;
	const int top = API(api, lua_gettop)(L);
	const int registry = compat_registry(api, L);
	struct look k = { .vm = vm, .L = L, .key_of = key_of, .called = called,
			  .rank = C_NAME_LIBRARY, .left = LOOK };

	if (!has_room(api, L))
		return;
	each_entry(&k, registry, NULL, LOOK, name_loaded);
	k.rank = C_NAME_TYPE;
	each_entry(&k, registry, NULL, TABLE_LOOK, name_type);
	k.rank = C_NAME_OTHER;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		k.left = OTHERS_LOOK;
		k.way = ways[i];
		each_entry(&k, registry, NULL, LOOK, name_on_way);
	}
	API(api, lua_settop)(L, top);
}

/* ------------------------------------------------------------------- errors */

/* Does the message begin with where this frame is? So luaG_runerror has it. */
static bool has_place(const char *message, const lua_Debug *d)
{
	const size_t n = strlen(d->short_src);
	const int saved = errno;
	char *end;
	bool has;

	if (strncmp(message, d->short_src, n) != 0 || message[n] != ':')
		return false;
	has = strtol(message + n + 1, &end, 10) == d->currentline &&
	      *end == ':';
	errno = saved;
	return has;
}

bool names_an_error(const struct weft_lua_api *api, lua_State *L, uint64_t id)
{
	lua_Debug d;

	return API(api, lua_getstack)(L, 0, &d) && layout_id(&d) == id &&
	       API(api, lua_gettop)(L) >= 1 &&
	       API(api, lua_type)(L, 1) == LUA_TSTRING &&
	       API(api, lua_getstack)(L, 1, &d) &&
	       API(api, lua_getinfo)(L, "Sl", &d) &&
	       has_place(API(api, lua_tolstring)(L, 1, NULL), &d);
}
