/* test_lua_jump.c - a signal handler jumps out of Lua at any instruction of a
 * hook: what was recorded before is good, and so is what comes after. One on a
 * stack of its own. Compiled for every version of Lua. links: host lua
 * SPDX-License-Identifier: MIT */
#include "tests/unit/lua_any.h"
#include "tests/test.h"
#include "tests/unit/lua_pool.h"
#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua_vm/vm.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

void __cyg_profile_func_enter(void *fn, void *site);
void __cyg_profile_func_exit(void *fn, void *site);

static unsigned stay_open; /* after so many jumps, calls that they ended did */

static unsigned open_calls(void)
{
	return (unsigned)(thread_self->top - thread_self->frames) - 1 +
	       thread_self->segments - 1;
}

#ifdef __x86_64__
#include "tests/unit/step.h"

#include <dlfcn.h>
#include <limits.h>

/* What is jumped out of is left as it is: Lua allows nothing else. */
enum { STATES = 8192 };
static lua_State *left_alone[STATES];
static unsigned states;

/* Our hook, and one in front of it, which runs it step by step at one event. */
static lua_Hook ours;
static int event, chosen; /* since the script said so */
static unsigned long wanted;

static void in_steps(lua_State *L, lua_Debug *ar)
{
	if (event++ == chosen)
		step_begin(wanted);
	ours(L, ar);
	step_end();
}

static int l_begin(lua_State *L)
{
	(void)L;
	event = 0;
	return 0;
}

static int l_count(lua_State *L)
{
	(void)L;
	return 0;
}

/* All functions have run before, so that their calls are the usual case. */
static const char script[] =
	"local function f() count() end f() f() begin() f() f()";

/* begin's return, where that is told, and f(): how many calls had begun before
 * each of these events; is it one itself? */
enum { EVENTS = 5, WHOLE = 10 };
static const unsigned before[EVENTS] = {
	6, 6 + ANY_IS_JIT, 7 + ANY_IS_JIT, 8, 8 + ANY_IS_JIT,
};
static const unsigned is_call[EVENTS] = {
	ANY_IS_JIT, 1, !ANY_IS_JIT, ANY_IS_JIT, ANY_IS_JIT,
};

static lua_State *new_state(void)
{
	lua_State *const L = luaL_newstate();
	lua_Hook (*const get)(lua_State *) =
		(lua_Hook (*)(lua_State *))dlsym(RTLD_NEXT, "lua_gethook");
	__typeof__(&lua_sethook) set =
		(__typeof__(&lua_sethook))dlsym(RTLD_NEXT, "lua_sethook");

	left_alone[states++] = L;
	lua_register(L, "begin", l_begin);
	lua_register(L, "count", l_count);
	CHECK_EQ(luaL_loadstring(L, script), LUA_OK);
	ours = get(L);
	set(L, in_steps, LUA_MASKCALL | LUA_MASKRET, 0);
	return L;
}

/* Returns whether it was left by a jump. */
static int jumps_after(unsigned long instructions)
{
	lua_State *const L = new_state();

	wanted = instructions;
	event = EVENTS;
	if (sigsetjmp(step_back, 1) != 0) {
		stay_open += open_calls() != 0;
		return 1;
	}
	CHECK_EQ(lua_pcall(L, 0, 0, 0), LUA_OK);
	return 0;
}

/* Under a sanitizer a hook has many more instructions, and each is slow. */
static unsigned long stride(void)
{
#ifdef __SANITIZE_ADDRESS__
	return getenv("DEEP") ? 1 : 7;
#else
	return 1;
#endif
}

void test_lua_a_handler_jumps_out_of_a_hook_at_any_instruction(void)
{
	const unsigned long by = stride();
	unsigned long n, jumps = 0, least = 0, most = 0;

	chosen = -1;
	CHECK_EQ(jumps_after(1), 0);
	drain();
	memset(&tally, 0, sizeof(tally));
	for (chosen = 0; chosen < EVENTS; chosen++) {
		for (n = 0; states < STATES && jumps_after(n * by + 1);
		     n++)
			host_pool_drain(shared_pool, &tally, 0);
		jumps += n;
		least += n * before[chosen] + WHOLE;
		most += n * is_call[chosen];
	}
	drain();
	most += least;
	printf("%lu jumps, %lu to %lu calls, %lu recorded\n", jumps, least,
	       most, (unsigned long)tally.calls);
	CHECK(jumps > 10 * EVENTS && states < STATES);
	CHECK_EQ(stay_open, 0);
	CHECK(tally.calls >= least && tally.calls <= most);
	CHECK_EQ(tally.bad, 0);
	CHECK_EQ(tally.ahead, 0);
}

static unsigned moments, half_done;

/* Called wherever a handler could come. */
static void look_at_states(void)
{
	moments++;
	for (int i = 0; i < POOL_VMS; i++)
		half_done += atomic_load(&shared_pool->vm[i].state) ==
			     SLOT_BUSY;
}

void test_lua_a_state_has_its_place_in_the_pool_or_not(void)
{
	lua_close(luaL_newstate());
	/* Those of other tests. */
	for (int i = 0; i < POOL_VMS; i++)
		atomic_store(&shared_pool->vm[i].state, SLOT_FREE);
	step_each = look_at_states;
	step_begin(ULONG_MAX);
	lua_State *const L = luaL_newstate();

	step_end();
	step_each = NULL;
	lua_close(L);
	printf("%u moments\n", moments);
	CHECK(moments > 100);
	CHECK_EQ(half_done, 0);
}

static weft_lua_function real_close;

static void jump_back(int number)
{
	siglongjmp(step_back, number);
}

/* As the trial's last step. */
static void raise_and_close(lua_State *L)
{
	raise(SIGUSR2);
	((void (*)(lua_State *))real_close)(L);
}

/* A handler that jumps comes when the trial is over. */
void test_lua_a_handler_jumps_out_of_the_trial_of_the_layout(void)
{
	lua_State *const L = luaL_newstate();
	struct lua_lib *const lib =
		lua_lib_numbered(lua_co_find(L)->vm->lib->number);

	real_close = lib->api.lua_close;
	lib->api.lua_close = (weft_lua_function)raise_and_close;
	signal(SIGUSR2, jump_back);
	atomic_store(&lib->layout, LAYOUT_UNTRIED);
	if (sigsetjmp(step_back, 1) == 0) {
		lua_vm_try_layout(lib, L);
		CHECK(false); /* it is left by a jump */
	}
	lib->api.lua_close = real_close;
	CHECK_EQ(atomic_load(&thread_native_watched), 0);
	CHECK_EQ(atomic_load(&lib->layout), LAYOUT_RIGHT);
	lua_close(L);
}
#endif

/* ------------------------------------------------- a jump over Lua's calls */

static jmp_buf back;
static unsigned at_catch, jumps;

static int l_jump(lua_State *L)
{
	(void)L;
	longjmp(back, 1);
}

/* Calls its argument, which never returns, in one way and in the other. */
static int l_catch(lua_State *L)
{
	at_catch = open_calls();
	if (setjmp(back) != 0)
		;
	else if (jumps % 2 == 0)
		lua_pcall(L, 0, 0, 0);
	else
		lua_call(L, 0, 0);
	jumps++;
	stay_open += open_calls() != at_catch;
	return 0;
}

static int l_other(lua_State *L)
{
	lua_State *const M = lua_touserdata(L, lua_upvalueindex(1));

	lua_getglobal(M, "nested");
	lua_pcall(M, 0, 0, 0);
	return 0;
}

static const char jumping[] =
	"local function f() jump() end\n"
	"function plain() f() end\n"
	"function nested() pcall(pcall, f) end\n"
	"function resumed() coroutine.resume(coroutine.create(f)) end\n"
	"function wrapped() coroutine.wrap(function() pcall(f) end)() end\n"
	"function through() if other then other() else f() end end\n"
	"function between(f) catch(f) return catch(f) end\n";

static lua_State *jumping_state(void)
{
	lua_State *const L = luaL_newstate();

	luaL_openlibs(L);
	lua_register(L, "jump", l_jump);
	lua_register(L, "catch", l_catch);
	CHECK_EQ(luaL_dostring(L, jumping), LUA_OK);
	return L;
}

/* Out of the host's call, and within one. */
static void jump_out(const char *name)
{
	lua_State *const L = jumping_state(), *const other = jumping_state();

	lua_pushlightuserdata(L, other);
	lua_pushcclosure(L, l_other, 1);
	lua_setglobal(L, "other");
	lua_getglobal(L, name);
	l_catch(L);
	if (LUA_VERSION_NUM >= 503) { /* others do not find back to l_catch */
		lua_getglobal(L, "between");
		lua_getglobal(L, name);
		CHECK_EQ(lua_pcall(L, 1, 0, 0), LUA_OK);
	}
	lua_close(L);
	lua_close(other);
}

void test_lua_a_jump_ends_the_calls_that_it_leaves(void)
{
	static const char *const ways[] = {
		"plain", "nested", "resumed", "wrapped", "through",
	};

	stay_open = 0;
	for (int i = 0; i < 50; i++)
		jump_out(ways[i % 5]);
	printf("%u jumps, %u left calls open\n", jumps, stay_open);
	CHECK_EQ(jumps, LUA_VERSION_NUM < 503 ? 50 : 150);
	CHECK_EQ(stay_open, 0);
	CHECK_EQ(open_calls(), 0);
	drain();
	CHECK_EQ(tally.bad, 0);
}

/* ------------------------------------------ a handler on a stack of its own */

enum { STACK = 1 << 20, SIGNAL_STACK = 1 << 16 };

static char stacks[STACK + SIGNAL_STACK] __attribute__((aligned(4096)));

static void on_signal(int signal)
{
	(void)signal;
	__cyg_profile_func_enter((void *)on_signal, NULL);
	__cyg_profile_func_exit((void *)on_signal, NULL);
}

static int l_raise(lua_State *L)
{
	(void)L;
	raise(SIGUSR1);
	return 0;
}

/* The signal stack lies above the thread's. */
static void *interrupt_one(void *L)
{
	const stack_t above = { .ss_sp = stacks + STACK,
				.ss_size = SIGNAL_STACK };
	const struct sigaction action = { .sa_handler = on_signal,
					  .sa_flags = SA_ONSTACK };
	uint64_t resumes, suspends;
	stack_t old;

	CHECK_EQ(luaL_dostring(L, "local function f() end f()"), 0);
	drain();
	resumes = tally.kind[REC_RESUME];
	suspends = tally.kind[REC_SUSPEND];
	/* A sanitizer unmaps the one that the thread ends with. */
	CHECK_EQ(sigaltstack(&above, &old), 0);
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_EQ(luaL_dostring(L, "local function g() end\n"
			       "local co = coroutine.create(function()\n"
			       "  g() raise() g() end)\n"
			       "coroutine.resume(co) g()"), 0);
	drain();
	CHECK_EQ(tally.kind[REC_RESUME] - resumes, 1);
	CHECK_EQ(tally.kind[REC_SUSPEND] - suspends, 1);
	CHECK_EQ(sigaltstack(&old, NULL), 0);
	return NULL;
}

void test_lua_a_handler_on_its_own_stack_takes_no_coroutine_off(void)
{
	lua_State *const L = luaL_newstate();
	pthread_attr_t attributes;
	pthread_t thread;

	luaL_openlibs(L);
	lua_register(L, "raise", l_raise);
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stacks, STACK);
	if (CHECK_EQ(pthread_create(&thread, &attributes, interrupt_one, L),
		     0))
		pthread_join(thread, NULL);
	lua_close(L);
}
