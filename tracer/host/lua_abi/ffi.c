/* ffi.c - LuaJIT's FFI: whatever is called through it, it is one and
 * the same library function that Lua calls. Here each is the C function it is.
 * Compiled once per version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/hook.h"
#include "tracer/host/base/memory.h"

#if WEFT_LUA_ABI == 21
#include <dlfcn.h>

enum { CDATA_TAG = -11, TAG_SHIFT = 47, CDATA_PAYLOAD = 16 };

/* The first argument of the call, if it is C data; 0: it is none. */
static uint64_t first_cdata(uint64_t L, uint64_t id)
{
	const uint64_t v = layout_word(layout_word(L + STATE_STACK) + id * 8 +
				       8);

	return (int64_t)v >> TAG_SHIFT == CDATA_TAG ? v & LAYOUT_POINTER : 0;
}

int lua_hook_ffi(const struct coroutine *co, uint64_t id)
{
	const uint64_t L = (uint64_t)co->L;

	return co->vm->peek &&
	       layout_byte(layout_function(L, id) + FUNC_FFID) > FFID_C &&
	       first_cdata(L, id) != 0;
}

/* What is no function, but a type that makes C data, has no code there. */
uint64_t lua_hook_ffi_callee(const struct coroutine *co, uint64_t id)
{
	const uint64_t cdata = first_cdata((uint64_t)co->L, id);
	struct dl_find_object o;
	uint64_t address = 0;

	if (!memory_copy(&address, (const void *)(cdata + CDATA_PAYLOAD),
			 sizeof(address)) ||
	    _dl_find_object((void *)address, &o) != 0)
		return lua_func_builtin(1, "ffi call");
	lua_func_late(address);
	return address;
}

#else

int lua_hook_ffi(const struct coroutine *co, uint64_t id)
{
	(void)co;
	(void)id;
	return 0;
}

uint64_t lua_hook_ffi_callee(const struct coroutine *co, uint64_t id)
{
	(void)co;
	(void)id;
	return 0;
}

#endif
