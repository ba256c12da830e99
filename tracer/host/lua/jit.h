/* jit.h - LuaJIT's compiler: compiled code makes no events, so that it is
 * off while its VM is recorded.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_JIT_H
#define WEFT_TRACER_HOST_LUA_JIT_H

#include "tracer/host/lua/vm.h"

/* The VM is hooked: compile no more, forget what was compiled. The hook is off:
 * as the program wants it. Not busy. */
void lua_jit_stop(struct lua_vm *vm);
void lua_jit_restore(struct lua_vm *vm);

/* The compiler has come to life, on. */
void lua_jit_opened(struct lua_vm *vm);

/* The program calls luaJIT_setmode with this mode: 1: it takes effect once the
 * hook is off; 0: the call is to be passed on. */
enum { LUA_JIT_OFF = 0, LUA_JIT_ON = 0x100 };
int lua_jit_wants(struct lua_vm *vm, int mode);

/* Where nobody sees the compiler come to life, it may be on again. */
void lua_jit_hold(const struct lua_vm *vm);

#endif
