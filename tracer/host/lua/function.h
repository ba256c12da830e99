/* function.h - Lua functions by what they are: source and lines, not address;
 * and what Lua calls C functions. Process-wide, added to and never changed.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_FUNCTION_H
#define WEFT_TRACER_HOST_LUA_FUNCTION_H

#include "tracer/host/thread/thread_state.h"

/* The key of the function with this source and these lines, and of those with
 * the same ones that one (0: the first, or not known); name: a hint, may be
 * NULL. Where there is no room for another, a key that stands for all such
 * functions. Hook-safe; ~50 ns and the hash of the source. */
uint64_t lua_func_key(const char *source, size_t length, int first, int last,
		      uint32_t ordinal, const char *name);

/* Remember what Lua calls the C function at this address (group may be NULL),
 * unless a name is known. Hook-safe. */
void lua_func_name(uint64_t address, const char *group, const char *name);
int lua_func_is_named(uint64_t address);

/* The key of a function of LuaJIT's libraries that has no code of its own: by
 * what was remembered as the name of the place that stands for it, or by the
 * event it handles (may be NULL). */
uint64_t lua_func_builtin(uint64_t place, const char *event);

/* It is the function at this address by which LuaJIT calls through its FFI. */
void lua_func_ffi(uint64_t address);
int lua_func_is_ffi(uint64_t address);

/* Nothing tells when the function with this key returns. */
void lua_func_late(uint64_t key);

/* Sources come and go at one address, as prototypes do, with the same lines. But
 * a chunk's functions run only after its main function: whenever one runs that
 * is another than the last at its source's address, *lua_func_current of that
 * address changes (of others, now and then, too). Gives the text's hash. */
const _Atomic uint64_t *lua_func_current(uint64_t source);
uint64_t lua_func_main_runs(uint64_t source, const char *text, size_t length);
/* Something else is known of functions of the source at this address. */
void lua_func_changed(uint64_t source);
/* Main functions may have run unseen; how often that was so, at least 1. */
void lua_func_unseen(void);
uint32_t lua_func_times_unseen(void);
/* Never 0. */
extern const _Atomic uint64_t lua_func_never;

/* What lua_side.h asks for. */
uint32_t lua_func_item(struct thread_state *s, uint64_t key);
void lua_func_hint(struct thread_state *s, uint64_t key, uint32_t index);

#endif
