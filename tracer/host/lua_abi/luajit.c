/* luajit.c - what LuaJIT alone has: C functions whose returns nothing tells,
 * its library functions, the FFI. Empty for other versions of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/abi.h"

#if WEFT_LUA_ABI == 21
#include "tracer/host/base/memory.h"
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"

#include <dlfcn.h>

/* FFID_LUA, FFID_C, or the number of a library function. */
static uint8_t number_of(uint64_t function)
{
	return layout_byte(function + FUNC_FFID);
}

bool luajit_is_untold(const struct coroutine *co, uint64_t id)
{
	return co->vm->own_wrapper || !co->vm->by_layout ||
	       number_of(layout_function((uint64_t)co->L, id)) != FFID_C;
}

uint64_t luajit_stack(uint64_t L)
{
	return layout_word(L + STATE_STACK);
}

bool luajit_goes_on(const struct coroutine *co)
{
	return co->vm->by_layout && layout_is_running((uint64_t)co->L);
}

bool luajit_has_taken_over(const struct coroutine *co, uint64_t id)
{
	const struct thread_state *const s = thread_self;
	const struct frame *f = !s ? NULL : s->top - 1;

	while (f && frame_is_untold(f) && f->site == (uint64_t)co->L &&
	       f->ret > id)
		f--;
	return f && frame_is_plain_lua(f) && f->site == (uint64_t)co->L &&
	       f->ret >= id;
}

uint64_t luajit_library_function(const struct weft_lua_api *api, lua_State *L)
{
	const struct coroutine *const co = lua_co_find(L);
	const uint64_t f = (uint64_t)API(api, lua_topointer)(L, -1);

	if (!API(api, lua_iscfunction)(L, -1) || !co)
		return 0;
	return !co->vm->by_layout ? f :
	       layout_word((uint64_t)L + STATE_GLOBAL) + number_of(f);
}

/* ------------------------------------------------------------------ values */

enum { THREAD_TAG = -7, CDATA_TAG = -11, TAG_SHIFT = 47 };

/* What the value points to if it has this tag; otherwise 0. */
static uint64_t tagged(uint64_t value, int tag)
{
	return (int64_t)value >> TAG_SHIFT == tag ? value & LAYOUT_POINTER : 0;
}

static uint64_t first_argument(uint64_t L, uint64_t id)
{
	return layout_word(layout_word(L + STATE_STACK) + id * 8 + 8);
}

/* What lies there if the call has no argument may be gone. */
uint64_t luajit_held(const struct coroutine *co, uint64_t id)
{
	const uint64_t L = (uint64_t)co->L, f = layout_function(L, id);
	uint64_t held = 0;

	if (number_of(f) > FFID_C && layout_byte(f + FUNC_UPVALUES) != 0)
		held = tagged(layout_word(f + C_CLOSURE_UPVALUE), THREAD_TAG);
	else if (API(&co->vm->lib->api, lua_gettop)(co->L) > 0)
		held = tagged(first_argument(L, id), THREAD_TAG);
	return held;
}

/* -------------------------------------------------------------------- the FFI
 * Lua calls one and the same library function for whatever is called through
 * it. Here each is the C function that it is. */

enum { CDATA_PAYLOAD = 16 };

/* The call's first argument, if it is C data; otherwise 0. */
static uint64_t first_cdata(uint64_t L, uint64_t id)
{
	return tagged(first_argument(L, id), CDATA_TAG);
}

bool luajit_may_be_ffi(const struct coroutine *co, uint64_t id)
{
	const uint64_t L = (uint64_t)co->L;

	return co->vm->by_layout &&
	       number_of(layout_function(L, id)) > FFID_C &&
	       first_cdata(L, id) != 0;
}

/* A type that makes C data is called like a function, but has no code there. */
uint64_t luajit_ffi_callee(const struct coroutine *co, uint64_t id)
{
	const uint64_t cdata = first_cdata((uint64_t)co->L, id);
	struct dl_find_object o;
	uint64_t address = 0;

	if (!memory_copy(&address, (const void *)(cdata + CDATA_PAYLOAD),
			  sizeof(address)) ||
	    _dl_find_object((void *)address, &o) != 0)
		return lua_c_builtin(1, "ffi call");
	lua_c_set_untold(address);
	return address;
}

/* ---------------------------------------------------------------- the wrapper
 * LuaJIT calls a wrapper, if it is given one, around each C function of the
 * program. The functions of its own libraries are not wrapped. */

/* A C function of the program's has returned normally. */
static void returned(lua_State *L, lua_CFunction f, uint64_t sp)
{
	const struct coroutine *const co = lua_co_find(L);
	struct thread_state *s;
	lua_Debug d;

	if (!co || !lua_vm_on() ||
	    !API(&co->vm->lib->api, lua_getstack)(L, 0, &d))
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	if (co->window == s->window &&
	    co->serial == shadow_segment(s)->serial)
		lua_unwind_return(s, co, layout_id(&d), (uint64_t)f,
				  chunk_clock(s));
	thread_release(s);
}

/* What a yield or an error skips ends like any other frame. */
static int wrapper(lua_State *L, lua_CFunction f)
{
	const int results = f(L);

	if (results >= 0)
		returned(L, f, HERE);
	return results;
}

void luajit_wrap(const struct lua_vm *vm, bool on)
{
	const struct weft_lua_api *const api = &vm->lib->api;

	if (!api->lua_pushlightuserdata)
		return;
	API(api, lua_pushlightuserdata)(vm->main, (void *)wrapper);
	((int (*)(lua_State *, int, int))api->luaJIT_setmode)(
		vm->main, -1, JIT_WRAPCFUNC | (on ? JIT_ON : JIT_OFF));
	API(api, lua_settop)(vm->main, -2);
}

#endif
