/* library.c - the Lua libraries of this process, by the functions that links
 * lead to. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/library.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/link/link.h"
#include "tracer/host/link/stand_in.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"

#include <string.h>

extern const struct lua_abi lua_abi_54, lua_abi_53, lua_abi_52,
	lua_abi_51, lua_abi_21;
/* Left out where its headers were not there to build it. */
__attribute__((weak)) extern const struct lua_abi lua_abi_55;

static const struct lua_abi *const abis[] = {
	&lua_abi_55, &lua_abi_54, &lua_abi_53, &lua_abi_52,
	&lua_abi_51, &lua_abi_21,
};

/* By number. */
static struct lua_lib *_Atomic libs[LUA_LIBS];

static const char *const names[WEFT_LUA_WRAPS] = {
#define X(name) #name,
	WEFT_LUA_WRAPPED(X)
#undef X
};

const char *const *lua_lib_entries;

void *lua_lib_stand_in(unsigned which, int number)
{
	return (void *)(uintptr_t)(lua_lib_entries[which] +
				   number * LUA_LIB_ENTRY);
}

int lua_lib_number_of(const void *function)
{
	for (int i = 0; i < WEFT_LUA_WRAPS; i++) {
		const uintptr_t at = (uintptr_t)function -
				     (uintptr_t)lua_lib_entries[i];

		if (at < LUA_LIBS * LUA_LIB_ENTRY)
			return (int)(at / LUA_LIB_ENTRY);
	}
	return -1;
}

/* --------------------------------------------------------------- libraries */

/* NULL: of no version that is known. */
static const struct lua_abi *abi_of(const struct weft_lua_api *api)
{
	for (size_t i = 0; i < sizeof(abis) / sizeof(abis[0]); i++) {
		if (abis[i] && abis[i]->accepts(api))
			return abis[i];
	}
	return NULL;
}

/* Those that are in no table of a program's. */
static void fill_others(struct lua_lib *lib,
			const weft_lua_function real[WEFT_LUA_WRAPS])
{
	lib->resetthread = real[WEFT_LUA_WRAP_lua_resetthread];
	lib->closethread = real[WEFT_LUA_WRAP_lua_closethread];
	lib->lnewstate = real[WEFT_LUA_WRAP_luaL_newstate];
	lib->openjit = real[WEFT_LUA_WRAP_luaopen_jit];
	lib->setlevel = real[WEFT_LUA_WRAP_lua_setlevel];
}

static void find_opens(struct lua_lib *lib, const struct dynamic *d)
{
	static const char *const opens[WEFT_LUA_OPENS] = {
#define X(name) #name,
		WEFT_LUA_OPENED(X)
#undef X
	};

	for (int i = 0; i < WEFT_LUA_OPENS; i++)
		lib->open[i] = (weft_lua_function)dynamic_find(d, opens[i]);
}

/* Only where a module exports them: a LuaJIT may have been built without. */
static void find_profiler(struct lua_lib *lib, const struct dynamic *d)
{
	lib->profile_start = (weft_lua_function)dynamic_find(d,
						"luaJIT_profile_start");
	lib->profile_stop = (weft_lua_function)dynamic_find(d,
						"luaJIT_profile_stop");
}

/* Those functions that it exports, if it is a module's own. */
static void find_others(struct lua_lib *lib, const struct dynamic *d)
{
	weft_lua_function real[WEFT_LUA_WRAPS];

	for (int i = 0; i < WEFT_LUA_WRAPS; i++)
		real[i] = (weft_lua_function)dynamic_find(d,
							  names[i]);
	fill_others(lib, real);
	find_profiler(lib, d);
}

static void fill_library(struct lua_lib *lib, const struct dynamic *d)
{
	lib->map = d->map;
	lib->api.size = sizeof(lib->api);
#define X(name) lib->api.name = (weft_lua_function)dynamic_find(d, #name);
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
	find_others(lib, d);
	find_opens(lib, d);
	lib->abi = abi_of(&lib->api);
	lib->interposed = true;
}

struct lua_lib *lua_lib_numbered(long number)
{
	return atomic_load_explicit(&libs[number], memory_order_acquire);
}

/* The module that its functions lie in. */
static const struct link_map *module_of(const struct lua_lib *lib)
{
	return dynamic_module_at((void *)lib->api.lua_sethook);
}

/* Does it lie in this module: is it that, or linked into it, or the program's
 * own, if it gave its functions? sethook: what the module exports, or NULL.
 * Another library may lie where one was closed: that is gone. */
static bool is_at(struct lua_lib *lib, const struct link_map *map,
		  const void *sethook)
{
	if (!lib || lib->home != map || (!lib->map && map->l_name[0] != '\0'))
		return false;
	if (module_of(lib) != map ||
	    (sethook && lib->api.lua_sethook != (weft_lua_function)sethook))
		lib->home = NULL;
	return lib->home;
}

static struct lua_lib *known_library(const struct link_map *map,
				     const void *sethook)
{
	for (int i = 0; map && i < LUA_LIBS; i++) {
		struct lua_lib *const lib = lua_lib_numbered(i);

		if (is_at(lib, map, sethook))
			return lib;
	}
	return NULL;
}

/* Gives it the number of a library that is gone, or the next. False: there are
 * too many. Under the loader's lock, or as the first of its module. */
static bool enlist(struct lua_lib *lib)
{
	lib->home = module_of(lib);
	for (int i = 0; i < LUA_LIBS; i++) {
		struct lua_lib *old = lua_lib_numbered(i);

		lib->number = i;
		if ((!old || !old->home || module_of(old) != old->home) &&
		    atomic_compare_exchange_strong(&libs[i], &old, lib))
			return true;
	}
	if (process_slot)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_PASSED);
	return false;
}

/* The Lua in this module, made known if it is a shared library; or NULL. */
static struct lua_lib *at_module(const struct link_map *map)
{
	struct lua_lib *lib;
	struct dynamic d;
	void *sethook;

	if (!map || !dynamic_read(&d, map))
		return NULL;
	sethook = dynamic_find(&d, "lua_sethook");
	lib = known_library(map, sethook);
	if (lib || !sethook || map->l_name[0] == '\0')
		return lib;
	lib = memory_get(sizeof(*lib));
	if (!lib)
		return NULL;
	exclude_look(sethook);
	fill_library(lib, &d);
	return enlist(lib) ? lib : NULL;
}

/* A function of a Lua that is not in the program, or is known there: to ours of
 * that Lua's number. */
static void *led_to(unsigned which, void *original)
{
	const struct lua_lib *const lib =
		at_module(dynamic_module_at(original));

	return !lib ? NULL : lua_lib_stand_in(which, lib->number);
}

__attribute__((constructor(102))) static void begin(void)
{
	stand_in_add_names(names, WEFT_LUA_WRAPS, led_to, NULL);
}

/* ------------------------------------------------------- linked statically */

/* f, if it lies in this module. A weak name may have led to another library, or
 * to ours. */
static weft_lua_function within(const struct link_map *map,
				weft_lua_function f)
{
	return dynamic_module_at((void *)f) == map ? f : NULL;
}

/* A program that was linked long ago may know fewer functions than we do. */
static void fill_linked(struct lua_lib *lib, const struct link_map *map,
			const struct weft_lua_linked *from)
{
	weft_lua_function real[WEFT_LUA_WRAPS] = { NULL };
	struct dynamic d;

	for (unsigned long i = 0; i < from->wraps && i < WEFT_LUA_WRAPS; i++)
		real[i] = within(map, from->real[i]);
	memcpy(&lib->api, from->api, from->api->size < sizeof(lib->api) ?
	       from->api->size : sizeof(lib->api));
	if (from->size > offsetof(struct weft_lua_linked, opens)) {
		for (unsigned long i = 0; i < from->opens &&
		     i < WEFT_LUA_OPENS; i++)
			lib->open[i] = within(map, from->open[i]);
	}
	lib->map = map;
	lib->api.size = sizeof(lib->api);
#define X(name) lib->api.name = within(map, lib->api.name);
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
	fill_others(lib, real);
	if (dynamic_read(&d, map))
		find_profiler(lib, &d);
	lib->abi = abi_of(&lib->api);
	lib->interposed = from->sees_all() != 0;
	lib->linked = true;
}

struct lua_lib *lua_lib_linked(const struct weft_lua_linked *from)
{
	const struct link_map *const map = dynamic_module_at(from->real);
	struct lua_lib *lib;

	if (!map || !within(map, from->api->lua_sethook))
		return NULL;
	lib = memory_get(sizeof(*lib));
	if (!lib)
		return NULL;
	fill_linked(lib, map, from);
	if (!enlist(lib))
		return NULL;
	link_lead(); /* those of plugins that call it */
	return lib;
}

void lua_lib_unlinked(const struct weft_lua_linked *from)
{
	struct lua_lib *const lib = known_library(
		dynamic_module_at(from->real), NULL);

	/* The program itself stays. */
	if (lib && lib->linked && lib->home->l_name[0] != '\0') {
		lib->linked = false;
		lib->map = lib->home = NULL;
		lib->api.lua_sethook = NULL;
	}
}

/* ------------------------------------------------------------ given tables */

/* The table may be of a program that knows fewer functions than we do. */
static struct lua_lib *copy_table(const struct weft_lua_api *api)
{
	struct lua_lib *lib = memory_get(sizeof(*lib));
	const size_t size = api->size < sizeof(*api) ? api->size :
			    sizeof(*api);
	struct dynamic d;

	if (!lib)
		return NULL;
	memcpy(&lib->api, api, size);
	if (module_of(lib) && dynamic_read(&d, module_of(lib))) {
		find_others(lib, &d);
		find_opens(lib, &d);
	}
	lib->abi = abi_of(&lib->api);
	if (enlist(lib))
		link_lead(); /* those of plugins that call it */
	return lib;
}

/* The program's table that was given before. */
static struct lua_lib *given(const struct weft_lua_api *api)
{
	for (int i = 0; i < LUA_LIBS; i++) {
		struct lua_lib *const lib = lua_lib_numbered(i);

		if (lib && !lib->map && lib->home &&
		    lib->api.lua_sethook == api->lua_sethook)
			return lib;
	}
	return NULL;
}

/* Whoever gives a shared library's own functions calls them unseen. */
struct lua_lib *lua_lib_given(const struct weft_lua_api *api)
{
	/* Where links are led, a program with a shared Lua gives ours. */
	const int number = lua_lib_number_of((void *)api->lua_sethook);
	struct lua_lib *lib = number >= 0 ? lua_lib_numbered(number) :
		known_library(dynamic_module_at((void *)api->lua_sethook),
			      NULL);

	if (number < 0 && (!lib || !lib->linked))
		lib = given(api);
	return lib ? lib : copy_table(api);
}

/* Of a library that weft cannot record, no version is known. */
static bool is_of(const struct lua_lib *lib, enum vm_abi abi)
{
	return lib->abi && lib->abi->number == abi;
}

const struct lua_lib *lua_lib_running(const struct coroutine *co,
				      enum vm_abi abi)
{
	const struct lua_lib *lib, *only = NULL;

	if (co && co->vm && is_of(co->vm->lib, abi))
		return co->vm->lib;
	for (int i = 0; i < LUA_LIBS; i++) {
		lib = lua_lib_numbered(i);
		if (!lib || !is_of(lib, abi))
			continue;
		if (only)
			return NULL;
		only = lib;
	}
	return only;
}
