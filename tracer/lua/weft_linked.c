/* weft_linked.c - libweft-lua-static.a: is linked into a program or library
 * together with a static Lua of any version, whose calls pkg-config's --wrap
 * flags lead here. They go on to Lua where nobody records; otherwise libweft.so
 * says where they go. Knows no lua.h: all arguments are passed on in registers.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_vm/linked.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* By this name the flag -u has the linker take this file from the archive. */
HIDDEN extern char weft_lua_static;
char weft_lua_static;

/* -------------------------------------------------- where calls are led to */

/* Lua's own functions. NULL: this version has none of that name. */
#define X(name) extern any_fn __real_##name __attribute__((weak));
WEFT_LUA_WRAPPED(X)
#undef X

static weft_lua_function real[WEFT_LUA_WRAPS] = {
#define X(name) (weft_lua_function)__real_##name,
	WEFT_LUA_WRAPPED(X)
#undef X
};

/* What the calls are led to: Lua's own, until libweft.so changes it. */
static weft_lua_function used[WEFT_LUA_WRAPS] = {
#define X(name) (weft_lua_function)__real_##name,
	WEFT_LUA_WRAPPED(X)
#undef X
};

/* The linker has Lua and the program call these in place of Lua's own. It wants
 * them exported if a library that the program needs calls Lua's. */
#define X(name)                                                                \
	__attribute__((visibility("protected"))) long __wrap_##name(ARGS);     \
	long __wrap_##name(ARGS)                                               \
	{                                                                      \
		return ((any_fn *)used[WEFT_LUA_WRAP_##name])(PASS);           \
	}
WEFT_LUA_WRAPPED(X)
#undef X

/* The table that weft_lua_attach uses. For some of its names the linker puts
 * the wrappers in: unwrap sets these again. */
#define X(name) extern any_fn name __attribute__((weak));
WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X

static struct weft_lua_api api = {
	.size = sizeof(struct weft_lua_api),
#define X(name) .name = (weft_lua_function)name,
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
};

/* Weak names link nothing that the program does not use itself. */
#define X(name) extern any_fn name __attribute__((weak));
WEFT_LUA_OPENED(X)
#undef X

static weft_lua_function opens[WEFT_LUA_OPENS] = {
#define X(name) (weft_lua_function)name,
	WEFT_LUA_OPENED(X)
#undef X
};

/* A weak name that this program or library does not define may have led to
 * another one: to libweft.so, or to a shared Lua. */
static bool is_here(weft_lua_function f)
{
	Dl_info ours, its;

	return f && dladdr(&weft_lua_static, &ours) != 0 &&
	       dladdr((void *)f, &its) != 0 &&
	       ours.dli_fbase == its.dli_fbase;
}

/* What is not of this program or library is not there for us. */
static void leave_out_others(void)
{
	for (int i = 0; i < WEFT_LUA_WRAPS; i++) {
		if (!is_here(real[i]))
			real[i] = NULL;
	}
	for (int i = 0; i < WEFT_LUA_OPENS; i++) {
		if (!is_here(opens[i]))
			opens[i] = NULL;
	}
#define X(name)                                                                \
	if (!is_here(api.name))                                                \
		api.name = NULL;
	WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
}

static void unwrap(void)
{
#define X(name) api.name = real[WEFT_LUA_WRAP_##name];
	X(lua_newstate) X(lua_close) X(lua_newthread) X(lua_resume)
	X(lua_sethook) X(lua_gethook) X(lua_gethookmask) X(lua_gethookcount)
	X(lua_callk) X(lua_pcallk) X(lua_call) X(lua_pcall) X(lua_cpcall)
	X(luaJIT_setmode)
#undef X
}

/* ------------------------------------------ are calls inside Lua led here? */

/* They are if each of Lua's files was compiled by itself. If all were compiled
 * as one, or optimized at link time, the linker does not see the calls between
 * them. So a script that makes such calls is run once. */
#define TRIED(X)                                                               \
	X(lua_newthread) X(lua_resume) X(lua_pcall) X(lua_pcallk) X(lua_sethook)

/* How often each of the tried calls came to us. */
static unsigned seen[WEFT_LUA_WRAPS];

#define X(name)                                                                \
	static long count_##name(ARGS)                                         \
	{                                                                      \
		seen[WEFT_LUA_WRAP_##name]++;                                  \
		return ((any_fn *)real[WEFT_LUA_WRAP_##name])(PASS);           \
	}
TRIED(X)
#undef X

extern any_fn luaL_loadstring __attribute__((weak));
extern any_fn luaopen_debug __attribute__((weak));
extern any_fn lua_setglobal __attribute__((weak));

/* The lua_Alloc of that run. The program's own is not known here. */
static void *give(void *ud, void *old, size_t old_size, size_t size)
{
	(void)ud;
	(void)old_size;
	if (size > 0)
		return realloc(old, size);
	free(old);
	return NULL;
}

/* Calls what lies on top of L's stack: no arguments, one result. Returns 0 if
 * it went well. */
static int call(long L)
{
	if (api.lua_pcallk)
		return (int)((any_fn *)api.lua_pcallk)(L, 0, 1, 0, 0, 0);
	return (int)((any_fn *)api.lua_pcall)(L, 0, 1, 0, 0, 0);
}

/* Has this program or library that function itself? */
#define HERE(name) (is_here((weft_lua_function)name))

/* Opens a library as the global name, NULL: it sets its own globals. Without
 * lua_setglobal, which 5.1 does not have, all set their own. Returns 0 if it
 * went well. */
static int open_library(long L, any_fn *open, const char *name)
{
	int bad;

	((any_fn *)api.lua_pushcclosure)(L, (long)open, 0, 0, 0, 0);
	bad = call(L);
	if (HERE(lua_setglobal) && name && bad == 0)
		lua_setglobal(L, (long)name, 0, 0, 0, 0);
	else
		((any_fn *)api.lua_settop)(L, 0, 0, 0, 0, 0);
	return bad;
}

/* Makes the calls that are tried. Not 0: something failed, so that nothing can
 * be said. */
static int run(long L)
{
	static const char text[] =
		"local c = coroutine.create(function() end)"
		" coroutine.resume(c) pcall(c)"
		" if debug then debug.sethook() end";

	return open_library(L, luaopen_base, NULL) != 0 ||
	       (HERE(luaopen_coroutine) &&
		open_library(L, luaopen_coroutine, "coroutine") != 0) ||
	       (HERE(luaopen_debug) &&
		open_library(L, luaopen_debug, "debug") != 0) ||
	       luaL_loadstring(L, (long)text, 0, 0, 0, 0) != 0 || call(L) != 0;
}

/* Did each of the tried calls come to us? Makes a Lua state for that and closes
 * it. */
static bool try(void)
{
	any_fn *const newstate = (any_fn *)real[WEFT_LUA_WRAP_luaL_newstate];
	long L = ((any_fn *)api.lua_newstate)((long)give, 0, 0, 0, 0, 0);
	int bad;

	if (L == 0 && newstate) /* LuaJIT may want its own allocator */
		L = newstate(0, 0, 0, 0, 0, 0);
	if (L == 0)
		return false;
	bad = run(L);
	((any_fn *)api.lua_close)(L, 0, 0, 0, 0, 0);
	return !bad && seen[WEFT_LUA_WRAP_lua_newthread] > 0 &&
	       seen[WEFT_LUA_WRAP_lua_resume] > 0 &&
	       seen[WEFT_LUA_WRAP_lua_pcall] +
	       seen[WEFT_LUA_WRAP_lua_pcallk] > 0 &&
	       (!HERE(luaopen_debug) || seen[WEFT_LUA_WRAP_lua_sethook] > 0);
}

/* Asked by libweft.so, which then leads the calls elsewhere. Returns 1 if calls
 * inside Lua are led here, else 0, also if that cannot be found out: then it
 * must not be relied on. Leaves all calls led to Lua itself. */
static int sees_all(void)
{
	int all;

	if (!HERE(luaopen_base) && !HERE(luaopen_coroutine))
		return 1; /* all calls are the program's own */
	if (!HERE(luaopen_base) || !HERE(luaL_loadstring) ||
	    (!api.lua_pcallk && !api.lua_pcall))
		return 0;
#define X(name)                                                                \
	if (real[WEFT_LUA_WRAP_##name])                                \
		used[WEFT_LUA_WRAP_##name] = (weft_lua_function)count_##name;
	TRIED(X)
#undef X
	all = try();
	for (int i = 0; i < WEFT_LUA_WRAPS; i++)
		used[i] = real[i];
	return all;
}

/* ----------------------------------------------------------------- meeting */

/* Given to libweft.so, which uses it until weft_lua_unlinked. */
static const struct weft_lua_linked linked = {
	.size = sizeof(linked), .api = &api, .wraps = WEFT_LUA_WRAPS,
	.real = real, .used = used, .sees_all = sees_all,
	.opens = WEFT_LUA_OPENS, .open = opens,
};

typedef void meet_fn(const struct weft_lua_linked *);

/* NULL: libweft.so is not loaded, so nobody records. */
static meet_fn *find(const char *name)
{
	return (meet_fn *)dlsym(RTLD_DEFAULT, name);
}

/* Runs before any constructor of the program makes a lua_State, and after the
 * last destructor has closed one. */
__attribute__((constructor(101))) static void meet_weft(void)
{
	meet_fn *const meet = find("weft_lua_linked");

	if (!meet)
		return;
	unwrap();
	leave_out_others();
	meet(&linked);
}

__attribute__((destructor(101))) static void leave_weft(void)
{
	meet_fn *const leave = find("weft_lua_unlinked");

	if (leave)
		leave(&linked);
}
