/* weft.h - what a program may tell the recording it runs in. Everything here is
 * safe to call when the program is not being recorded: it then does nothing.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Stop recording, in every process of the recording. Returns 1 if it was on,
 * 0 if not. Off costs about a nanosecond a call. */
int weft_pause(void);

/* Record (again), in every process of the recording. Calls that are open at
 * this moment are not known; they show as "open before start". Returns 0, 1 if
 * recording was on already, -1 if this program is not being recorded. */
int weft_resume(void);

/* Leave a mark of that name in the calling thread's record. name: UTF-8, ended
 * by NUL; the first 256 bytes are kept. */
void weft_mark(const char *name);

/* Say something about this run, such as service, version or zone; reports can
 * tell and group runs by it. The first 256 bytes of each are kept. 0, or -1
 * if it could not be recorded. */
int weft_label(const char *key, const char *value);

/* A recording with a title: what lies between weft_start and weft_stop of
 * that title is one; up to 8 of them may overlap in a process, and reports
 * can show each alone (--recording TITLE). Recording is turned on with the
 * first, if it was off, and then off with the last. Without a title (NULL or
 * ""): weft_resume and weft_pause. It is in effect when the function
 * returns. weft_start: 0 started, 1 it runs already, -1 this program is not
 * being recorded, -2 too many. weft_stop: 1 stopped, 0 it did not run. */
int weft_start(const char *title);
int weft_stop(const char *title);

/* Record only what runs inside of weft_inside_begin and weft_inside_end
 * (only not 0), from the next event of each thread on, or everything again
 * (0). Returns what it was, -1: this program is not being recorded. */
int weft_inside_only(int only);

/* In pairs on one thread; may be nested. A nanosecond when everything is
 * recorded. Calls still open at the outermost end are ended there;
 * weft_inside_end then returns 1: nothing is recorded on this thread any
 * more. */
void weft_inside_begin(void);
int weft_inside_end(void);

/* Record native calls (on not 0) or leave them alone; Lua is not concerned.
 * Returns what it was, -1: this program is not being recorded. */
int weft_native(int on);

/* Native coroutines (fibers): for programs that switch stacks by themselves,
 * on one thread or from one to another. Those made with makecontext, and
 * those of libraries that tell a sanitizer of their switches, are found
 * without this. Switches may come from any thread, one after the other for
 * each fiber.
 *
 * weft_fiber_create: for a new stack, or an old one on which something new
 * begins. NULL if this program is not being recorded; the others ignore
 * that. weft_fiber_switch: right before the switch; NULL: back to the
 * thread's own stack. What is open on the fiber that is left, native calls
 * and Lua coroutines, goes with it. weft_fiber_destroy: it will not run
 * again, and the handle is not good any more. The fiber that runs may do so
 * itself, right before it switches away for the last time: that is its end,
 * and the thread is back on its own stack. */
struct weft_fiber;
struct weft_fiber *weft_fiber_create(void);
void weft_fiber_switch(struct weft_fiber *fiber);
void weft_fiber_destroy(struct weft_fiber *fiber);

/* The number of its coroutine, as reports show it; NULL: of the fiber that
 * runs, 0 if none does. */
unsigned long long weft_fiber_coroutine(const struct weft_fiber *fiber);

/* How it stands with this process's recording. */
struct weft_status {
	unsigned long size;      /* of this structure, set by the caller */
	int recorded;            /* is this program being recorded at all? */
	int on, native, lua;     /* now; native calls; Lua calls */
	int inside_only;
	unsigned long long lost; /* records, by threads that live */
};

/* 0, or -1: not recorded. Fills as much as size says. */
int weft_status(struct weft_status *status);

/* ------------------------------------------------------------------- Lua
 * Programs that use a shared Lua library need none of this: their Lua states
 * are found as they are made. A program with Lua linked in statically includes
 * lua.h before this file and calls weft_lua_attach. */

struct lua_State;

enum weft_lua_result {
	WEFT_LUA_OK = 0,           /* recorded from here on, or already */
	WEFT_LUA_NOT_RECORDED = 1, /* this program is not being recorded */
	WEFT_LUA_UNSUPPORTED = -1, /* of a Lua version weft does not know */
	WEFT_LUA_NO_MEMORY = -2,
	WEFT_LUA_INVALID = -3      /* L or the table is NULL */
};

/* The program's own lua_ functions: X(name) in every version of Lua,
 * X52(name) from 5.2 on, X54(name) from 5.4 on, X51(name) in 5.1 and LuaJIT,
 * XJIT(name) in LuaJIT alone. New names are added at the end. */
#define WEFT_LUA_FUNCTIONS(X, X52, X54, X51, XJIT)                     \
	X(lua_newstate) X(lua_close) X(lua_newthread) X(lua_status)            \
	X(lua_resume) X(lua_sethook) X(lua_gethook) X(lua_gethookmask)         \
	X(lua_gethookcount) X(lua_getstack) X(lua_getinfo) X(lua_gettop)       \
	X(lua_settop) X(lua_type) X(lua_next) X(lua_rawgeti) X(lua_tolstring)  \
	X(lua_tothread) X(lua_tocfunction) X(lua_iscfunction)                  \
	X(lua_topointer) X(lua_pushnil) X(lua_pushvalue) X(lua_pushcclosure)   \
	X(lua_load) X(lua_xmove)                                               \
	X52(lua_callk) X52(lua_pcallk) X52(lua_yieldk) X52(lua_version)        \
	X54(lua_toclose)                                                       \
	X51(lua_call) X51(lua_pcall) X51(lua_yield) X51(lua_cpcall)            \
	XJIT(luaJIT_setmode) XJIT(lua_pushlightuserdata)                       \
	X(lua_createtable) X(lua_setmetatable) X(lua_pushstring)               \
	X(lua_rawset) X(lua_rawseti) X52(lua_rawlen) X51(lua_objlen)

typedef void (*weft_lua_function)(void);

struct weft_lua_api {
	unsigned long size;        /* of this structure, as the program knows */
	long version;              /* LUA_VERSION_NUM */
#define WEFT_LUA_X(name) weft_lua_function name;
	WEFT_LUA_FUNCTIONS(WEFT_LUA_X, WEFT_LUA_X, WEFT_LUA_X, WEFT_LUA_X,
			   WEFT_LUA_X)
#undef WEFT_LUA_X
};

/* What weft_lua_attach calls: with the functions that serve L, for programs
 * that find them in another way. The table is copied. */
int weft_lua_attach_with(struct lua_State *L, const struct weft_lua_api *api);

/* The number of the coroutine L, as reports show it; 0: a main state, or not
 * known (as yet: it gets its number when it first runs). */
unsigned long long weft_lua_coroutine(struct lua_State *L);

/* Take weft's hook off L, this one coroutine, until weft_lua_attach(L): for
 * times in which nothing of it is to be recorded. The program's own stays. */
void weft_lua_rest(struct lua_State *L);

/* Where Lua is linked statically nobody sees lua_resume: switches of
 * coroutines are found at the next Lua event. To have them exact, call the
 * first before each lua_resume(L, ...) and the second right after it; from:
 * who resumes L, or any other lua_State of the same Lua. Harmless elsewhere. */
struct weft_lua_switch { unsigned long opaque[8]; };
int weft_lua_resuming(struct lua_State *L, struct lua_State *from,
		      struct weft_lua_switch *);
void weft_lua_resumed(const struct weft_lua_switch *);

/* Are calls of lua_ functions on L seen (L is of a shared Lua library)? */
int weft_lua_is_interposed(struct lua_State *L);

/* Functions of the library or program that address lies in are not recorded
 * when Lua calls them, nor are Lua functions of the source "=[weft]". 0, or
 * -1: too many. For modules that bring weft to Lua. */
int weft_lua_hide(const void *address);

/* The program turns LuaJIT's compiler on or off, or has it on at first, where
 * nobody sees luaJIT_setmode: while L is recorded it is off. 1: done once L is
 * recorded no more; 0: do it. */
int weft_lua_jit(struct lua_State *L, int on);

/* Record no more of the Lua state L belongs to: its hook is taken off, from
 * each coroutine when it next runs. To be called on the thread that runs L.
 * Returns an enum weft_lua_result. Before lua_close it is not needed. */
int weft_lua_detach(struct lua_State *L);

#ifdef __cplusplus
}
#endif

#endif

#if defined(LUA_VERSION_NUM) && !defined(WEFT_LUA_ATTACH)
#define WEFT_LUA_ATTACH
#if LUA_VERSION_NUM >= 502
#define WEFT_LUA_52(name) (weft_lua_function)name,
#define WEFT_LUA_51(name) (weft_lua_function)0,
#else
#define WEFT_LUA_52(name) (weft_lua_function)0,
#define WEFT_LUA_51(name) (weft_lua_function)name,
#endif
#if LUA_VERSION_NUM == 501 && (defined(LUA_OK) /* LuaJIT's lua.h */ ||         \
			       defined(WEFT_LUA_MAY_BE_JIT))
#ifdef __cplusplus
extern "C"
#else
extern
#endif
#ifndef LUA_OK /* a module for both: there is none in 5.1 */
__attribute__((weak))
#endif
int luaJIT_setmode(lua_State *L, int idx, int mode);
#define WEFT_LUA_JIT(name) (weft_lua_function)name,
#else
#define WEFT_LUA_JIT(name) (weft_lua_function)0,
#endif
#if LUA_VERSION_NUM >= 504
#define WEFT_LUA_54(name) (weft_lua_function)name,
#else
#define WEFT_LUA_54(name) (weft_lua_function)0,
#endif
#define WEFT_LUA_ALL(name) (weft_lua_function)name,

/* Record the Lua state L belongs to, coroutines included, from now on: calls
 * that are open at this moment are not known. Best called right after the state
 * was made, on the thread that runs L; harmless when repeated. A hook set with
 * lua_sethook before is kept and goes on working; one set later replaces weft's
 * where Lua is linked statically: call this again after it. Returns an enum
 * weft_lua_result; negative: not recorded, the program runs on as before. */
#ifdef __GNUC__
__attribute__((no_instrument_function))
#endif
static inline int weft_lua_attach(struct lua_State *L)
{
	static const struct weft_lua_api api = {
		sizeof(struct weft_lua_api), LUA_VERSION_NUM,
		WEFT_LUA_FUNCTIONS(WEFT_LUA_ALL, WEFT_LUA_52, WEFT_LUA_54,
				   WEFT_LUA_51, WEFT_LUA_JIT)
	};

	return weft_lua_attach_with(L, &api);
}

#undef WEFT_LUA_ALL
#undef WEFT_LUA_51
#undef WEFT_LUA_52
#undef WEFT_LUA_54
#undef WEFT_LUA_JIT
#endif
