/* test_lua_coroutine.c - who a coroutine is, on recycled addresses and on other
 * threads; the program's own hooks beside ours; recording turned off and on.
 * Compiled for every version of Lua. links: host lua
 * SPDX-License-Identifier: MIT */
#include "tests/unit/lua_any.h"
#include "tests/test.h"
#include "tests/unit/lua_pool.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/lua_vm/coroutine.h"

#include <dlfcn.h>
#include <sys/mman.h>

static struct host_pool_tally since(void (*what)(lua_State *), lua_State *L)
{
	struct host_pool_tally before;

	drain();
	before = tally;
	what(L);
	drain();
	for (int i = 0; i < 16; i++)
		before.kind[i] = tally.kind[i] - before.kind[i];
	before.calls = tally.calls - before.calls;
	return before;
}

static void run_text(lua_State *L, const char *text)
{
	if (!CHECK_EQ(luaL_dostring(L, text), LUA_OK))
		printf("%s\n", lua_tostring(L, -1));
	lua_settop(L, 0);
}

static unsigned seen, unlike;

/* Do the topmost segment's frames of L match its calls? */
static int same(lua_State *L, int level)
{
	const struct frame *f = thread_self->top;
	const struct frame *const base =
		thread_self->frames + shadow_segment(thread_self)->base;
	lua_Debug d;

	for (; lua_getstack(L, level, &d); level++) {
		do {
			if (f-- == base)
				return 0;
		} while (f->site != (uint64_t)L || !frame_is_lua(f));
		if (f->ret != any_id(&d))
			return 0;
	}
	while (f-- > base) {
		if (f->site == (uint64_t)L && frame_is_lua(f))
			return 0;
	}
	return 1;
}

static int l_check(lua_State *L)
{
	seen++;
	if (!same(L, 0)) {
		unlike++;
		printf("check %u: the stacks differ\n", seen);
	}
	return 0;
}

/* Gives nothing, whatever it was given. */
static int l_nap(lua_State *L)
{
	return lua_yield(L, 0);
}

static int l_pause(lua_State *L)
{
	(void)L;
	CHECK_EQ(weft_pause(), 1);
	return 0;
}

static int l_resume(lua_State *L)
{
	(void)L;
	CHECK_EQ(weft_resume(), 0);
	return 0;
}

static int l_protected(lua_State *L)
{
	lua_settop(L, 1);
	lua_pcall(L, 0, 0, 0);
	return 0;
}

static int l_detach(lua_State *L)
{
	CHECK_EQ(weft_lua_detach(L), WEFT_LUA_OK);
	return 0;
}

static int l_attach(lua_State *L)
{
	CHECK_EQ(weft_lua_attach(L), WEFT_LUA_OK);
	return 0;
}

/* With all libraries, and with what the texts call. */
static lua_State *new_state(void)
{
	static const struct luaL_Reg all[] = {
		{ "check", l_check }, { "nap", l_nap }, { "off", l_pause },
		{ "on", l_resume }, { "protected", l_protected },
		{ "detach", l_detach }, { "attach", l_attach },
	};
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		lua_register(L, all[i].name, all[i].func);
	seen = unlike = 0;
	return L;
}

/* Was it checked so often, and were all stacks alike? */
static void close_state(lua_State *L, unsigned checks)
{
	CHECK_EQ(seen, checks);
	CHECK_EQ(unlike, 0);
	drain();
	CHECK_EQ(tally.bad, 0);
	lua_close(L);
}

/* ------------------------------------------------------------- identity */

enum { MADE = 5000 };

static uint64_t serials[MADE + 1];
static const lua_State *places[MADE];
static unsigned made, distinct, alike;

static int l_made(lua_State *L)
{
	lua_State *const co = lua_tothread(L, 1);
	const struct coroutine *const c = lua_co_find(co);
	unsigned i;

	for (i = 0; i < distinct && places[i] != co; i++)
		;
	if (i == distinct)
		places[distinct++] = co;
	if (!c || c->serial == 0 || c->serial == LUA_UNBORN ||
	    (made > 0 && c->serial <= serials[made - 1]))
		alike++;
	serials[made++] = !c ? 0 : c->serial;
	return 0;
}

static void make_many(lua_State *L)
{
	run_text(L, "for i = 1, 5000 do\n"
		 "  local co = coroutine.create(function()\n"
		 "    coroutine.yield() end)\n"
		 "  made(co) coroutine.resume(co)\n"
		 "  if i % 2 == 0 then coroutine.resume(co) end\n"
		 "  if i % 500 == 0 then collectgarbage() end end");
}

void test_lua_coroutines_on_recycled_addresses_are_new(void)
{
	lua_State *const L = new_state();
	struct host_pool_tally t;

	lua_register(L, "made", l_made);
	t = since(make_many, L);
	printf("%u coroutines at %u addresses\n", made, distinct);
	CHECK_EQ(made, MADE);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed */
	CHECK(distinct < MADE);
#endif
	CHECK_EQ(alike, 0);
	CHECK_EQ(t.kind[REC_CREATE], MADE);
	CHECK_EQ(t.kind[REC_RESUME], MADE + MADE / 2);
	CHECK_EQ(t.kind[REC_SUSPEND], MADE + MADE / 2);
	CHECK_EQ(lua_co_find(L)->serial, 0);
	lua_close(L);
}

static void run_thrice(lua_State *L)
{
	lua_State *const co = lua_newthread(L);
	int results;

	for (int i = 0; i < 3; i++) {
		lua_settop(co, 0);
		luaL_loadstring(co, "return 1");
		CHECK_EQ(any_resume(co, L, &results), LUA_OK);
	}
	lua_settop(co, 0); /* nothing to run */
	CHECK(any_resume(co, L, &results) != LUA_OK);
	lua_settop(L, 0);
}

void test_lua_a_finished_coroutine_resumed_is_a_new_one(void)
{
	lua_State *const L = luaL_newstate();
	const struct host_pool_tally t = since(run_thrice, L);

	CHECK_EQ(t.kind[REC_CREATE], 3);
	CHECK_EQ(t.kind[REC_RESUME], 3);
	CHECK_EQ(t.kind[REC_SUSPEND], 3);
	lua_close(L);
}

static void call_thrice(lua_State *L)
{
	lua_State *const co = lua_newthread(L);

	for (int i = 0; i < 3; i++)
		run_text(co, "local function f() end f()");
	lua_settop(L, 0);
}

void test_lua_calls_on_a_coroutine_not_resumed_make_one(void)
{
	lua_State *const L = luaL_newstate();
	const struct host_pool_tally t = since(call_thrice, L);

	CHECK_EQ(t.kind[REC_CREATE], 1);
	CHECK_EQ(t.kind[REC_RESUME], 3);
	CHECK_EQ(t.kind[REC_SUSPEND], 3);
	CHECK_EQ(t.calls, 6);
	lua_close(L);
}

/* -------------------------------------------------------------- threads */

static void *step(void *arg)
{
	lua_State *const co = arg;
	int results;

	CHECK(any_resume(co, NULL, &results) == LUA_YIELD);
	lua_pop(co, results);
	return NULL;
}

void test_lua_a_coroutine_brings_its_stack_to_another_thread(void)
{
	lua_State *const L = new_state();
	lua_State *co;
	pthread_t thread;

	co = lua_newthread(L);
	CHECK_EQ(luaL_loadstring(co,
		"local function deep(n) if n == 0 then while true do check()\n"
		" coroutine.yield() check() end end deep(n - 1) return 1 end\n"
		"deep(20)"), LUA_OK);
	for (int i = 0; i < 40; i++) {
		if (i % 3 == 0) {
			step(co);
		} else {
			pthread_create(&thread, NULL, step, co);
			pthread_join(thread, NULL);
		}
	}
	close_state(L, 79);
}

void test_lua_states_that_come_and_go_take_no_memory(void)
{
	const void *vms[MADE / 10];
	unsigned n = 0, i;

	made = distinct = 0;
	for (; made < MADE / 10; made++) {
		lua_State *const L = luaL_newstate();
		const struct lua_vm *const vm = lua_co_find(L)->vm;

		CHECK(made == 0 || vm->serial > serials[made - 1]);
		serials[made] = vm->serial;
		for (i = 0; i < distinct && places[i] != L; i++)
			;
		if (i == distinct)
			places[distinct++] = L;
		for (i = 0; i < n && vms[i] != vm; i++)
			;
		if (i == n)
			vms[n++] = vm;
		lua_close(L);
	}
	printf("%u states at %u addresses, %u objects\n", made, distinct, n);
	CHECK_EQ(n, distinct);
}

/* As soon as a state's memory is given back, another thread makes a new state
 * there: here the allocator does. */
static char place[16 << 10] __attribute__((aligned(16)));
static int place_is_free = 1;
static lua_State *heir;

static void *lend_place(void *ud, void *p, size_t old, size_t size)
{
	(void)ud;
	(void)old;
	if (size == 0 && p == place) {
		place_is_free = 1;
		if (!heir)
			heir = any_newstate(lend_place);
	} else if (size == 0) {
		free(p);
	} else if (p || !place_is_free) {
		return realloc(p, size);
	} else {
		place_is_free = 0;
		return place;
	}
	return NULL;
}

static void call_f(lua_State *L)
{
	luaL_loadstring(L, "local function f() end f()");
	lua_call(L, 0, 0);
}

void test_lua_a_state_made_where_one_is_just_closed_is_recorded(void)
{
	lua_State *const L = any_newstate(lend_place);

	call_f(L);
	lua_close(L);
	CHECK(heir == L);
	CHECK_EQ(since(call_f, heir).calls, 2);
	lua_close(heir);
}

/* ---------------------------------------------------------- many of them */

/* An address is used once; what was freed is overwritten, as where a heap
 * churns. */
static char *fresh;
static size_t fresh_left = 256 << 20;

static void *take_fresh(void *ud, void *p, size_t old, size_t size)
{
	char *to;

	(void)ud;
	if (!fresh)
		fresh = mmap(NULL, fresh_left, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	if (p && size != 0 && size <= old)
		return p;
	to = fresh;
	size = (size + 15) & ~(size_t)15;
	if (size > fresh_left)
		return NULL;
	fresh += size;
	fresh_left -= size;
	if (p && size != 0)
		memcpy(to, p, old);
	if (p)
		memset(p, 0xdd, old);
	return size == 0 ? NULL : to;
}

void test_lua_coroutines_at_ever_new_addresses_share_objects(void)
{
	enum { ROUNDS = 40, OF_EACH = 500, MOST = 12000 };
	lua_State *const L = any_newstate(take_fresh);
	const uint32_t objects = lua_co_objects;
	uint64_t born, calls;

	luaL_openlibs(L);
	run_text(L, "function body() coroutine.yield() end");
	drain();
	born = tally.kind[REC_CREATE];
	calls = tally.calls;
	for (int i = 0; i < ROUNDS; i++) {
		run_text(L, "for i = 1, 500 do\n"
			 "  local co = coroutine.create(body)\n"
			 "  coroutine.resume(co)\n"
			 "end collectgarbage()");
		drain();
	}
	printf("%u objects\n", lua_co_objects - objects);
	CHECK_EQ(tally.kind[REC_CREATE] - born, ROUNDS * OF_EACH);
	/* The body's and its call of yield, create and resume; the text's
	 * call of collectgarbage, and its own. */
	CHECK_EQ(tally.calls - calls, ROUNDS * (4 * OF_EACH + 2));
	CHECK(lua_co_objects - objects < MOST);
	lua_close(L);
}

/* Addresses of the same places in the table, until it has no more. They are
 * not read. */
static void fill_places_of(const lua_State *L)
{
	enum { BITS = 20, FREE_BITS = 64 - BITS };
	const uint64_t top = hash_place((uint64_t)L >> 4, BITS) << FREE_BITS;
	uint64_t inverse = GOLDEN, low = 0;
	unsigned n = 0;

	while (inverse * GOLDEN != 1)
		inverse *= 2 - inverse * GOLDEN;
	for (; n < 1000; low++) {
		const uint64_t hash = (top | low) * inverse;

		if (hash >> 60 != 0)
			continue;
		if (!lua_co_main((lua_State *)(hash << 4)))
			break;
		n++;
	}
	printf("%u places\n", n);
	CHECK(n < 1000);
}

void test_lua_calls_of_a_coroutine_without_room_are_counted(void)
{
	lua_State *const L = luaL_newstate();
	lua_State *const co = ((lua_State *(*)(lua_State *))dlsym(
		RTLD_NEXT, "lua_newthread"))(L);
	const int is_seen = lua_co_find(L)->vm->interposed;
	uint64_t before;
	int results;

	fill_places_of(co);
	luaL_loadstring(co, "local function f() end for i = 1, 7 do f() end");
	before = mapped_pool->unrecorded;
	CHECK_EQ(any_resume(co, L, &results), LUA_OK);
	CHECK(!lua_co_find(co));
	CHECK_EQ(mapped_pool->unrecorded - before, 8);
	CHECK_EQ(lua_co_find(L)->vm->interposed, is_seen);
	lua_close(L);
}

#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed */
/* As many requests to a server. Gives the place of the next piece of memory. */
static const char *serve(unsigned requests)
{
	while (requests-- > 0) {
		lua_State *const L = luaL_newstate();

		lua_newthread(L);
		luaL_loadstring(L, "local function f() end f()");
		lua_call(L, 0, 0);
		lua_close(L);
		if (requests % 64 == 0)
			drain();
	}
	return memory_get(16);
}

void test_lua_a_state_a_request_takes_not_a_byte(void)
{
	const char *const early = serve(1000), *const late = serve(10000);

	CHECK_EQ(late - early, 16);
}
#endif

static void vary(lua_State *L)
{
	run_text(L, "for i = 1, 10000 do varies[i](1, 2) end");
}

/* LuaJIT moves a frame up, and its return comes from there. By then what it has
 * called may have its place among the functions that the thread knows. */
void test_lua_calls_of_any_arguments_return(void)
{
	lua_State *const L = new_state();
	struct host_pool_tally t;

	run_text(L, "varies = {}\n"
		 "local load = loadstring or load\n"
		 "local text = 'local f = ... return function(...) f() end'\n"
		 "for i = 1, 10000 do varies[i] = load(text)(load('')) end");
	t = since(vary, L);
	CHECK_EQ(t.calls, 1 + 2 * 10000);
	CHECK_EQ(t.kind[REC_UNWIND], 0);
	lua_close(L);
}

/* ----------------------------------------- calls on suspended coroutines */

enum { NAPS = 300 };

static int l_main(lua_State *L)
{
	lua_State *const main = lua_touserdata(L, lua_upvalueindex(1));

	lua_getglobal(main, "wake");
	lua_pushboolean(main, 0);
	lua_call(main, 1, 0);
	return 0;
}

/* Deeper naps come first, so that frames are used again. The program's own
 * count is the global n. */
static const char naps[] =
	"n = 0\n"
	"local function leaf() n = n + 1 return 1 end\n"
	"function wake(on)\n"
	"  n = n + 1 local r = leaf() if on then on_main() end\n"
	"  leaf() check() return r end\n"
	"local function deep(k, ...) n = n + 1\n"
	"  if k > 0 then local a, b = {}, k + .5\n"
	"    local r = deep(k - 1, a, b, ...) return r end\n"
	"  nap({}, 1.5, 'q' .. k) nap(leaf) nap(1.5) leaf() return 1 end\n"
	"function body() for i = 1, 100 do deep(i % 7) end end\n";

static void nap(lua_State *L)
{
	lua_State *const co = lua_newthread(L);
	int results;

	lua_getglobal(co, "body");
	for (int i = 0; i < NAPS; i++) {
		CHECK_EQ(any_resume(co, L, &results), LUA_YIELD);
		lua_settop(co, 0);
		lua_getglobal(co, "wake");
		lua_pushboolean(co, 1);
		CHECK_EQ(lua_pcall(co, 1, 0, 0), LUA_OK);
	}
	CHECK_EQ(any_resume(co, L, &results), LUA_OK);
}

void test_lua_a_suspended_coroutine_is_called(void)
{
	lua_State *const L = new_state();
	struct host_pool_tally t;

	lua_pushlightuserdata(L, L);
	lua_pushcclosure(L, l_main, 1);
	lua_setglobal(L, "on_main");
	run_text(L, naps);
	t = since(nap, L);
	lua_getglobal(L, "n");
	/* body; and as often as the program says; check and nap, on_main */
	CHECK_EQ(t.calls, 1 + lua_tointeger(L, -1) + 2 * NAPS + NAPS + NAPS);
	/* Each call is one stay on the thread, whatever is called meanwhile. */
	CHECK_EQ(t.kind[REC_RESUME], 2 * NAPS + 1);
	CHECK_EQ(t.kind[REC_SUSPEND], 2 * NAPS + 1);
	CHECK_EQ(t.bad, 0);
	close_state(L, 2 * NAPS);
}

#if !ANY_IS_JIT && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
/* ------------------------------------------------------------ exceptions
 * Those of C++ pass Lua's frames as this jump does: the C function that throws
 * is left through its exit hook, and nobody tells of the rest. */

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static void *away[5];

__attribute__((noinline)) static int l_throws(lua_State *L)
{
	(void)L;
	__cyg_profile_func_enter((void *)l_throws, __builtin_return_address(0));
	__cyg_profile_func_exit((void *)l_throws, __builtin_return_address(0));
	__builtin_longjmp(away, 1);
}

/* Takes as many bytes of stack before its hook runs. */
__attribute__((noinline)) static void afterwards(size_t bytes)
{
	volatile char *const taken = __builtin_alloca(bytes + 1);

	taken[0] = 0;
	__cyg_profile_func_enter((void *)afterwards,
				 __builtin_return_address(0));
	__cyg_profile_func_exit((void *)afterwards,
				__builtin_return_address(0));
}

__attribute__((noinline)) static void call_below(lua_State *co, size_t bytes)
{
	volatile char *const taken = __builtin_alloca(bytes + 1);

	taken[0] = 0;
	lua_call(co, 0, 0);
	taken[0] = 0;
}

/* below: how far the call of Lua lies below the function that catches. */
__attribute__((noinline)) static void throw_through(lua_State *L, size_t below,
						    size_t bytes)
{
	lua_State *const co = lua_newthread(L);

	lua_getglobal(co, "outer");
	if (__builtin_setjmp(away) != 0)
		;
	else if (below == 0)
		lua_call(co, 0, 0);
	else
		call_below(co, below);
	afterwards(bytes);
}

/* Whatever the stack's layout is. */
static void throw_many(lua_State *L)
{
	for (size_t i = 0; i < 50; i++) {
		throw_through(L, 0, i % 25 * 16);
		lua_settop(L, 0);
		throw_through(L, 128 + i * 16, 0);
		lua_settop(L, 0);
	}
}

void test_lua_an_exception_passes_a_coroutine_that_is_called(void)
{
	lua_State *const L = luaL_newstate();
	struct host_pool_tally t;

	lua_register(L, "throws", l_throws);
	run_text(L, "local function inner() throws() return 1 end\n"
		 "function outer() inner() return 1 end");
	t = since(throw_many, L);
	CHECK_EQ(t.calls, 400);
	CHECK_EQ(t.kind[REC_RESUME], 100);
	CHECK_EQ(t.kind[REC_SUSPEND], 100);
	CHECK_EQ(t.bad, 0);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
}
#endif

/* ---------------------------------------------------------------- hooks */

static const char own_hook[] =
	"local calls, lines, counts = 0, 0, 0\n"
	"local function f() local x = 1\n x = 2 return x end\n"
	"assert(not debug.gethook())\n"
	"local function mine(e) if e == 'count' then counts = counts + 1\n"
	"  elseif e == 'line' then lines = lines + 1\n"
	"  else calls = calls + 1 end end\n"
	"debug.sethook(mine, 'crl', 100)\n"
	"for i = 1, 100 do f() end\n"
	"local h, m, n = debug.gethook()\n"
	"assert(h == mine and m == 'crl' and n == 100)\n"
	"assert(calls > 200 and lines > 200 and counts > 5)\n"
	"local co = coroutine.wrap(function()\n"
	"  assert(select(2, debug.gethook()) == 'crl') end)\n"
	"co() debug.sethook()\n"
	"local before = calls\n"
	"for i = 1, 100 do f() end\n"
	"assert(calls == before and not debug.gethook())\n"
	"debug.sethook(function() debug.sethook() error('late') end, '',"
	" 1000)\n"
	"local ok, why = pcall(function() while true do end end)\n"
	"assert(not ok and why:find('late'))\n"
	"f()\n";

static void run_own_hook(lua_State *L)
{
	run_text(L, own_hook);
}

void test_lua_the_programs_own_hook_works_and_ours_is_hidden(void)
{
	lua_State *const L = new_state();
	struct host_pool_tally t;

	t = since(run_own_hook, L);
	CHECK(!lua_gethook(L));
	CHECK_EQ(lua_gethookmask(L), 0);
	CHECK(t.calls > 200);
	run_text(L, "local function f() check() end f() f()");
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	close_state(L, 2);
}

static void yield_at_count(lua_State *L, lua_Debug *ar)
{
	(void)ar;
	lua_yield(L, 0);
}

void test_lua_a_hook_of_the_program_may_yield(void)
{
	lua_State *const L = new_state();
	lua_State *co;
	int results, yields = 0, status;

	co = lua_newthread(L);
	luaL_loadstring(co, "local function f(i) check() return i end\n"
			"for i = 1, 500 do f(i) end");
	lua_sethook(co, yield_at_count, LUA_MASKCOUNT, 50);
	while ((status = any_resume(co, L, &results)) == LUA_YIELD)
		yields++;
	CHECK_EQ(status, LUA_OK);
	CHECK(yields > 20);
	close_state(L, 500);
}

/* ------------------------------------------------------------- off and on */

void test_lua_open_calls_are_found_when_recording_goes_on(void)
{
	lua_State *const L = new_state();

	run_text(L, "local function f() check() end\n"
		 "local function g() off() f = f on() protected(f)\n"
		 "  check() f()\n"
		 "  return 1 end\n"
		 "local co = coroutine.wrap(function() coroutine.yield()\n"
		 "  check()\n"
		 "  off() on() protected(f) check() coroutine.yield() end)\n"
		 "local function h() co() g() f() co() check() f() end\n"
		 "h() f()\n"
		 "local d = coroutine.wrap(function() nap({}, 1.5) check()\n"
		 "  nap(check) check() end)\n"
		 "local function k() off() on() protected(f) d() end\n"
		 "d() k() k()");
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	close_state(L, 14);
}

void test_lua_a_coroutine_is_closed_while_recording_is_off(void)
{
	lua_State *const L = new_state();

	run_text(L, "local co = coroutine.create(function()\n"
		 "  coroutine.yield() end) coroutine.resume(co) off()\n"
		 "if coroutine.close then coroutine.close(co) end on()");
	close_state(L, 0);
}

/* Calls a global function of another VM, protected. */
static int l_other(lua_State *L)
{
	lua_State *const other = lua_touserdata(L, lua_upvalueindex(1));

	lua_getglobal(other, lua_tostring(L, 1));
	CHECK_EQ(lua_pcall(other, 0, 0, 0), LUA_OK);
	return 0;
}

static lua_State *vm_beside(lua_State *other, const char *text)
{
	lua_State *const L = new_state();

	lua_pushlightuserdata(L, other);
	lua_pushcclosure(L, l_other, 1);
	lua_setglobal(L, "other");
	run_text(L, text);
	return L;
}

/* What is found under a protected call while that runs does not end with it. */
void test_lua_open_calls_of_another_vm_are_found_under_a_mark(void)
{
	lua_State *const L = vm_beside(NULL, "function back() check() end");
	lua_State *const inner = vm_beside(L,
		"local function f() other('back') check() end\n"
		"local function g() off() on() protected(f) check() end\n"
		"function run() g() check() end");

	lua_pushlightuserdata(L, inner);
	lua_pushcclosure(L, l_other, 1);
	lua_setglobal(L, "other");
	seen = unlike = 0;
	run_text(L, "local function outer() other('run') check() end\n"
		 "outer() check()");
	CHECK_EQ(seen, 6);
	CHECK_EQ(unlike, 0);
	CHECK_EQ(thread_self->top - thread_self->frames, 1);
	drain();
	CHECK_EQ(tally.bad, 0);
	lua_close(inner);
	lua_close(L);
}

/* ------------------------------------------------------- attach and detach */

static unsigned counted;

static void count(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
	counted++;
}

void test_lua_attached_and_detached_under_load(void)
{
	lua_State *const L = new_state();

	lua_sethook(L, count, LUA_MASKCOUNT, 10);
	counted = 0;
	run_text(L, "local function f(n)\n"
		 "  if n > 0 then return f(n - 1) end end\n"
		 "local co = coroutine.wrap(function() while true do f(3)\n"
		 "  coroutine.yield() end end)\n"
		 "local function g(i) f(2) if i % 2 == 0 then detach() end\n"
		 "  co() pcall(f, 2) attach() f(1) pcall(error) end\n"
		 "for i = 1, 10000 do detach() g(i) attach() end");
	CHECK(counted > 1000);
	CHECK(lua_gethook(L) == count);
	CHECK_EQ(lua_gethookmask(L), LUA_MASKCOUNT);
	CHECK_EQ(lua_gethookcount(L), 10);
	CHECK_EQ(weft_lua_detach(L), WEFT_LUA_OK);
	CHECK(lua_gethook(L) == count);
	close_state(L, 0);
}

#if ANY_IS_JIT
void test_lua_the_compiler_is_as_the_program_wants_it_afterwards(void)
{
	lua_State *const L = new_state();

	run_text(L, "assert(not jit.status()) detach() assert(jit.status())\n"
		 "attach() assert(not jit.status()) jit.off()\n"
		 "detach() assert(not jit.status()) attach() jit.on()\n"
		 "assert(not jit.status()) detach() assert(jit.status())");
	lua_close(L);
}

/* Compiled code makes no events, so there must be none while L is recorded; and
 * what ran meanwhile must not be marked as not worth compiling. */
void test_lua_the_compiler_compiles_again_afterwards(void)
{
	lua_State *const L = new_state();

	run_text(L,
		"local traced = require('jit.util').traceinfo\n"
		"local function f(x) return x + 1 end\n"
		"local function loop() local s = 0\n"
		"  for i = 1, 100 do s = f(s) end return s end\n"
		"local function warm() for i = 1, 20 do loop() end\n"
		"  return traced(1) ~= nil end\n"
		"assert(not warm())\n"
		"detach() assert(warm()) attach() assert(not warm())\n"
		"detach() assert(warm()) attach() assert(not warm())\n"
		"off() assert(warm()) on() protected(function()\n"
		"  assert(not warm()) end)\n"
		"off() assert(warm())\n"
		"local blocked = 0\n"
		"jit.attach(function(what) if what == 'abort' then\n"
		"  blocked = blocked + 1 end end, 'trace')\n"
		"jit.flush() assert(warm() and blocked == 0)\n"
		"assert(jit.status()) on()");
	drain();
	lua_close(L);
}
#endif
