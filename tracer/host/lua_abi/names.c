/* names.c - what Lua calls C functions: their places in the tables of
 * its libraries, or what a caller calls them. Not busy; allocates nothing, runs no
 * metamethod. Compiled once per version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/hook.h"

/* How many entries of a table are looked at for names. */
enum { TABLE_LOOK = 4096, REGISTRY_LOOK = 1 << 16, ALWAYS_LOOK = 32 };

#if WEFT_LUA_ABI == 21
/* What stands for the function at the top of the stack, one of LuaJIT's own
 * that share their code: as layout_callee has it, if that is to be trusted. */
static uint64_t builtin_place(const struct weft_lua_api *api, lua_State *L)
{
	const struct coroutine *const co = lua_vm_find(L);
	const uint64_t f = (uint64_t)API(api, lua_topointer)(L, -1);

	if (!API(api, lua_iscfunction)(L, -1) || !co)
		return 0;
	return !co->vm->peek ? f : layout_word((uint64_t)L + STATE_GLOBAL) +
				   layout_byte(f + FUNC_FFID);
}
#else
#define builtin_place(api, L) UINT64_C(0)
#endif

uint64_t lua_hook_c_place(const struct weft_lua_api *api, lua_State *L,
			int *is_builtin)
{
	const lua_CFunction f = API(api, lua_tocfunction)(L, -1);

	*is_builtin = !f;
	return f != NULL ? (uint64_t)f : builtin_place(api, L);
}

typedef void entry_fn(const struct weft_lua_api *api, lua_State *L,
		      const char *key, const char *group);

/* Call each for the string keys of the table at the top of the stack: the value
 * lies there meanwhile. */
static void each(const struct weft_lua_api *api, lua_State *L, int table,
		 const char *group, int most, entry_fn *with)
{
	API(api, lua_pushnil)(L);
	while (API(api, lua_next)(L, table)) {
		if (API(api, lua_type)(L, -2) == LUA_TSTRING)
			with(api, L, API(api, lua_tolstring)(L, -2, NULL),
			     group);
		API(api, lua_settop)(L, -2);
		if (--most <= 0) {
			API(api, lua_settop)(L, -2);
			return;
		}
	}
}

static void name_function(const struct weft_lua_api *api, lua_State *L,
			  const char *key, const char *group)
{
	int is_builtin;
	const uint64_t f = lua_hook_c_place(api, L, &is_builtin);
	const uint64_t builtin = builtin_place(api, L);

	if (f != 0)
		lua_func_name(f, group, key);
	if (builtin != 0)
		lua_func_name(builtin, group, key); /* its neighbour's hint */
}

static void name_library(const struct weft_lua_api *api, lua_State *L,
			 const char *key, const char *group)
{
	(void)group;
	if (API(api, lua_type)(L, -1) == LUA_TTABLE)
		each(api, L, API(api, lua_gettop)(L),
		     strcmp(key, "_G") == 0 ? NULL : key, TABLE_LOOK,
		     name_function);
}

static void name_loaded(const struct weft_lua_api *api, lua_State *L,
			const char *key, const char *group)
{
	(void)group;
	if (strcmp(key, "_LOADED") == 0 &&
	    API(api, lua_type)(L, -1) == LUA_TTABLE)
		each(api, L, API(api, lua_gettop)(L), NULL, TABLE_LOOK,
		     name_library);
}

void lua_hook_look(const struct lua_vm *vm, lua_State *L)
{
	const int top = API(&vm->lib->api, lua_gettop)(L);

	each(&vm->lib->api, L, LUA_REGISTRYINDEX, NULL, REGISTRY_LOOK,
	     name_loaded);
	API(&vm->lib->api, lua_settop)(L, top);
}

/* Libraries come one by one, so that each of the first functions without a name
 * is a reason to look again; later, when there are twice as many. */
static void look_for_names(struct lua_vm *vm, lua_State *L)
{
	if (vm->unknown_names++ < vm->scans)
		return;
	if (vm->unknown_names > ALWAYS_LOOK)
		vm->scans = 2 * vm->unknown_names;
	lua_hook_look(vm, L);
}

/* What the caller calls it, unless that is a variable of its own. */
static const char *called_as(const lua_Debug *d)
{
	if (!d->name || d->name[0] == '\0' || d->name[0] == '?' ||
	    !d->namewhat || strcmp(d->namewhat, "local") == 0 ||
	    strcmp(d->namewhat, "upvalue") == 0)
		return NULL;
	return d->name;
}

void lua_hook_name_c(const struct coroutine *co, uint64_t address,
		   const lua_Debug *d)
{
	if (lua_func_is_named(address))
		return;
	look_for_names(co->vm, co->L);
	if (d && !lua_func_is_named(address) && called_as(d))
		lua_func_name(address, NULL, d->name);
}
