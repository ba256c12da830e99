/* test_lua_heal.c - at every event of a random Lua program, the shadow stack
 * against the true one. Compiled for every version of Lua. links: host lua
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tests/unit/lua_any.h"
#include "tests/unit/lua_pool.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua_vm/coroutine.h"

#include <stdlib.h>
#include <string.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

/* ------------------------------------------------------------- the truth */

static unsigned long checked, wrong, events;
static int verbose = 5;

static size_t source_length(const lua_Debug *d)
{
#if LUA_VERSION_NUM >= 504
	return d->srclen;
#else
	return strlen(d->source);
#endif
}

/* 0: one of LuaJIT's own, which has no address, or no lines (table.remove: what
 * it does is a part of its key). */
static uint64_t key_of(lua_State *L, lua_Debug *d)
{
	lua_CFunction f;

	lua_getinfo(L, "Sf", d);
	f = lua_tocfunction(L, -1);
	lua_pop(L, 1);
	if (!f && (d->what[0] == 'C' || d->linedefined < 0))
		return 0;
	return f ? (uint64_t)f & ~UINT64_C(1) :
	       lua_func_key(d->source, source_length(d), d->linedefined,
			    d->lastlinedefined, 0, 0);
}

/* The innermost frame of L below f in the topmost segment, or NULL. */
static const struct frame *below(const struct frame *f, const lua_State *L)
{
	const struct segment *const g = shadow_segment(thread_self);

	while (f > thread_self->frames + g->base) {
		f--;
		/* Without the layout, 5.1's tail calls stand on the calls
		 * whose frames they have taken. */
		if (f->site == (uint64_t)L && frame_is_lua(f) &&
		    f->ret >> 62 == 0)
			return f;
	}
	return NULL;
}

/* LuaJIT moves a frame up once it knows how many arguments there are. */
static int is_frame(const struct frame *f, lua_State *L, lua_Debug *d, int tail)
{
	const uint64_t key = key_of(L, d);

	return f && (key == 0 || f->key == key) &&
	       (f->ret == any_id(d) || tail ||
		(ANY_IS_JIT && f->ret < any_id(d)));
}

/* tail: the caller of the innermost call is as good as gone. between: calls
 * have ended since the last event, and nothing told. */
static int same_but(lua_State *L, int level, int tail, int between)
{
	const struct frame *f = thread_self->top;
	lua_Debug d;

	for (; lua_getstack(L, level, &d); level++) {
		if (any_is_lost_tail(&d))
			continue;
		f = below(f, L);
		while (between && f && !is_frame(f, L, &d, tail))
			f = below(f, L);
		between = 0;
		if (!is_frame(f, L, &d, tail))
			return 0;
		level += tail;
		tail = 0;
	}
	return !below(f, L);
}

/* LuaJIT does not tell when a C function returns, when an error is caught and
 * when a coroutine goes on: that shows at its next event. */
static int same(lua_State *L, int level, int kind)
{
	const int between = ANY_IS_JIT && kind == LUA_HOOKCOUNT;

	if (between && shadow_segment(thread_self)->owner &&
	    shadow_segment(thread_self)->owner != lua_co_find(L))
		return 1;
	if (between && !shadow_segment(thread_self)->owner &&
	    lua_co_find(L)->serial != 0)
		return 1;
	if (any_is_tail(kind))
		return same_but(L, level, 1, between);
	return same_but(L, level, 0, between) ||
	       (ANY_IS_51 && kind == LUA_HOOKCALL &&
		same_but(L, level, 1, between));
}

static void compare_from(lua_State *L, int level, int kind)
{
	if (events++ % 64 == 0)
		host_pool_drain(shared_pool, &tally, 0);
	if (shadow_depth(thread_self) > 100 && events % 64 != 0)
		return;
	checked++;
	if (same(L, level, kind))
		return;
	wrong++;
	if (verbose-- > 0)
		printf("event %lu kind %d: the stacks differ\n", events,
		       kind);
}

/* As the program's own hook: an event that is ours has been recorded when the
 * program sees it. */
static void compare(lua_State *L, lua_Debug *ar)
{
	if (ANY_IS_51 && ar->event == 4)
		return; /* of a tail call: nothing returns */
	compare_from(L, ar->event == LUA_HOOKRET, ar->event);
}

/* As a C function the program calls: no hook of its own stands beside ours. */
static int is_checking;

static int l_check(lua_State *L)
{
	if (is_checking)
		compare_from(L, 0, -1);
	return 0;
}

/* ---------------------------------------------------------- the workload */

static int l_call(lua_State *L)
{
	lua_settop(L, 1);
	lua_call(L, 0, 0);
	return 0;
}

static int l_pcall(lua_State *L)
{
	lua_settop(L, 1);
	lua_pushboolean(L, lua_pcall(L, 0, 0, 0) == LUA_OK);
	return 1;
}

#if LUA_VERSION_NUM >= 502
static int go_on(lua_State *L, int more)
{
	if (more) {
		lua_pushvalue(L, 2);
		lua_call(L, 0, 0);
	}
	return 0;
}

#if LUA_VERSION_NUM == 502
static int after(lua_State *L)
{
	int more = 0;

	lua_getctx(L, &more);
	return go_on(L, more);
}
#else
static int after(lua_State *L, int status, lua_KContext c)
{
	(void)status;
	return go_on(L, c != 0);
}
#endif

static int l_callk(lua_State *L)
{
	lua_settop(L, 1);
	lua_callk(L, 0, 0, 0, after);
	return 0;
}

/* With a second argument: what runs once the first has ended or failed. */
static int l_pcallk(lua_State *L)
{
	const int more = lua_gettop(L) > 1;

	lua_settop(L, 2);
	lua_pushvalue(L, 1);
	lua_pcallk(L, 0, 0, 0, more, after);
	return go_on(L, more);
}
#endif

static int l_yield(lua_State *L)
{
	return lua_yield(L, 0);
}

/* A host that resumes, sometimes to the end. */
static int l_drive(lua_State *L)
{
	lua_State *const co = lua_newthread(L);
	int n = (int)lua_tointeger(L, 2), results;

	lua_pushvalue(L, 1);
	lua_xmove(L, co, 1);
	while (any_resume(co, L, &results) == LUA_YIELD && n-- > 0)
		lua_pop(co, results);
	return 0;
}

/* A host that calls on a coroutine's state without resuming it. */
static int l_oncall(lua_State *L)
{
	lua_State *const co = lua_newthread(L);

	for (int i = 0; i < 3; i++) {
		lua_pushvalue(L, 1);
		lua_xmove(L, co, 1);
		if (lua_pcall(co, 0, 0, 0) != LUA_OK)
			lua_pop(co, 1);
	}
	return 0;
}

static const char program[] =
"local seed, limit = ...\n"
"local steps, pool, go = 0, {}, nil\n"
"local load, close = loadstring or load, coroutine.close\n"
"local callk, pcallk = callk or call, pcallk or protected\n"
"local isyieldable = coroutine.isyieldable or function() return false end\n"
"local function random(n) seed = seed * 16807 % 2147483647\n"
"  return seed % n + 1 end\n"
"local function leaf() return 1 end\n"
"local function var(...) local a = ... ; if random(2) == 1 then return go(9)"
" end go(9) return a end\n"
"local function deep(n, d) if n == 0 then go(d) return 0 end\n"
"  return 1 + deep(n - 1, d) end\n"
"local function tail(n, d) if n == 0 then return go(d) end\n"
"  return tail(n - 1, d) end\n"
"local function fail(d) go(d) error('x') end\n"
"local function body(d) return function(...) go(d) coroutine.yield(1) go(d)\n"
"  if random(3) == 1 then error('co') end return go(d) end end\n"
"local meta = { __index = function(t, k) go(9) return k end,\n"
"  __add = function() go(9) return 1 end,\n"
"  __call = function() return go(9) end,\n"
"  __lt = function() return true end, __concat = function() return 'c' end,\n"
"  __close = function() go(9) end }\n"
"local object = setmetatable({}, meta)\n"
"local acts = {\n"
" function(d) leaf() check() end, function(d) return leaf() end,\n"
" function(d) var(1, 2, 3) end, function(d) return var() end,\n"
" function(d) deep(random(40), d) end,\n"
" function(d) if random(30) == 1 then deep(1500, 10) end end,\n"
" function(d) return tail(random(5), d) end,\n"
" function(d) pcall(fail, d) end,\n"
" function(d) if random(3) == 1 then fail(d) end end,\n"
" function(d) xpcall(fail, function(m) go(9) return m end, d) end,\n"
" function(d) pcall(string.rep) end, function(d) return ('x'):rep(3) end,\n"
" function(d) call(function() go(d) end) end,\n"
" function(d) protected(function() fail(d) end) end,\n"
" function(d) callk(function() go(d) end) end,\n"
" function(d) pcallk(function() fail(d) end, leaf) end,\n"
" function(d) pcallk(function() fail(d) end) end,\n"
" function(d) local x = object.name; x = object + 1; x = object .. 'b' end,\n"
" function(d) return object(1) end, function(d) return object < object end,\n"
" function(d) table.sort({ 3, 1, 2, 4 }, function(a, b) leaf() return a < b"
" end) end,\n"
" function(d) string.gsub('abc', '.', function(c) go(9) return c end) end,\n"
" function(d) for k in pairs({ 1, 2 }) do leaf() end end,\n"
" function(d) local co = coroutine.create(body(d)) pool[#pool + 1] = co\n"
"  coroutine.resume(co) end,\n"
" function(d) local f = coroutine.wrap(body(d)) f() if random(2) == 1 then"
" f() end end,\n"
" function(d) if #pool > 0 then\n"
"  coroutine.resume(pool[random(#pool)]) end end,\n"
" function(d) if #pool > 0 then table.remove(pool, random(#pool)) end end,\n"
" function(d) if #pool > 0 then local co = table.remove(pool)\n"
"  if close and coroutine.status(co) == 'suspended' then close(co) end\n"
"  end end,\n"
" function(d) if isyieldable() then coroutine.yield() end end,\n"
" function(d) pcall(function() if isyieldable() then"
" coroutine.yield() end fail(d) end) end,\n"
" function(d) drive(function() go(d) yield() go(d) end, random(3)) end,\n"
" function(d) drive(function() pcallk(function() yield() fail(d) end, leaf)"
" end, 2) end,\n"
" function(d) drive(function() callk(function() go(d) yield() end) go(d) end,"
" 2) end,\n"
" function(d) oncall(function() go(d) end) end,\n"
" function(d) oncall(function() fail(d) end) end,\n"
#if LUA_VERSION_NUM >= 504
" function(d) local c <close> = object\n"
"  if random(2) == 1 then fail(d) end end,\n"
#endif
" function(d) if random(8) == 1 then collectgarbage() end end,\n"
" function(d) load('local a = ... return a')(1) end,\n"
" function(d) setmetatable({}, { __gc = function() leaf() end }) end,\n"
" function(d) load(('local a = %d return a'):format(random(9)),\n"
"  '@c.lua')() end,\n"
"}\n"
"function go(d) steps = steps + 1 d = d + 1 check()\n"
"  if d > 9 or steps > limit then return 1 end\n"
"  for i = 1, random(2) do local a = acts[random(#acts)]\n"
"    if random(4) == 1 then return a(d) end a(d) end return 2 end\n"
"while steps < limit do pcall(go, 0) if #pool > 20 then pool = {} end end\n";

#if LUA_VERSION_NUM == 502
/* Lua 5.2 collects garbage in the middle of a Lua function's call, before its
 * first instruction. Of a finalizer that runs then it asks, if calls are told
 * to a hook, whether it was tail-called: it reads the word before that
 * function's code. The thread sanitizer's allocator, which has no headers, may
 * have put that at the very start of a mapping. */
static void *allocate(void *ud, void *old, size_t size, size_t wanted)
{
	enum { HEAD = 16 };
	char *at = !old ? NULL : (char *)old - HEAD;

	(void)ud;
	(void)size;
	if (wanted == 0) {
		free(at);
		return NULL;
	}
	at = realloc(at, wanted + HEAD);
	return !at ? NULL : at + HEAD;
}
#define luaL_newstate() lua_newstate(allocate, NULL)
#endif

static lua_State *begin(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "check", l_check);
	lua_register(L, "call", l_call);
	lua_register(L, "protected", l_pcall);
#if LUA_VERSION_NUM >= 502
	lua_register(L, "callk", l_callk);
	lua_register(L, "pcallk", l_pcallk);
#endif
	lua_register(L, "yield", l_yield);
	lua_register(L, "drive", l_drive);
	lua_register(L, "oncall", l_oncall);
	return L;
}

static int by_public_api;

/* Each function begins on a line of its own: nothing else tells the truth of
 * those on the same ones. */
static const char *spread(void)
{
	static char text[2 * sizeof(program)];
	const char *from = program, *next;

	text[0] = '\0';
	while ((next = strstr(from + 1, "function")) != NULL) {
		strncat(text, from, (size_t)(next - from));
		strcat(text, "\n");
		from = next;
	}
	return strcat(text, from);
}

static void run(int seed, int limit, lua_Hook hook, int mask)
{
	lua_State *const L = begin();
	const char *const text = spread();

	CHECK(lua_co_find(L)->vm->by_layout);
	if (by_public_api)
		lua_co_find(L)->vm->by_layout = 0;
	lua_sethook(L, hook, mask, 7);
	CHECK_EQ(luaL_loadbuffer(L, text, strlen(text), "@random.lua"), 0);
	lua_pushinteger(L, seed);
	lua_pushinteger(L, limit);
	if (lua_pcall(L, 2, 0, 0) != LUA_OK)
		printf("%s\n", lua_tostring(L, -1));
	lua_close(L);
}

static void verdict(unsigned long least)
{
	host_pool_drain(shared_pool, &tally, 0);
	printf("%lu events, %lu checked\n", events, checked);
	CHECK(checked > least);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(tally.bad, 0);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	CHECK_EQ(thread_self->segments, 1);
	events = checked = wrong = 0;
}

/* A C function that a signal handler interrupts before its own first hook. */
static long frames_inside = -1;

static int l_interrupted(lua_State *L)
{
	const long before = thread_self->top - thread_self->frames;
	void *const here = __builtin_return_address(0);

	(void)L;
	for (int i = 0; i < 3; i++) {
		__cyg_profile_func_enter((void *)begin, here);
		__cyg_profile_func_exit((void *)begin, here);
	}
	__cyg_profile_func_enter((void *)l_interrupted, here);
	frames_inside = thread_self->top - thread_self->frames - before;
	__cyg_profile_func_exit((void *)l_interrupted, here);
	return 0;
}

/* Sanitizers make it slow, and busy machines slower. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { FEWER = 4 };
#else
enum { FEWER = 1 };
#endif

void test_lua_call_of_c_waits_while_a_handler_runs(void)
{
	lua_State *const L = begin();

	lua_pushcfunction(L, l_interrupted);
	lua_call(L, 0, 0);
	lua_close(L);
	CHECK_EQ(frames_inside, 0);
}

/* As if it were instrumented. Where tail calls leave no frame there is nothing
 * of Lua's between it and itself. */
static int l_nested(lua_State *L)
{
	const int n = (int)lua_tointeger(L, 1);
	const uint64_t depth = shadow_depth(thread_self);
	void *const here = __builtin_return_address(0);

	__cyg_profile_func_enter((void *)l_nested, here);
	if (n > 0) {
		__cyg_profile_func_enter((void *)begin, here);
		lua_getglobal(L, "again");
		lua_pushinteger(L, n - 1);
		lua_call(L, 1, 0);
		__cyg_profile_func_exit((void *)begin, here);
	}
	CHECK_EQ(shadow_depth(thread_self), depth);
	__cyg_profile_func_exit((void *)l_nested, here);
	return 0;
}

void test_lua_c_function_called_within_itself_ends_once(void)
{
	lua_State *const L = begin();

	lua_register(L, "nested", l_nested);
	CHECK_EQ(luaL_dostring(L, "function again(n) return nested(n) end\n"
			       "again(5) nested(3)"), 0);
	lua_close(L);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
}

void test_lua_shadow_is_the_true_stack_at_every_event(void)
{
	for (int seed = 1; seed <= 12 / FEWER; seed++)
		run(seed, 4000, compare, LUA_MASKCALL | LUA_MASKRET);
	verdict(50000 / FEWER);
}

void test_lua_shadow_is_the_true_stack_every_few_instructions(void)
{
	for (int seed = 21; seed <= 20 + 10 / FEWER; seed++)
		run(seed, 4000, compare, LUA_MASKCOUNT);
	verdict(50000 / FEWER);
}

void test_lua_shadow_is_the_true_stack_where_no_hook_is_shared(void)
{
	is_checking = 1;
	for (int seed = 41; seed <= 40 + 15 / FEWER; seed++)
		run(seed, 4000, NULL, 0);
	verdict(20000 / FEWER);
}

void test_lua_shadow_is_the_true_stack_without_the_layout(void)
{
	by_public_api = 1;
	for (int seed = 61; seed <= 60 + 6 / FEWER; seed++)
		run(seed, 4000, compare, LUA_MASKCALL | LUA_MASKRET);
	by_public_api = 0;
	verdict(50000 / FEWER);
}

void test_lua_shadow_is_the_true_stack_by_the_public_api_alone(void)
{
	by_public_api = is_checking = 1;
	for (int seed = 81; seed <= 80 + 15 / FEWER; seed++)
		run(seed, 4000, NULL, 0);
	by_public_api = is_checking = 0;
	verdict(20000 / FEWER);
}

/* Closures lie where others lay, while the collector is at every stage. */
void test_lua_functions_at_one_address_are_told_apart_by_the_public_api(void)
{
	lua_State *const L = begin();

	lua_co_find(L)->vm->by_layout = 0;
	lua_sethook(L, NULL, 0, 0);
	is_checking = 1;
	lua_pushinteger(L, 60000 / FEWER);
	lua_setglobal(L, "many");
	CHECK_EQ(luaL_dostring(L, "local load = loadstring or load\n"
		"local made = {}\n"
		"for i = 1, 5 do made[i] = load(('\\n'):rep(i) ..\n"
		"  'local function f() check() end return function()' ..\n"
		"  ' local x = i return function() f() check() return x end '\n"
		"  .. 'end', '=made') () end\n"
		"local i = 12345\n"
		"for k = 1, many do\n"
		"  i = (i * 16807) % 2147483647\n"
		"  made[i % 5 + 1]()()\n"
		"  if i % 7 == 0 then collectgarbage('step', i % 3) end\n"
		"  if i % 30011 == 0 then collectgarbage() end end"), 0);
	is_checking = 0;
	lua_close(L);
	verdict(20000 / FEWER);
}

/* Chunks come and go at the same addresses, with the same lines. */
void test_lua_loaded_chunks_are_not_mixed_up(void)
{
	lua_State *const L = begin();

	is_checking = 1;
	lua_pushinteger(L, 40000 / FEWER);
	lua_setglobal(L, "many");
	CHECK_EQ(luaL_dostring(L, "local load = loadstring or load\n"
		"for i = 1, many do\n"
		"  load('local function f() check() end f() return ' .. i)()\n"
		"  load('return function() check() return 1 end',\n"
		"    '@.' .. i % 7)()() end"), 0);
	is_checking = 0;
	lua_close(L);
	verdict(79000 / FEWER);
}
