/* watch.c - has Lua freed anything since? Where the public API alone
 * tells functions apart, by address, that must be known at each call: a new
 * function may lie where a collected one lay before any finalizer says so. But
 * weak tables are cleared before the first object is freed: as long as one
 * still has an object that nothing else refers to, nothing that has lived
 * meanwhile is gone. Compiled once per version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/compat.h"

/* For the C function that runs under lua_pcall: it is given no pointer. */
static THREAD_LOCAL struct lua_vm *planting;

/* A lua_State of our own, kept by the registry, with the weak table on its
 * stack: looking there needs nothing on the stack of the program's. */
static void make_place(const struct weft_lua_api *api, lua_State *L)
{
	lua_State *const place = API(api, lua_newthread)(L);

	API(api, lua_pushstring)(L, "weft: watch");
	API(api, lua_pushvalue)(L, -2);
	API(api, lua_rawset)(L, LUA_REGISTRYINDEX);
	API(api, lua_createtable)(L, 1, 0);
	API(api, lua_createtable)(L, 0, 1);
	API(api, lua_pushstring)(L, "__mode");
	API(api, lua_pushstring)(L, "v");
	API(api, lua_rawset)(L, -3);
	API(api, lua_setmetatable)(L, -2);
	API(api, lua_xmove)(L, place, 1);
	planting->watch = place;
}

/* What is collected as soon as possible: it must not be found alive by a step
 * of the collector that its own making causes. From 5.3 on lua_createtable makes
 * that step last, lua_newthread makes it first. */
static void make_canary(const struct weft_lua_api *api, lua_State *L)
{
#if LUA_VERSION_NUM >= 503
	API(api, lua_newthread)(L);
#else
	API(api, lua_createtable)(L, 0, 0);
#endif
}

static int plant(lua_State *L)
{
	const struct weft_lua_api *const api = &planting->lib->api;

	if (!planting->watch)
		make_place(api, L);
	make_canary(api, L);
	API(api, lua_xmove)(L, planting->watch, 1);
	API(api, lua_rawseti)(planting->watch, 1, 1); /* allocates nothing */
	return 0;
}

/* A program's table of an earlier weft ends before these. */
static int can_plant(const struct weft_lua_api *api)
{
	return api->lua_createtable && api->lua_setmetatable &&
	       api->lua_pushstring && api->lua_rawset &&
	       api->lua_rawseti && WATCH_LENGTH(api) &&
	       (LUA_VERSION_NUM >= 502 || api->lua_cpcall);
}

uint64_t lua_hook_watch_anew(struct lua_vm *vm, lua_State *L)
{
	static _Atomic uint64_t last;
	const struct weft_lua_api *const api = &vm->lib->api;
	int failed;

	vm->watched = 0;
	/* What failed, for want of memory or of C stack, seldom helps at once. */
	if (!can_plant(api) || (vm->unwatched & (vm->unwatched + 1)) != 0) {
		vm->unwatched++;
		return 0;
	}
	planting = vm;
	failed = ways_protected(api, L, plant);
	planting = NULL;
	if (failed) {
		API(api, lua_settop)(L, -2);
		vm->unwatched++;
		return 0;
	}
	vm->unwatched = 0;
	vm->watched = atomic_fetch_add_explicit(&last, 1,
						memory_order_relaxed) + 1;
	return vm->watched;
}
