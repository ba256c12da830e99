/* test_lua_asked.c - Lua by its public API alone, as where the layout check
 * fails: no memory to be had, a VM where another lay, attached and detached.
 * Compiled for every version of Lua. links: host lua
 * SPDX-License-Identifier: MIT */
#include "tests/unit/lua_any.h"
#include "tests/test.h"
#include "tests/unit/lua_pool.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/weft.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void run_text(lua_State *L, const char *text)
{
	if (!CHECK_EQ(luaL_dostring(L, text), LUA_OK))
		printf("%s\n", lua_tostring(L, -1));
	lua_settop(L, 0);
}

/* ---------------------------------------- a table of the program's own */

/* On which the layout is tried: so it is not trusted. */
static lua_State *no_state(lua_Alloc f, void *ud)
{
	(void)f;
	(void)ud;
	return NULL;
}

static weft_lua_function real(const char *name)
{
	return (weft_lua_function)dlsym(RTLD_NEXT, name);
}

static int attach_as(lua_State *L)
{
	static struct weft_lua_api api;

	if (api.size == 0) {
		api.version = LUA_VERSION_NUM;
#define X(name) api.name = real(#name);
		WEFT_LUA_FUNCTIONS(X, X, X, X, X)
#undef X
		api.lua_newstate = (weft_lua_function)no_state;
		api.size = sizeof(api);
	}
	return weft_lua_attach_with(L, &api);
}

static void attach(lua_State *L)
{
	const struct coroutine *co;

	CHECK_EQ(attach_as(L), WEFT_LUA_OK);
	co = lua_co_find(L);
	CHECK(co && !co->vm->by_layout);
}

/* Whose making is not seen; nor is its end. */
static lua_State *new_state(lua_Alloc f)
{
	lua_State *const L = ((lua_State *(*)(lua_Alloc, void *))
			      real("lua_newstate"))(f, NULL);

	luaL_openlibs(L);
	return L;
}

static void close_state(lua_State *L)
{
	((void (*)(lua_State *))real("lua_close"))(L);
}

/* Of a program that knows but a few functions: behind its table, nothing. */
void test_lua_a_short_table_is_not_read_beyond_its_end(void)
{
	const size_t size = offsetof(struct weft_lua_api, lua_sethook);
	char *const pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const struct weft_lua_api head = {
		.size = size, .version = LUA_VERSION_NUM,
		.lua_newstate = real("lua_newstate"),
		.lua_close = real("lua_close"),
		.lua_newthread = real("lua_newthread"),
		.lua_status = real("lua_status"),
		.lua_resume = real("lua_resume"),
	};

	CHECK(pages != MAP_FAILED && munmap(pages + 4096, 4096) == 0);
	memcpy(pages + 4096 - size, &head, size);
	CHECK_EQ(weft_lua_attach_with((lua_State *)pages,
				      (void *)(pages + 4096 - size)),
		 WEFT_LUA_INVALID);
	munmap(pages, 4096);
}

/* --------------------------------------------------------- out of memory */

static int fails;
static unsigned failed;

/* Stacks may grow, which hooks need. */
static void *scarce(void *ud, void *p, size_t old, size_t size)
{
	(void)ud;
	(void)old;
	if (size == 0) {
		free(p);
		return NULL;
	}
	if (fails && !p && size < 200) {
		failed++;
		return NULL;
	}
	return realloc(p, size);
}

/* From 5.2 on, calls need memory themselves after a collection; LuaJIT's
 * compiler cannot do without, so it must be off when the program says so. */
#if LUA_VERSION_NUM < 502
static int l_fails(lua_State *L)
{
	fails = lua_toboolean(L, 1);
	return 0;
}

void test_lua_asked_no_memory_for_us_is_no_error_of_the_programs(void)
{
	lua_State *const L = new_state(scarce);

	lua_register(L, "fails", l_fails);
	attach(L);
	run_text(L, "if jit then jit.off() end");
	run_text(L, "local function g(a) return a end\n"
		 "local function f(a) local b = g(a) return b + 1 end\n"
		 "local function calls() fails(true) collectgarbage()\n"
		 "  local r = 0 for i = 1, 20 do r = r + f(i) end\n"
		 "  fails(false) return r end\n"
		 "for i = 1, 100 do assert(calls() == 230) end");
	CHECK(failed > 0);
	drain();
	CHECK_EQ(tally.bad, 0);
	lua_close(L);
}
#endif

/* Nothing may be written beyond a block. */
enum { BEYOND = 256 };
static int spoilt;

static bool is_spoilt(const char *end)
{
	int i = 0;

	while (i < BEYOND && end[i] == 'x')
		i++;
	return i < BEYOND;
}

static void *fenced(void *ud, void *p, size_t old, size_t size)
{
	char *to = size == 0 ? NULL : malloc(size + BEYOND);

	(void)ud;
	if (p) {
		spoilt += is_spoilt((char *)p + old);
		if (to)
			memcpy(to, p, old < size ? old : size);
		free(p);
	}
	return !to ? NULL : (char *)memset(to + size, 'x', BEYOND) - size;
}

static int l_nothing(lua_State *L)
{
	(void)L;
	return 0;
}

static void fill(lua_State *L, int count)
{
	luaL_checkstack(L, count, NULL);
	for (int i = 0; i < count; i++)
		lua_pushnil(L);
}

/* Recording goes on while the stack is as full as may be, for some numbers. */
static int l_fill(lua_State *L)
{
	const int more = (int)lua_tointeger(L, 1);

	fill(L, 500);
	if (more > 0)
		fill(L, more);
	lua_settop(L, -2);
	lua_pushcfunction(L, l_nothing);
	CHECK_EQ(weft_resume(), 0);
	CHECK_EQ(lua_pcall(L, 0, 0, 0), 0);
	return 0;
}

void test_lua_asked_for_names_nothing_where_the_stack_is_full(void)
{
	for (int more = 0; more < 60; more++) {
		lua_State *const L = any_newstate(fenced);

		if (!CHECK(L))
			return;
		luaL_openlibs(L);
		CHECK_EQ(weft_pause(), 1);
		lua_pushcfunction(L, l_fill);
		lua_pushinteger(L, more);
		CHECK_EQ(lua_pcall(L, 1, 0, 0), 0);
		drain();
		lua_close(L);
	}
	CHECK_EQ(spoilt, 0);
	CHECK_EQ(tally.bad, 0);
}

/* The thread sanitizer has an mmap of its own. */
#ifndef __SANITIZE_THREAD__
static bool no_blocks;

/* In place of libc's. What threads begin with is of other sizes. */
void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t offset)
{
	if (no_blocks && size == 1 << 20) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, at, size, rights, flags, fd, offset);
}

static void *call_ten(void *L)
{
	run_text(L, "local function f() end for i = 1, 10 do f() end");
	return NULL;
}

void test_lua_asked_calls_for_which_there_is_no_memory_are_counted(void)
{
	const uint64_t before = atomic_load(&shared_pool->unrecorded);
	lua_State *const L = luaL_newstate();
	pthread_t thread;

	no_blocks = true;
	while (memory_get(4096) || memory_get(16))
		;
	if (CHECK_EQ(pthread_create(&thread, NULL, call_ten, L), 0))
		pthread_join(thread, NULL);
	no_blocks = false;
	CHECK_EQ(atomic_load(&shared_pool->unrecorded) - before, 11);
	lua_close(L);
}
#endif

/* ---------------------------------------------- a VM where another lay */

/* Memory is never used twice but for the main state's, which the VM asks for
 * first; what is given back is spoilt. */
static char arena[8 << 20] __attribute__((aligned(16)));
static size_t used;
static char main_state[8 << 10] __attribute__((aligned(16)));
static int first;

static void *spoiling(void *ud, void *p, size_t old, size_t size)
{
	char *to = NULL;

	(void)ud;
	if (size > 0 && !p && first) {
		first = 0;
		return main_state;
	}
	if (size > 0 && (used += (size + 15) & ~(size_t)15) <= sizeof(arena))
		to = arena + used - ((size + 15) & ~(size_t)15);
	if (p && to)
		memcpy(to, p, old < size ? old : size);
	if (p && (size == 0 || to))
		memset(p, 0xdd, old);
	return to;
}

void test_lua_asked_a_vm_lies_where_one_lay_that_was_closed_unseen(void)
{
	for (int i = 0; i < 3; i++) {
		lua_State *L;

		first = 1;
		used = 0;
		L = new_state(spoiling);
		attach(L);
		run_text(L, "local function f(n) return n + 1 end\n"
			 "for i = 1, 10 do f(i) collectgarbage() f(i) end\n"
			 "coroutine.wrap(f)(1)");
		close_state(L);
		memset(arena, 0xdd, sizeof(arena));
	}
	drain();
	CHECK_EQ(tally.bad, 0);
}

/* 5.1 and LuaJIT cannot be asked which VM a lua_State is of. */
void test_lua_asked_two_vms_on_one_thread_are_two(void)
{
	lua_State *const one = new_state(scarce);
	lua_State *const two = new_state(scarce);
	const char *const text = "local function f(n) return n + 1 end\n"
		"for i = 1, 10 do f(i) collectgarbage() f(i) end\n"
		"coroutine.wrap(f)(1)";

	attach(one);
	run_text(one, text);
	attach(two);
	for (int i = 0; i < 5; i++) {
		run_text(two, text);
		run_text(one, text);
	}
	CHECK(lua_co_find(one)->vm->main == one);
	CHECK(lua_co_find(two)->vm->main == two);
	close_state(one);
	run_text(two, text);
	close_state(two);
	drain();
	CHECK_EQ(tally.bad, 0);
}

/* It would be collected, and its VM goes on. */
void test_lua_asked_a_coroutine_is_not_taken_for_its_main_state(void)
{
	lua_State *const L = new_state(scarce);
	lua_State *const co = ((lua_State *(*)(lua_State *))
			       real("lua_newthread"))(L);

	CHECK_EQ(attach_as(co), LUA_VERSION_NUM >= 502 ? WEFT_LUA_OK :
		 WEFT_LUA_UNSUPPORTED);
	attach(L);
	CHECK_EQ(attach_as(co), WEFT_LUA_OK);
	CHECK(lua_co_find(L)->serial == 0);
	CHECK(lua_co_find(co)->vm == lua_co_find(L)->vm);
	CHECK(lua_co_find(co)->serial != 0);
	lua_settop(L, 0);
	close_state(L);
}

/* ------------------------------------------------------------------ names */

/* Is the function on this line of the source still to be named? */
static bool is_nameless(const char *source, int line)
{
	return lua_func_called(lua_func_key(source, strlen(source), line, line,
					    0, 0), NULL);
}

void test_lua_asked_what_no_caller_names_is_called_after_its_place(void)
{
	static const char text[] = "function placed() end\n"
		"local function hidden() end\n"
		"for i = 1, 20 do pcall(placed) pcall(hidden) end";
	lua_State *const L = new_state(scarce);

	attach(L);
	CHECK_EQ(luaL_loadbuffer(L, text, strlen(text), "=placed"), LUA_OK);
	CHECK_EQ(lua_pcall(L, 0, 0, 0), LUA_OK);
	CHECK(!is_nameless("=placed", 1));
	CHECK(is_nameless("=placed", 2));
	close_state(L);
	drain();
	CHECK_EQ(tally.bad, 0);
}

/* -------------------------------------------------- a state, and no room */

static void change_buffers(enum buffer_state from, enum buffer_state to)
{
	const uint32_t all = shared_pool->small_buffers +
			     shared_pool->big_buffers;

	for (uint32_t b = 0; b < all; b++) {
		_Atomic uint64_t *const at = pool_state(shared_pool, b);

		if (buffer_state(atomic_load(at)) == from)
			atomic_store(at, buffer_word(to, 0, 0));
	}
}

void test_lua_asked_a_state_that_the_trace_has_no_room_for_is_lost(void)
{
	lua_State *const one = new_state(scarce);
	lua_State *const two = new_state(scarce);
	uint64_t before;

	attach(one);
	drain();
	change_buffers(BUFFER_FREE, BUFFER_TAKEN);
	chunk_switch(thread_self, 0);
	CHECK(chunk_is_scrap(thread_self));
	before = atomic_load(&thread_self->slot->lost[LOST_FULL]);
	attach(two);
	CHECK_EQ(thread_self->slot->lost[LOST_FULL] - before, 1);
	change_buffers(BUFFER_TAKEN, BUFFER_FREE);
	close_state(two);
	close_state(one);
	drain();
	CHECK_EQ(tally.bad, 0);
}

/* ----------------------------------------- calls on suspended coroutines */

enum { NAPS = 300 };

static int l_nap(lua_State *L)
{
	return lua_yield(L, 0);
}

/* None of ours in between, as where Lua is linked statically. */
static int resume(lua_State *co)
{
	int results = 0;

#if LUA_VERSION_NUM >= 504
	return ((__typeof__(&lua_resume))real("lua_resume"))(co, NULL, 0,
							     &results);
#elif LUA_VERSION_NUM >= 502
	(void)results;
	return ((__typeof__(&lua_resume))real("lua_resume"))(co, NULL, 0);
#else
	(void)results;
	return ((__typeof__(&lua_resume))real("lua_resume"))(co, 0);
#endif
}

static void wake(lua_State *co)
{
	lua_settop(co, 0);
	lua_getglobal(co, "wake");
#if LUA_VERSION_NUM >= 502
	CHECK_EQ(((__typeof__(&lua_pcallk))real("lua_pcallk"))(
			 co, 0, 0, 0, 0, NULL), LUA_OK);
#else
	CHECK_EQ(((__typeof__(&lua_pcall))real("lua_pcall"))(co, 0, 0, 0),
		 LUA_OK);
#endif
}

/* What is called meanwhile has no name in 5.2 and 5.3, but is counted. */
void test_lua_asked_a_suspended_coroutine_is_called(void)
{
	lua_State *const L = new_state(scarce);
	unsigned long before;
	lua_State *co;

	lua_register(L, "nap", l_nap);
	run_text(L, "n = 0 local function leaf() n = n + 1 return 1 end\n"
		 "function wake() n = n + 1 local r = leaf() leaf() return r\n"
		 "end\n"
		 "local function deep(k, ...) n = n + 1\n"
		 "  if k > 0 then local a, b = {}, k + .5\n"
		 "    local r = deep(k - 1, a, b, ...) return r end\n"
		 "  nap({}, 1.5, 'q' .. k) nap(leaf) nap(1.5) leaf()\n"
		 "  return 1 end\n"
		 "function body() for i = 1, 100 do deep(i % 7) end end");
	attach(L);
	drain();
	before = tally.calls;
	co = lua_newthread(L);
	lua_getglobal(co, "body");
	for (int i = 0; i < NAPS; i++) {
		CHECK_EQ(resume(co), LUA_YIELD);
		wake(co);
	}
	CHECK_EQ(resume(co), LUA_OK);
	drain();
	lua_getglobal(L, "n");
	CHECK_EQ(tally.calls - before, 1 + lua_tointeger(L, -1) + NAPS);
	CHECK_EQ(tally.bad, 0);
	CHECK_EQ(weft_lua_detach(L), WEFT_LUA_OK);
	close_state(L);
}

/* ------------------------------------------------------- attach and detach */

static int l_detach(lua_State *L)
{
	CHECK_EQ(weft_lua_detach(L), WEFT_LUA_OK);
	return 0;
}

static int l_attach(lua_State *L)
{
	attach(L);
	return 0;
}

static unsigned counted;

static void count(lua_State *L, lua_Debug *ar)
{
	(void)L;
	(void)ar;
	counted++;
}

void test_lua_asked_attached_and_detached_under_load(void)
{
	lua_State *const L = new_state(scarce);

	lua_register(L, "detach", l_detach);
	lua_register(L, "attach", l_attach);
	lua_sethook(L, count, LUA_MASKCOUNT, 10);
	attach(L);
	run_text(L, "local function f(n)\n"
		 "  if n > 0 then return f(n - 1) end end\n"
		 "local co = coroutine.wrap(function() while true do f(3)\n"
		 "  coroutine.yield() end end)\n"
		 "local function g(i) f(2) if i % 2 == 0 then detach() end\n"
		 "  co() pcall(f, 2) attach() f(1) pcall(error) end\n"
		 "for i = 1, 10000 do detach() g(i) attach()\n"
		 "  if i % 100 == 0 then collectgarbage() end end");
	CHECK(counted > 1000);
	CHECK_EQ(weft_lua_detach(L), WEFT_LUA_OK);
	CHECK(lua_gethook(L) == count);
	CHECK_EQ(lua_gethookcount(L), 10);
	drain();
	CHECK_EQ(tally.bad, 0);
	lua_close(L);
}
