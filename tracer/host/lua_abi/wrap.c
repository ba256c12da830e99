/* wrap.c - LuaJIT calls a wrapper around each C function of a program,
 * if it is given one: so their returns are told after all. Its own libraries'
 * functions are not wrapped. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/hook.h"

#if WEFT_LUA_ABI == 21

/* luajit.h's numbers. */
enum { MODE_WRAPCFUNC = 0x10, MODE_ON = 0x100, MODE_OFF = 0 };

static uint64_t own_id(const struct coroutine *co)
{
	lua_Debug d;

	return API(&co->vm->lib->api, lua_getstack)(co->L, 0, &d) ?
	       layout_id(&d) : 0;
}

static void returned(lua_State *L, lua_CFunction f, uint64_t sp)
{
	const struct coroutine *const co = lua_vm_find(L);
	const uint64_t id = !co || !lua_vm_on() ? 0 : own_id(co);
	struct thread_state *s;

	if (id == 0)
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	if (co->window == s->window && co->serial == shadow_segment(s)->serial)
		lua_stack_return(s, co, id, (uint64_t)f, thread_clock(s));
	thread_release(s);
}

/* What a yield or an error passes by ends like any other frame. */
static int wrapper(lua_State *L, lua_CFunction f)
{
	const int results = f(L);

	if (results >= 0)
		returned(L, f, HERE);
	return results;
}

void lua_hook_wrap(const struct lua_vm *vm, int on)
{
	const struct weft_lua_api *const api = &vm->lib->api;

	if (!api->lua_pushlightuserdata)
		return;
	API(api, lua_pushlightuserdata)(vm->main, (void *)wrapper);
	((int (*)(lua_State *, int, int))api->luaJIT_setmode)(
		vm->main, -1, MODE_WRAPCFUNC | (on ? MODE_ON : MODE_OFF));
	API(api, lua_settop)(vm->main, -2);
}

#else

void lua_hook_wrap(const struct lua_vm *vm, int on)
{
	(void)vm;
	(void)on;
}

#endif
