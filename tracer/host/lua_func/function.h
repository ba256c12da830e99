/* function.h - Lua functions by what they are, their source and lines, in place
 * of their address; and which C functions are weft's own. Process-wide, for all
 * versions of Lua; entries are added and never changed. All hook-safe unless it
 * says so.
 *
 * The folder lua_func/ knows the functions of Lua's, by numbers and names; of
 * states and coroutines it knows nothing. It may use thread/ and the folders
 * below.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/thread/thread_state.h"

#include <string.h>

/* ----------------------------------------------------------- Lua functions */

/* The first line of a function of which Lua keeps none; its last one is 0. */
enum { NO_LINES = -1 };

/* The key of the function with this source, these lines and this ordinal among
 * the functions of the same lines (0: the first, or not known). body: a hash of
 * what it does, if its source may be one of many with that name; or 0. If there
 * is no room for another function: a key that stands for all such functions.
 * Takes about 50 ns and the time to hash the source. */
uint64_t lua_func_key(const char *source, size_t length, int first, int last,
		      uint32_t ordinal, uint64_t body);

/* Its caller calls the function with this key so; NULL: by no name. The item of
 * the function has the name that came most often. Returns whether its place is
 * to be looked for: several calls were asked about, none by a name. */
bool lua_func_called(uint64_t key, const char *name);

/* The function is in a table, as group.name; group may be NULL. So it is called
 * if no caller names it; of several places, by the shortest name. */
void lua_func_placed(uint64_t key, const char *group, const char *name);

/* The code around it names it so: callers and places are not asked. */
void lua_func_coded(uint64_t key, const char *name, uint32_t length);

/* Is Lua to be asked what the next caller calls it? */
INLINE bool lua_func_is_asked(uint64_t key)
{
	return (key & KEY_LUA) != 0 &&
	       atomic_load_explicit((const _Atomic uint32_t *)(key & ~KEY_LUA),
				    memory_order_relaxed) != 0;
}

/* May a program give this name to many sources? It is neither a file's, nor the
 * text itself. */
bool lua_func_may_be_many(const char *source, size_t length);

/* The bytes that are kept of a group's name, and of an entry's in it; the bytes
 * of both with a dot. */
enum { LUA_NAME_PART = 64, LUA_NAME_MOST = 2 * LUA_NAME_PART + 1 };

/* group.name; group may be NULL. Returns its length. */
INLINE size_t lua_name_join(char to[LUA_NAME_MOST], const char *group,
			    const char *name)
{
	const size_t a = !group ? 0 : strnlen(group, LUA_NAME_PART);
	const size_t b = strnlen(name, LUA_NAME_PART);
	const size_t dot = a > 0;

	memcpy(to, group ? group : "", a);
	memcpy(to + a, ".", dot);
	memcpy(to + a + dot, name, b);
	return a + dot + b;
}

/* ------------------------------------------------------------- C functions */

/* Functions that bring weft itself to Lua are no part of the program, and are
 * not recorded: C functions of the modules given to weft_lua_hide; Lua
 * functions of the source "=[weft]" (may be NULL). */
bool lua_func_is_hidden(uint64_t address);
bool lua_func_source_is_hidden(const char *source);

/* A C function of a hidden module may replace another one: its calls are then
 * recorded as calls of the original. A function that replaces none is its own
 * original. */
void lua_func_stands_for(uint64_t ours, uint64_t original);
uint64_t lua_func_original(uint64_t address);

/* ---------------------------------------------------- what lies at an address
 * Sources and prototypes come and go at one address, with the same lines. But
 * the functions of a chunk run only after its main function does: whenever a
 * main function runs that is not the last one of its source's address,
 * *lua_func_current of that address changes (of others, now and then, too). */

const _Atomic uint64_t *lua_func_current(uint64_t source);

/* A main function of this source runs. body: of it and those written in it, or
 * 0, as above. Returns the hash of both. */
uint64_t lua_func_main_runs(uint64_t source, const char *text, size_t length,
			    uint64_t body);

/* Something else is known of functions of the source at this address. */
void lua_func_changed(uint64_t source);

/* Main functions may have run unseen. How often that was so, at least 1. */
void lua_func_unseen(void);
uint32_t lua_func_times_unseen(void);

/* Stands for the *lua_func_current of main functions. Never 0. */
extern const _Atomic uint64_t lua_func_never;

/* ---------------------------------------------------- upcalls, called busy */

uint32_t lua_func_item(struct thread_state *s, uint64_t key);
uint64_t lua_func_verdict(uint64_t key, struct function_origin *from);

/* Another name comes most often than in its item in the open chunk: say so
 * there. Called busy. */
void lua_func_tell_name(struct thread_state *s, uint64_t key);
