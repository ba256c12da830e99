/* c_name.h - what Lua calls C functions, by address, and what else is known of
 * them. Process-wide, for all versions of Lua; nothing is ever removed. All
 * hook-safe. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/thread_state.h"

/* Where a name was found. Of a function's names the first in this order counts;
 * of equal ones the shortest, and then the first in the alphabet: the order of
 * a table is another one in each process. */
enum c_name_rank {
	C_NAME_STANDARD, /* in a library of Lua's own, under its own name */
	C_NAME_LIBRARY,  /* in a library, or a global */
	C_NAME_TYPE,     /* in the metatable of a type */
	C_NAME_OTHER,    /* in another table */
	C_NAME_CALLED    /* its caller calls it so */
};

/* Lua calls the C function at this address group.name. group: the library's
 * name, may be NULL. A name found in a library that is one of Lua's own there
 * is a standard one. */
void lua_c_name(uint64_t address, enum c_name_rank rank, const char *group,
		const char *name);

/* Likewise, where it has upvalues: this closure of this VM, whose serial is
 * given. If others of its closures there have other names, what runs cannot be
 * told, and it is called by what the names have in common: group.*, or the name
 * without the group, or nothing. */
void lua_c_name_closure(uint64_t address, uint32_t vm, uint64_t closure,
			enum c_name_rank rank, const char *group,
			const char *name);

/* Is anything known of what Lua calls it? */
bool lua_c_is_named(uint64_t address);
/* Is its name to be looked for again at its next call? Its library may not be
 * complete yet. So it is for the first few calls without one. */
bool lua_c_is_asked_again(uint64_t address);
/* Is that the last of these calls? Said of the first 64 functions only: each
 * look takes time. */
bool lua_c_is_asked_last(uint64_t address);

/* Is that its name? */
bool lua_c_has_name(uint64_t address, const char *name);

/* The key of a function of LuaJIT's libraries that has no code of its own: by
 * the name remembered for the address that stands for it, or else by the event
 * that it handles (may be NULL). */
uint64_t lua_c_builtin(uint64_t place, const char *event);

/* LuaJIT calls through its FFI by the function at this address. */
void lua_c_set_ffi(uint64_t address);
bool lua_c_is_ffi(uint64_t address);

/* Nothing tells when the function with this key returns. */
void lua_c_set_untold(uint64_t key);

/* Says in the open chunk what is known of the function with this key. Called
 * busy. */
void lua_c_hint(struct thread_state *s, uint64_t key, uint32_t index);

/* Likewise, if it had no name when it was asked about first and has one now:
 * once. */
void lua_c_tell_name(struct thread_state *s, uint64_t key);
