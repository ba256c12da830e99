/* attach.h - beginning to record a VM, putting our hook onto its lua_States and
 * taking it off. LuaJIT's compiler is off while its VM has our hook, since
 * compiled code makes no events. Not busy. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/thread/thread.h"

/* L is the main state of a VM that has been made, or is seen for the first
 * time. Its object, NULL: no memory. Not hook-safe. */
struct coroutine *lua_attach_vm(lua_State *L, struct lua_lib *lib);

/* A function is called on L, a lua_State that nobody saw being made, as the
 * program was not recorded then. Its object, with our hook; NULL: no memory, or
 * a Lua that is not recorded. */
struct coroutine *lua_attach_met(lua_State *L, struct lua_lib *lib);

/* Put our hook onto co, keeping the program's; set it anew after the program's
 * has changed; take it off. */
void lua_hook_set(struct coroutine *co);
/* The same where a script may have put it away by its own debug.sethook, of
 * which no function of ours was told. */
void lua_hook_restore(struct coroutine *co);
void lua_hook_update(struct coroutine *co);
void lua_hook_remove(struct coroutine *co);

/* Is Lua recorded at this moment? Does first what a recorder asks for. */
INLINE bool lua_hook_is_on(void)
{
	if (unlikely(process_is_asked()))
		lua_vm_wanted();
	return lua_vm_on() && !region_is_shut();
}

/* co is entered or returned to: wherever that is seen, our hook is put back if
 * it was taken off while recording was off, or by a script. So a state runs
 * without it only until then, and its VM is one that was not seen yet. */
void lua_hook_put_back(struct coroutine *co);
INLINE void lua_hook_back(struct coroutine *co)
{
	if (unlikely(!lua_co_holder(co)->hooked || !co->vm->interposed) &&
	    lua_hook_is_on())
		lua_hook_put_back(co);
}

/* ------------------------------------------------------------------ LuaJIT */

/* luajit.h's numbers, the same since 2.0. */
enum { JIT_MODE_MASK = 0xff, JIT_ENGINE = 0, JIT_WRAPCFUNC = 0x10,
       JIT_OFF = 0, JIT_ON = 0x100, JIT_FLUSH = 0x200 };

/* The compiler has come to life, on. */
void lua_jit_opened(struct lua_vm *vm);

/* The program calls luaJIT_setmode with this mode. true: it takes effect once
 * the hook is off; false: the call is to be passed on. */
bool lua_jit_wants(struct lua_vm *vm, int mode);

/* Where nobody sees the compiler come to life, it may be on again: turn it
 * off. */
void lua_jit_hold(const struct lua_vm *vm);
