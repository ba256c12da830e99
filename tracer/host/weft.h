/* weft.h - what a program may tell the recording it runs in. Every function is
 * safe to call when the program is not being recorded: it then does nothing.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_H
#define WEFT_H

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- on and off */

/* Stops recording in every process of the recording. Returns 1 if it was on, 0
 * if not. While it is off a call costs about a nanosecond. */
int weft_pause(void);

/* Starts recording again in every process of the recording. Calls that are open
 * at this moment are not known; reports show them as "open before start".
 * Returns 0, 1 if recording was on already, -1 if this program is not being
 * recorded. After the end of the recording it does nothing. */
int weft_resume(void);

/* Starts a recording with this title, which lasts until weft_stop of the same
 * title, or a fork in the child. Reports can show it alone (--recording TITLE).
 * Up to 8 may overlap in a process. If recording is off, the first one to start
 * in any process turns it on, and the last one to stop turns it off again.
 * title: UTF-8; NULL or "": the same as weft_resume. Of several recordings with
 * one title, a report shows one alone, the last (TITLE#2: the second): for what
 * comes often there are zones, below. Recording is on when the
 * function returns, unless it has ended. Returns 0, 1 if this title is already
 * running, -1 if this program is not being recorded, -2 if too many are
 * running. */
int weft_start(const char *title);

/* Stops the recording with this title. NULL or "": the same as weft_pause.
 * Returns 1, or 0 if it did not run. */
int weft_stop(const char *title);

/* on: 0 to leave native calls of this process out, anything else to record
 * them. Calls of Lua functions are recorded either way. Returns 1 if native
 * calls were recorded before, 0 if not, -1 if this program is not being
 * recorded. */
int weft_native(int on);

/* only: 0 to record everything, anything else to record only what runs between
 * weft_inside_begin and weft_inside_end. Takes effect at the next
 * event of each thread. Returns the previous value, -1 if this program is not
 * being recorded. */
int weft_inside_only(int only);

/* To be called in pairs on the same thread; pairs may be nested. Each costs a
 * nanosecond when everything is recorded. Calls that are open at the outermost
 * weft_inside_end end there. weft_inside_end returns 1 if nothing is recorded
 * on this thread from then on, else 0. */
void weft_inside_begin(void);
int weft_inside_end(void);

/* --------------------------------------------------------- marks and labels */

/* Leaves a mark with this name in the calling thread's record. name: UTF-8; the
 * first 256 bytes are kept. */
void weft_mark(const char *name);

/* Says something about this run, such as its service, version or zone;
 * reports show it and group runs by it. key and value: UTF-8; the first 256
 * bytes of each are kept. Returns 0, -1 if it could not be recorded. */
int weft_label(const char *key, const char *value);

/* -------------------------------------------------------------------- zones
 * A zone is a span of time inside a function, which reports show as a call of
 * its name: with calls, self and total time, and what was called in it. Zones
 * may be nested. Each costs a nanosecond when nothing is recorded. */

/* Begins a zone. It ends at the latest with the call of the function that
 * begins it: by a return, an exception, or a jump; if calls of that function
 * are not recorded, it may last until its caller ends. name: UTF-8; the first
 * 256 bytes are kept; need not stay as it is. A program may have 4096 names;
 * further zones share one. */
void weft_zone_begin(const char *name);

/* Ends the zone that this function began last. Does nothing if there is none,
 * nor if the zone began before recording did. */
void weft_zone_end(void);

#ifdef __GNUC__
#define WEFT_ZONE_INLINE                                               \
	__attribute__((always_inline, no_instrument_function)) inline

/* Makes a zone of the rest of the block, however that is left, but for a jump:
 * WEFT_ZONE("parse"); in C and in C++, with gcc and clang. */
#define WEFT_ZONE(name) WEFT_ZONE_AT(name, __LINE__)
#define WEFT_ZONE_AT(name, line) WEFT_ZONE_NAMED(name, line)
#ifndef __cplusplus
#define WEFT_ZONE_NAMED(name, line)                                            \
	__attribute__((cleanup(weft_zone_leave), unused))                      \
	const char weft_zone_##line = (weft_zone_begin(name), 0)

static WEFT_ZONE_INLINE void weft_zone_leave(const char *zone)
{
	(void)zone;
	weft_zone_end();
}
#endif
#endif

/* ------------------------------------------------------------------- delays
 * For weft validate --slow-down, which checks that times of the program can be
 * trusted: a function that has WEFT_DELAY(); as its first line takes so many ns
 * longer in a build with -DWEFT_DELAY_NS=500 (gcc and clang). In other builds
 * it is nothing. */
#ifdef WEFT_DELAY_NS
#include <time.h>
#define WEFT_DELAY() weft_delay()

/* So many turns, which nothing overlaps with. One function for all: a copy of
 * the loop at another place may take twice as long. */
static __attribute__((noinline, no_instrument_function, unused)) void
weft_delay_turns(unsigned long turns)
{
	for (; turns > 0; turns--)
		__asm__ __volatile__("" : "+r"(turns) : : "memory");
}

/* ns of the thread; of the process, where that is not to be had: then other
 * threads should not run at the first call. */
static WEFT_ZONE_INLINE double weft_delay_clock(void)
{
#ifdef CLOCK_THREAD_CPUTIME_ID
	struct timespec t;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
		return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#endif
	return (double)clock() * 1e9 / CLOCKS_PER_SEC;
}

/* Turns that take that long here, by the quickest of some trials. */
static __attribute__((noinline, no_instrument_function, unused)) unsigned long
weft_delay_measure(void)
{
	unsigned long turns = 10000000;
	double least = 0;
	int i;

	__asm__ __volatile__("" : "+r"(turns)); /* no copy for this number */
	for (i = 0; i < 8; i++) {
		const double start = weft_delay_clock();
		double took;

		weft_delay_turns(turns);
		took = weft_delay_clock() - start;
		if (i == 0 || took < least)
			least = took;
	}
	return (unsigned long)((double)turns * WEFT_DELAY_NS /
			       (least > 0 ? least : 1)) + 1;
}

static WEFT_ZONE_INLINE void weft_delay(void)
{
	static unsigned long turns;

	if (__atomic_load_n(&turns, __ATOMIC_RELAXED) == 0)
		__atomic_store_n(&turns, weft_delay_measure(),
				 __ATOMIC_RELAXED);
	weft_delay_turns(__atomic_load_n(&turns, __ATOMIC_RELAXED));
}
#else
#define WEFT_DELAY() ((void)0)
#endif

/* ---------------------------------------------------------------- snapshots */

/* With weft record --flight-recorder: has what was recorded of late written as
 * a trace of its own, in the folder snapshot-N of the trace's, while recording
 * goes on. Does not wait for that. reason: UTF-8, of which the first 255 bytes
 * are kept; may be NULL. If a snapshot was written less than 10 s ago, the next
 * one is written when they are over, once for all that ask meanwhile. Safe in a
 * signal handler. Returns 0, 1 if a snapshot is being asked for already, which
 * is then this one, too, -1 if there is no flight recorder. */
int weft_snapshot(const char *reason);

/* ------------------------------------------------------------------- status */

/* How this process is being recorded. */
struct weft_status {
	unsigned long size;      /* of this structure, set by the caller */
	int recorded;            /* is this program being recorded at all? */
	int on;                  /* is recording on now? */
	int native, lua;         /* are native calls recorded, and Lua's? */
	int inside_only;         /* the value given to weft_inside_only */
	unsigned long long lost; /* records lost by threads that are alive */
};

/* Fills as much of *status as its size says. Returns 0, -1 if this program
 * is not being recorded. */
int weft_status(struct weft_status *status);

/* ------------------------------------------------------- native coroutines
 * For programs that switch stacks by themselves, on one thread or from one
 * to another. Coroutines made with makecontext, and those of libraries that
 * tell a sanitizer of their switches, are found without this. A fiber may run
 * on any thread, but only on one at a time. */

struct weft_fiber;

/* Returns a handle for a new stack, or for a reused stack on which a new
 * coroutine begins. Returns NULL if this program is not being recorded; the
 * functions below then do nothing. */
struct weft_fiber *weft_fiber_create(void);

/* To be called right before the switch to this fiber; NULL: back to the
 * thread's own stack. What is open on the fiber that is left, native calls
 * and Lua coroutines, goes with it. */
void weft_fiber_switch(struct weft_fiber *fiber);

/* Says that the fiber will not run again; the handle is invalid from here on.
 * The running fiber may destroy itself, right before it switches away for the
 * last time: it ends here, and the thread counts as back on its own stack. */
void weft_fiber_destroy(struct weft_fiber *fiber);

/* Returns the number of the fiber's coroutine, as reports show it; NULL stands
 * for the fiber that is running. Returns 0 if there is none. */
unsigned long long weft_fiber_coroutine(const struct weft_fiber *fiber);

/* ------------------------------------------------------------------- Lua
 * Programs that use a shared Lua library need none of this: their Lua states
 * are found as they are made. A program with Lua linked in statically includes
 * lua.h before this file and calls weft_lua_attach. */

struct lua_State;

enum weft_lua_result {
	WEFT_LUA_OK = 0,           /* recorded from here on, or already */
	WEFT_LUA_NOT_RECORDED = 1, /* this program is not being recorded */
	WEFT_LUA_UNSUPPORTED = -1, /* of a Lua version weft does not know; or a
	                            * coroutine of a Lua that was changed, whose
	                            * main state weft does not know */
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
	X(lua_rawset) X(lua_rawseti) X52(lua_rawlen) X51(lua_objlen)           \
	X52(lua_absindex) X52(lua_checkstack) X51(lua_pushthread)              \
	X51(lua_newuserdata)

typedef void (*weft_lua_function)(void);

struct weft_lua_api {
	unsigned long size;        /* of this structure, in the program */
	long version;              /* LUA_VERSION_NUM */
#define WEFT_LUA_X(name) weft_lua_function name;
	WEFT_LUA_FUNCTIONS(WEFT_LUA_X, WEFT_LUA_X, WEFT_LUA_X, WEFT_LUA_X,
			   WEFT_LUA_X)
#undef WEFT_LUA_X
};

/* Called by weft_lua_attach. A program calls it directly if it finds L's lua_
 * functions in another way. The table is copied. Returns an enum
 * weft_lua_result. */
int weft_lua_attach_with(struct lua_State *L, const struct weft_lua_api *api);

/* The number of the coroutine L, as reports show it. Returns 0 for a main
 * state, and for a coroutine that is not known: it gets its number when it
 * first runs. */
unsigned long long weft_lua_coroutine(struct lua_State *L);

/* Takes weft's hook off this one coroutine until weft_lua_attach(L): nothing
 * of it is recorded meanwhile. The program's own hook stays. */
void weft_lua_rest(struct lua_State *L);

/* Where Lua is linked statically weft does not see lua_resume, and finds
 * switches of coroutines at the next Lua event. To have them exact, call
 * weft_lua_resuming before each lua_resume(L, ...) and weft_lua_resumed
 * right after it. from: who resumes L, or any other lua_State of the same
 * Lua. Harmless elsewhere. */
struct weft_lua_switch { unsigned long opaque[8]; };
int weft_lua_resuming(struct lua_State *L, struct lua_State *from,
		      struct weft_lua_switch *);
void weft_lua_resumed(const struct weft_lua_switch *);

/* Likewise, weft does not see lua_newthread and lua_closethread (or
 * lua_resetthread) there: a new coroutine may then be taken for one that lay at
 * its address before, and a closed one stays suspended. Call weft_lua_made
 * right after L was made by lua_newthread(from), weft_lua_closing right before
 * L is closed, and weft_lua_closed right after it. Harmless elsewhere. */
void weft_lua_made(struct lua_State *L, struct lua_State *from);
void weft_lua_closing(struct lua_State *L);
void weft_lua_closed(struct lua_State *L);

/* Begins a zone (above) in the call of L's that runs at this level: 0 is the
 * innermost one, as lua_getstack has it. It ends with that call, if not before.
 * Returns what weft_lua_zone_end takes, below 2^53; 0: it is not recorded. */
unsigned long long weft_lua_zone_begin(struct lua_State *L, const char *name,
				       int level);

/* Ends that zone, if it is still open, with all that L has called in it. */
void weft_lua_zone_end(struct lua_State *L, unsigned long long zone);

/* Returns 1 if weft sees calls of lua_ functions on L, since L is of a
 * shared Lua library, else 0. */
int weft_lua_is_interposed(struct lua_State *L);

/* The number of the recording that this program takes part in, counted from 1
 * in the program; 0: of none, or of one without Lua. */
unsigned weft_lua_recording(void);

/* For modules that offer weft's functions to Lua scripts. From now on,
 * functions of the library or program that contains address are not recorded
 * when Lua calls them, nor are Lua functions whose source is "=[weft]".
 * Returns 0, -1 if there are too many of them. */
int weft_lua_hide(const void *address);

/* The C function ours of such a module has been put in place of the C function
 * original, which it calls by itself: calls of ours are recorded as original's.
 * There is room for 32 of them. */
void weft_lua_stands_for(struct lua_State *L, weft_lua_function ours,
			 weft_lua_function original);

/* Tells weft whether the program wants LuaJIT's compiler on (not 0) or off (0),
 * where weft does not see luaJIT_setmode: when the program changes it, and at
 * first if it is on. The compiler is off while L is recorded. Returns 1 if
 * weft will make the change once L is no longer recorded, 0 if the program
 * must make it. */
int weft_lua_jit(struct lua_State *L, int on);

/* Stops recording the Lua state that L belongs to: the hook is taken off
 * each coroutine when it next runs. To be called on the thread that runs L;
 * not needed before lua_close. Returns an enum weft_lua_result. */
int weft_lua_detach(struct lua_State *L);

#ifdef __cplusplus
}

#ifdef __GNUC__
#define WEFT_ZONE_NAMED(name, line) ::weft::zone weft_zone_##line(name)

namespace weft {

/* A zone that ends with the block in which the object lives:
 * weft::zone z("parse"); */
class zone {
public:
	explicit WEFT_ZONE_INLINE zone(const char *name)
	{
		weft_zone_begin(name);
	}
	WEFT_ZONE_INLINE ~zone() { weft_zone_end(); }

private:
	zone(const zone &);
	zone &operator=(const zone &);
};

}
#endif
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

/* Records the Lua state that L belongs to, with its coroutines, from now on.
 * Calls that are open at this moment are not known: best called right after
 * the state was made. To be called on the thread that runs L; harmless when
 * repeated. A hook that was set with lua_sethook before goes on working. One
 * that is set later replaces weft's where Lua is linked statically: then
 * call this again. Returns an enum weft_lua_result; if negative, the program
 * runs on as before. */
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
