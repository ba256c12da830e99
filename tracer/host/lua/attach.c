/* attach.c - Lua states a program names itself: weft_lua_attach.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/jit.h"
#include "tracer/host/lua/library.h"

#include <errno.h>

static int complete(const struct weft_lua_api *api)
{
#define X(name) if (!api->name) return 0;
#define NONE(name)
	WEFT_LUA_FUNCTIONS(X, NONE, NONE, NONE, NONE)
#undef X
#undef NONE
	return 1;
}

/* Where no lua_close is seen, another VM may lie where co's lay; and if it is the
 * same to all appearance, what co's had of ours may be gone. */
static int is_still(const struct coroutine *co, const struct lua_lib *lib)
{
	struct lua_vm *const vm = co->vm;

	if (lib->interposed)
		return 1;
	if (vm->lib != lib || vm->family != lib->abi->family(&lib->api, co->L))
		return 0;
	vm->watch = NULL;
	vm->watched = 0;
	return 1;
}

/* L's VM, made known if it is not; NULL and a result if it cannot be. */
static struct coroutine *meet(lua_State *L, struct lua_lib *lib, int *result)
{
	lua_State *main = lib->abi->main_of(lib, L);
	struct coroutine *co;

	*result = WEFT_LUA_NO_MEMORY;
	if (!main)
		main = L; /* 5.1 cannot be asked */
	co = lua_vm_find(main);
	if (!co || co->vm->main != main || !is_still(co, lib))
		co = lua_vm_born(main, lib, lib->interposed);
	if (!co)
		return NULL;
	co->vm->detached = 0;
	if (!co->hooked || !lib->interposed)
		lua_vm_hook(co);
	return L == main ? co : lua_vm_thread_met(L, co);
}

static int attach(lua_State *L, const struct weft_lua_api *api,
		  const void *caller)
{
	struct lua_lib *lib;
	struct coroutine *co;
	int result = WEFT_LUA_OK;

	if (!L || !api || !complete(api))
		return WEFT_LUA_INVALID;
	if (!lua_vm_wanted())
		return WEFT_LUA_NOT_RECORDED;
	co = lua_vm_find(L);
	if (co && co->vm->lib->interposed && co->hooked &&
	    !co->vm->detached)
		return WEFT_LUA_OK; /* its making was seen */
	lib = lua_lib_given(api, caller);
	if (!lib)
		return WEFT_LUA_NO_MEMORY;
	if (!lib->abi)
		return WEFT_LUA_UNSUPPORTED;
	if (thread_self)
		thread_self->lua_plain = NULL;
	if (!co || !is_still(co, lib))
		co = meet(L, lib, &result);
	if (!co)
		return result;
	co->vm->detached = 0;
	lua_vm_hook(co);
	return WEFT_LUA_OK;
}

EXPORT int weft_lua_attach_with(lua_State *L, const struct weft_lua_api *api)
{
	const int saved = errno;
	const int result = attach(L, api, __builtin_return_address(0));

	errno = saved;
	return result;
}

EXPORT void weft_lua_rest(lua_State *L)
{
	struct coroutine *const co =
		!process_pool || !L ? NULL : lua_vm_find(L);

	if (co && co->vm && co->vm->lib->abi &&
	    co->hooked)
		lua_vm_unhook(co);
}

EXPORT int weft_lua_detach(lua_State *L)
{
	struct coroutine *co;

	if (!L)
		return WEFT_LUA_INVALID;
	co = !process_pool ? NULL : lua_vm_find(L);
	if (!co || !co->vm->lib->abi)
		return WEFT_LUA_NOT_RECORDED;
	co->vm->detached = 1;
	if (co->hooked)
		lua_vm_unhook(co);
	return WEFT_LUA_OK;
}

EXPORT int weft_lua_jit(lua_State *L, int on)
{
	struct coroutine *const co =
		!process_pool || !L ? NULL : lua_vm_find(L);

	return co && co->vm->lib->abi &&
	       co->vm->lib->abi->is_jit &&
	       lua_jit_wants(co->vm, on ? LUA_JIT_ON : LUA_JIT_OFF);
}
