/* weft_module.c - require "weft": what weft.h offers, for Lua. What is easier
 * to say in Lua is in weft_module.lua; this is what that needs from C. Compiled
 * once for each version of Lua; the one for 5.1 serves LuaJIT, too. Keeps no
 * state: that is libweft.so's.
 *
 * A comment at a function of Lua gives its arguments and its results.
 * SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#define WEFT_LUA_MAY_BE_JIT
#include "tracer/host/weft.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

/* weft_module.lua, which the build turns into numbers; not ended by a zero. */
static const char text[] = {
#include WEFT_MODULE_TEXT
};

#if LUA_VERSION_NUM == 501
/* luaL_setfuncs, which 5.1 does not have. */
static void set_functions(lua_State *L, const luaL_Reg *f)
{
	for (; f->name; f++) {
		lua_pushcfunction(L, f->func);
		lua_setfield(L, -2, f->name);
	}
}
#else
#define set_functions(L, f) luaL_setfuncs(L, f, 0)
#endif

/* The argument as text for C; an error if it is none. luaL_checkstring takes
 * text with a zero in it, where C would cut it. Belongs to Lua, as long as the
 * argument is on the stack. */
static const char *check_text(lua_State *L, int arg)
{
	size_t length;
	const char *const s = luaL_checklstring(L, arg, &length);

	luaL_argcheck(L, strlen(s) == length, arg, "text with a zero in it");
	return s;
}

/* As check_text; NULL: the argument is not there, or nil. */
static const char *option_text(lua_State *L, int arg)
{
	return lua_isnoneornil(L, arg) ? NULL : check_text(L, arg);
}

/* The coroutine given as the first argument, or else the running one. */
static lua_State *thread_argument(lua_State *L)
{
	return lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
}

static unsigned recorded(lua_State *L);
static void record(lua_State *L);

/* --------------------------------------------------------------- recording */

/* start([title]): "started", "already started" or "too many"; or nil and why
 * not. */
static int start(lua_State *L)
{
	const int r = weft_start(option_text(L, 1));

	if (r == -1) {
		lua_pushnil(L);
		lua_pushliteral(L, "this program is not being recorded");
		return 2;
	}
	record(L); /* for this Lua state it is in effect at once */
	lua_pushstring(L, r == 0 ? "started" : r == 1 ? "already started" :
		       "too many");
	return 1;
}

/* If recording is off: LuaJIT's compiler is off while the hook is there, so
 * that is taken off. In other Luas it stays, so that any Lua state may
 * resume. */
static void rest_if_off(lua_State *L)
{
	struct weft_status s = { .size = sizeof(s) };

	weft_status(&s);
	lua_getglobal(L, "jit");
	if (lua_istable(L, -1) && !s.on)
		weft_lua_rest(L);
	lua_settop(L, -2);
}

/* stop([title]): whether it was running. */
static int stop(lua_State *L)
{
	lua_pushboolean(L, weft_stop(option_text(L, 1)));
	rest_if_off(L);
	return 1;
}

/* pause(): whether recording was on. */
static int pause(lua_State *L)
{
	lua_pushboolean(L, weft_pause());
	rest_if_off(L);
	return 1;
}

/* resume(): whether this program is being recorded. */
static int resume(lua_State *L)
{
	const int r = weft_resume();

	if (r >= 0)
		record(L);
	lua_pushboolean(L, r >= 0);
	return 1;
}

/* mark(name): nothing. A recording that the program has joined meanwhile begins
 * here for a Lua state that weft could not meet from outside. */
static int mark(lua_State *L)
{
	weft_mark(check_text(L, 1));
	if (weft_lua_recording() != recorded(L))
		record(L);
	return 0;
}

/* snapshot([reason]): whether there is a flight recorder. */
static int snapshot(lua_State *L)
{
	lua_pushboolean(L, weft_snapshot(lua_isnone(L, 1) ? NULL :
					 check_text(L, 1)) >= 0);
	return 1;
}

/* label(key, value): whether it was recorded. */
static int label(lua_State *L)
{
	lua_pushboolean(L, weft_label(check_text(L, 1),
				      check_text(L, 2)) == 0);
	return 1;
}

/* native(on): whether native calls were recorded; nil: not being recorded. */
static int native(lua_State *L)
{
	int was;

	luaL_checktype(L, 1, LUA_TBOOLEAN);
	was = weft_native(lua_toboolean(L, 1));
	if (was < 0)
		lua_pushnil(L);
	else
		lua_pushboolean(L, was);
	record(L);
	return 1;
}

/* zone(name, level, fn): the zone that begins in the call at this level, as
 * zone_end takes it; nil: the arguments are wrong. The caller, at level 1,
 * calls fn itself. To ask for types in Lua would be a call of type. */
static int zone(lua_State *L)
{
	const int level = (int)lua_tointeger(L, 2);

	if (lua_type(L, 1) != LUA_TSTRING ||
	    (level == 1 && !lua_isfunction(L, 3)))
		return 0;
	lua_pushnumber(L, (lua_Number)weft_lua_zone_begin(
				  L, lua_tostring(L, 1), level));
	return 1;
}

/* zone_end(zone): nothing. */
static int zone_end(lua_State *L)
{
	weft_lua_zone_end(L, (unsigned long long)luaL_checknumber(L, 1));
	return 0;
}

/* coroutine([co]): the number of co, or of the running one, as reports show
 * it. */
static int coroutine(lua_State *L)
{
	lua_State *const co = thread_argument(L);

#if LUA_VERSION_NUM >= 503
	lua_pushinteger(L, (lua_Integer)weft_lua_coroutine(co));
#else
	lua_pushnumber(L, (lua_Number)weft_lua_coroutine(co));
#endif
	return 1;
}

/* Sets a field of the table on top of the stack. */
static void set_flag(lua_State *L, const char *name, bool value)
{
	lua_pushboolean(L, value);
	lua_setfield(L, -2, name);
}

/* status(): struct weft_status as a table. */
static int status(lua_State *L)
{
	struct weft_status s = { .size = sizeof(s) };

	weft_status(&s);
	lua_newtable(L);
	set_flag(L, "recorded", s.recorded);
	set_flag(L, "on", s.on);
	set_flag(L, "native", s.native);
	set_flag(L, "lua", s.lua);
	set_flag(L, "region_only", s.inside_only);
	lua_pushinteger(L, (lua_Integer)s.lost);
	lua_setfield(L, -2, "lost");
	return 1;
}

/* ----------------------------------------------------- for weft_module.lua */

/* begin(): nothing. The call that follows is a chosen one: recorded with all
 * that it calls. finish must follow on the same thread. */
static int begin(lua_State *L)
{
	weft_inside_begin();
	record(L);
	return 0;
}

/* finish(): nothing. A chosen call has ended. Between chosen calls Lua needs no
 * hook, unless all is recorded. LuaJIT, which would throw away its compiled
 * code each time, keeps it: the upvalue is false there. */
static int finish(lua_State *L)
{
	const int out = weft_inside_end();

	if (out && lua_toboolean(L, lua_upvalueindex(1)))
		weft_lua_rest(L);
	return 0;
}

/* only(on): weft_inside_only, whose result it gives. */
static int only(lua_State *L)
{
	lua_pushinteger(L, weft_inside_only(lua_toboolean(L, 1)));
	return 1;
}

/* now(): seconds since some moment, by a clock that nobody sets. */
static int now(lua_State *L)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	lua_pushnumber(L, (lua_Number)t.tv_sec +
		       (lua_Number)t.tv_nsec * 1e-9);
	return 1;
}

/* depth(): how many calls are open on the running coroutine. Lua cannot tell
 * that itself: this looks at levels whose distance doubles, then halves the
 * distance. So it takes a time that grows with the logarithm of the depth. */
static int depth(lua_State *L)
{
	lua_Debug d;
	int low = 0, high = 1;

	while (lua_getstack(L, high, &d)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		const int middle = low + (high - low) / 2;

		if (lua_getstack(L, middle, &d))
			low = middle;
		else
			high = middle;
	}
	lua_pushinteger(L, low);
	return 1;
}

/* ----------------------------------------------------- the program's hooks */

/* These stand in for functions of Lua's libraries where Lua is linked
 * statically, so that nothing else sees the calls. Each has the original as an
 * upvalue, which runs in our place, in one call; weft records the call as
 * one of the original. */

/* The function that a stand-in has as that upvalue, which it calls. */
static lua_CFunction upvalue_original(lua_State *L, int upvalue)
{
	return lua_tocfunction(L, lua_upvalueindex(upvalue));
}

/* Calls the original with the arguments of the stand-in; returns the number of
 * its results. */
static int run_original(lua_State *L)
{
	return upvalue_original(L, 1)(L);
}

/* The program's hook and ours live side by side; the program sees its own. */
static int sethook(lua_State *L)
{
	lua_State *const co = thread_argument(L);
	const int results = run_original(L);

	weft_lua_attach(co);
	return results;
}

/* Our hook is off while the program asks for its own, so it gets that. */
static int gethook(lua_State *L)
{
	lua_State *const co = thread_argument(L);
	int results;

	weft_lua_rest(co);
	results = run_original(L);
	weft_lua_attach(co);
	return results;
}

static int tell_switch(lua_State *L, lua_State *co, lua_CFunction original)
{
	struct weft_lua_switch s;
	int results;

	weft_lua_resuming(co, L, &s);
	results = original(L);
	weft_lua_resumed(&s);
	return results;
}

/* coroutine.resume and what coroutine.wrap gives: switches are told when they
 * happen. Otherwise they are found at the next event, like an error that leaves
 * through a wrapped coroutine. */
static int resume_told(lua_State *L)
{
	return lua_isthread(L, 1) ?
	       tell_switch(L, lua_tothread(L, 1), upvalue_original(L, 1)) :
	       run_original(L);
}

/* Replaces the function that coroutine.wrap returns. Upvalues: the coroutine,
 * as the original has it; the original. An error skips weft_lua_resumed: weft
 * sees it jump, or finds the switch at the next event. */
static int wrapped_told(lua_State *L)
{
	return tell_switch(L, lua_tothread(L, lua_upvalueindex(1)),
		    upvalue_original(L, 2));
}

/* What coroutine.wrap gives has the coroutine as its first upvalue: weft is
 * told that it was made, and wrapped_told given in its place, but for LuaJIT,
 * whose own is no C function but in name. */
static int wrap_told(lua_State *L)
{
	const int results = run_original(L);
	const lua_CFunction wrapped = lua_tocfunction(L, -1);

	if (results != 1 || !lua_iscfunction(L, -1) ||
	    !lua_getupvalue(L, -1, 1))
		return results;
	if (!lua_isthread(L, -1)) {
		lua_pop(L, 1); /* not Lua's own wrap made it */
		return results;
	}
	weft_lua_made(lua_tothread(L, -1), L);
	if (!wrapped) {
		lua_pop(L, 1);
		return results;
	}
	weft_lua_stands_for(L, (weft_lua_function)wrapped_told,
			    (weft_lua_function)wrapped);
	lua_pushcfunction(L, wrapped);
	lua_pushcclosure(L, wrapped_told, 2);
	return results;
}

static int create_told(lua_State *L)
{
	const int results = run_original(L);

	if (results == 1 && lua_isthread(L, -1))
		weft_lua_made(lua_tothread(L, -1), L);
	return results;
}

static int close_told(lua_State *L)
{
	lua_State *const co = lua_tothread(L, 1);
	int results;

	weft_lua_closing(co);
	results = run_original(L);
	weft_lua_closed(co);
	return results;
}

/* jit.on and jit.off. If the whole engine is meant, weft may make the change
 * later; calls for single functions go to the original. */
static int jit_set(lua_State *L, int on)
{
	return lua_isnoneornil(L, 1) && weft_lua_jit(L, on) ? 0 :
	       run_original(L);
}

static int jit_on(lua_State *L)
{
	return jit_set(L, 1);
}

static int jit_off(lua_State *L)
{
	return jit_set(L, 0);
}

/* Is LuaJIT's compiler on? 1 or 0; -1: it is no LuaJIT. Leaves the stack as it
 * was. */
static int jit_status(lua_State *L)
{
	const int top = lua_gettop(L);
	int is_on = -1;

	lua_getglobal(L, "jit");
	if (lua_istable(L, -1)) {
		lua_getfield(L, -1, "status");
		is_on = lua_iscfunction(L, -1) &&
			lua_pcall(L, 0, 1, 0) == 0 && lua_toboolean(L, -1);
	}
	lua_settop(L, top);
	return is_on;
}

/* The functions that are stood in for. LuaJIT's coroutine.resume is no C
 * function but in name, so it is left alone there (for_jit). */
static const struct stand_in {
	const char *library, *name;
	lua_CFunction ours;
	bool for_jit;
} stand_ins[] = {
	{ "coroutine", "create", create_told, true },
	{ "coroutine", "wrap", wrap_told, true },
	{ "coroutine", "resume", resume_told, false },
	{ "coroutine", "close", close_told, false },
	{ "debug", "sethook", sethook, true },
	{ "debug", "gethook", gethook, true },
	{ "jit", "on", jit_on, true },
	{ "jit", "off", jit_off, true },
};

/* Puts f in place of the function on top of the stack, which it takes off, of
 * the table below. What the program has replaced by a Lua function stays as it
 * is, and so does what is ours already. */
static void stand_in_for(lua_State *L, const struct stand_in *f)
{
	const lua_CFunction original = lua_tocfunction(L, -1);

	if (!original || original == f->ours) {
		lua_pop(L, 1);
		return;
	}
	weft_lua_stands_for(L, (weft_lua_function)f->ours,
			    (weft_lua_function)original);
	lua_pushcclosure(L, f->ours, 1);
	lua_setfield(L, -2, f->name);
}

static void stand_in(lua_State *L, bool is_jit)
{
	const int top = lua_gettop(L);

	for (size_t i = 0; i < sizeof(stand_ins) / sizeof(*stand_ins); i++) {
		const struct stand_in *const f = &stand_ins[i];

		lua_getglobal(L, f->library);
		if (lua_istable(L, -1) && (f->for_jit || !is_jit)) {
			lua_getfield(L, -1, f->name);
			stand_in_for(L, f);
		}
		lua_settop(L, top);
	}
}

static const char last_recording[] = "weft.recording";

/* The number of the recording that this Lua state was last made part of. */
static unsigned recorded(lua_State *L)
{
	unsigned number;

	lua_getfield(L, LUA_REGISTRYINDEX, last_recording);
	number = (unsigned)lua_tonumber(L, -1);
	lua_pop(L, 1);
	return number;
}

/* Lets weft record this Lua state from now on. Where weft sees no calls of lua_
 * functions, those that matter are replaced by our own, which is looked after
 * once in a recording. */
static void record(lua_State *L)
{
	const unsigned number = weft_lua_recording();
	int jit;

	if (weft_lua_attach(L) != WEFT_LUA_OK || number == recorded(L))
		return;
	lua_pushnumber(L, number);
	lua_setfield(L, LUA_REGISTRYINDEX, last_recording);
	if (weft_lua_is_interposed(L))
		return;
	weft_lua_rest(L); /* what we ask is no call of the program */
	jit = jit_status(L);
	weft_lua_attach(L);
	if (jit >= 0)
		weft_lua_jit(L, jit);
	stand_in(L, jit >= 0);
}

/* What a program calls; weft_module.lua adds its own to it. */
static const luaL_Reg functions[] = {
	{ "start", start }, { "stop", stop }, { "pause", pause },
	{ "resume", resume }, { "mark", mark }, { "label", label },
	{ "snapshot", snapshot }, { "native", native },
	{ "coroutine", coroutine },
	{ "status", status }, { NULL, NULL },
};

/* What weft_module.lua alone calls. */
static const luaL_Reg inner[] = {
	{ "begin", begin }, { "only", only },
	{ "zone", zone }, { "zone_end", zone_end },
	{ "now", now }, { "depth", depth },
	{ NULL, NULL },
};

__attribute__((visibility("default"))) int luaopen_weft(lua_State *L);

/* require "weft": the module's table. Runs weft_module.lua with that table and
 * the inner functions, then lets weft record this Lua state. */
int luaopen_weft(lua_State *L)
{
	static const char key[] = "weft.module";

	lua_getfield(L, LUA_REGISTRYINDEX, key);
	if (lua_istable(L, -1))
		return 1; /* what it replaces is replaced once */
	weft_lua_hide((const void *)&functions);
	if (luaL_loadbuffer(L, text, sizeof(text), "=[weft]"))
		return lua_error(L);
	lua_newtable(L);
	set_functions(L, functions);
	lua_newtable(L);
	set_functions(L, inner);
	lua_pushboolean(L, jit_status(L) < 0);
	lua_pushcclosure(L, finish, 1);
	lua_setfield(L, -2, "finish");
	lua_pushboolean(L, LUA_VERSION_NUM >= 504);
	lua_setfield(L, -2, "closes");
	lua_call(L, 2, 1);
	lua_pushvalue(L, -1);
	lua_setfield(L, LUA_REGISTRYINDEX, key);
	record(L);
	return 1;
}
