/* ask.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/lua/ask.h"
#include "tracer/host/pool/process.h"

THREAD_LOCAL struct lua_ticks lua_ticks;

void lua_ask_drop(void)
{
	lua_ticks.asked = NULL;
	lua_ticks.missed += lua_ticks.due;
	lua_ticks.due = 0;
}

void lua_ask_tell_unnoted(void)
{
	if (!(atomic_load(&process_slot->dropped) & TROUBLE_LUA_UNNOTED))
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_UNNOTED);
}

bool lua_ask_is_over(void)
{
	return (!lua_may_be_sampled() && !lua_has_lines()) || !mapped_pool ||
	       mapped_recorder_is_dead() || (!lua_vm_on() && !lua_ticks.home);
}

/* ---------------------------------------------------------------- PUC Lua */

typedef void sethook_fn(lua_State *, weft_lua_function, int, int);
typedef weft_lua_function gethook_fn(lua_State *);
typedef int number_fn(lua_State *);
/* Whoever sets a hook for these begins to count anew, or may make 5.2 and 5.3
 * tell of a line twice: ours then takes the place of the program's for good,
 * and passes its events on. */
enum { MASK_LINE = 4, MASK_COUNT = 8, MASK_STAYS = MASK_LINE | MASK_COUNT };

static void set_hook(const struct coroutine *co, weft_lua_function hook,
		     int mask, int count)
{
	((sethook_fn *)co->vm->lib->api.lua_sethook)(co->L, hook, mask, count);
}

/* Is it our hook for calls? */
static bool tells_calls(const struct lua_abi *abi, weft_lua_function hook)
{
	return hook == abi->hook || hook == abi->shared_hook ||
	       hook == abi->asking_hook;
}

bool lua_ask_is_in_place(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const weft_lua_function hook = ((gethook_fn *)api->lua_gethook)(co->L);

	if (hook == co->vm->lib->abi->sampled_hook)
		return true;
	if (tells_calls(co->vm->lib->abi, hook)) {
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
		return false;
	}
	co->app_hook = hook;
	co->app_mask = !hook ? 0 :
		       ((number_fn *)api->lua_gethookmask)(co->L);
	co->app_count = !hook ? 0 :
			((number_fn *)api->lua_gethookcount)(co->L);
	return false;
}

void lua_ask_hook_off(struct coroutine *co)
{
	lua_ask_hold(true);
	if (!co->vm->lib->abi->is_jit && lua_ask_is_in_place(co))
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
	lua_ask_hold(false);
}

void lua_ask_look(struct coroutine *co)
{
	lua_ask_hold(true);
	if (!co->vm->lib->abi->is_jit)
		lua_ask_is_in_place(co);
	lua_ask_hold(false);
}

void lua_ask_set_hook(struct coroutine *co)
{
	lua_ask_hold(true);
	if (lua_ticks.asked == co->L)
		lua_ask_drop();
	set_hook(co, (co->app_mask & MASK_STAYS) != 0 &&
		 !co->vm->lib->abi->is_jit ? co->vm->lib->abi->sampled_hook :
		 co->app_hook, co->app_mask, co->app_count);
	lua_ask_hold(false);
}

void lua_ask_hook_back(struct coroutine *co)
{
	if ((co->app_mask & MASK_STAYS) == 0 || lua_ask_is_over())
		set_hook(co, co->app_hook, co->app_mask, co->app_count);
}

/* In the handler. false: the program has set a hook, unseen, that stays. */
static bool ask_by_hook(struct coroutine *co)
{
	const bool is_ours = lua_ask_is_in_place(co);

	if ((co->app_mask & MASK_STAYS) != 0) {
		if (!is_ours)
			lua_ask_tell_unnoted();
		return is_ours;
	}
	set_hook(co, co->vm->lib->abi->sampled_hook,
		 co->app_mask | MASK_COUNT, 1);
	return true;
}

/* Where each call is recorded, our hook is there already, and may have to tell
 * of one more instruction. */
static bool ask_our_hook(const struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const weft_lua_function hook = ((gethook_fn *)api->lua_gethook)(co->L);
	const int mask = ((number_fn *)api->lua_gethookmask)(co->L);

	if (!tells_calls(co->vm->lib->abi, hook))
		return false;
	if ((mask & MASK_STAYS) == 0)
		set_hook(co, hook, mask | MASK_COUNT, 1);
	return true;
}

void lua_ask_line_over(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const int mask = ((number_fn *)api->lua_gethookmask)(co->L);

	if ((mask & MASK_COUNT) != 0 &&
	    (lua_co_holder(co)->app_mask & MASK_COUNT) == 0)
		set_hook(co, ((gethook_fn *)api->lua_gethook)(co->L),
			 mask & ~MASK_COUNT, 0);
}

/* ------------------------------------------------------------------ LuaJIT
 * Its profiler has one VM at a time and a timer of the whole process, whose
 * signal may come to any thread. That timer is stopped, and its handler called
 * at ticks of the thread that runs the VM. */

typedef void start_fn(lua_State *, const char *, weft_lua_function, void *);
typedef void stop_fn(lua_State *);
typedef void prof_fn(int);

struct lua_vm *_Atomic lua_ask_profiled;
/* Of the thread that ran it last. */
static struct lua_ticks *_Atomic profiled_on;
static prof_fn *_Atomic profiler; /* LuaJIT's handler */

static void start_profiler(struct lua_vm *vm)
{
	start_fn *const start = (start_fn *)vm->lib->profile_start;
	const struct kernel_prof before = kernel_prof();
	struct lua_vm *none = NULL;
	struct kernel_prof its;

	if (!start || !vm->lib->profile_stop || !before.is_known ||
	    before.action.sa_handler != SIG_DFL ||
	    !atomic_compare_exchange_strong(&lua_ask_profiled, &none, vm)) {
		lua_ask_tell_unnoted();
		return;
	}
	/* By lines: compiled code looks at each whether it is to be noted. */
	start(vm->main, "li1000000", vm->lib->abi->profiled, vm);
	its = kernel_prof();
	atomic_store(&profiler, its.is_known ? its.action.sa_handler : NULL);
	its.timer = before.timer;
	kernel_prof_restore(&its);
	atomic_store(&profiled_on, &lua_ticks);
}

/* Another VM may have it. */
void lua_ask_claim(struct lua_vm *vm)
{
	if (atomic_load(&lua_ask_profiled))
		lua_ask_tell_unnoted();
	else
		start_profiler(vm);
}

/* On its thread, where L may flush compiled code. LuaJIT puts back what was
 * done at SIGPROF before it; if the program does something else by now, that
 * stays. */
void lua_ask_stop(struct lua_vm *vm, lua_State *L)
{
	struct kernel_prof now;

	if (atomic_load(&lua_ask_profiled) != vm)
		return;
	now = kernel_prof();
	((stop_fn *)vm->lib->profile_stop)(L);
	if (now.is_known && now.action.sa_handler != atomic_load(&profiler))
		kernel_prof_restore(&now);
	atomic_store(&lua_ask_profiled, NULL);
}

/* Does the profiler serve us still? The program may have put another handler
 * there, or use the profiler itself: then its timer runs. */
bool lua_ask_is_ours(const struct lua_vm *vm)
{
	const struct kernel_prof now = kernel_prof();
	prof_fn *const its = atomic_load(&profiler);

	return vm && atomic_load(&lua_ask_profiled) == vm && its &&
	       now.is_known && now.action.sa_handler == its &&
	       now.timer.it_value.tv_sec == 0 &&
	       now.timer.it_value.tv_usec == 0;
}

/* In the handler. */
static bool ask_profiler(const struct lua_vm *vm)
{
	if (!lua_ask_is_ours(vm))
		return false;
	atomic_load(&profiler)(SIGPROF);
	return true;
}

bool lua_ask_to_stop(void)
{
	return atomic_load(&profiled_on) == &lua_ticks &&
	       ask_profiler(atomic_load(&lua_ask_profiled));
}

bool lua_ask_ends(struct lua_vm *vm, lua_State *L)
{
	const bool ends = lua_ask_is_over();

	atomic_store(&profiled_on, &lua_ticks);
	if (ends)
		lua_ask_stop(vm, L);
	return ends;
}

/* ------------------------------------------------------------------ asking */

static uint64_t collector_of(const struct coroutine *co)
{
	return co->vm->by_layout && co->vm->lib->collector ?
	       co->vm->lib->collector((uint64_t)co->L) : 0;
}

enum lua_answer lua_ask_state(struct coroutine *co)
{
	bool asked;

	if (lua_ticks.asked && lua_ticks.asked != co->L)
		lua_ask_drop();
	asked = co->vm->lib->abi->is_jit ? ask_profiler(co->vm) :
		co->vm->sampled ? ask_by_hook(co) : ask_our_hook(co);
	if (!asked)
		return MISSED;
	lua_ticks.asked = co->L;
	lua_ticks.collector = collector_of(co);
	return ASKED;
}

/* ------------------------------------------------------------------ noting */

uint64_t lua_ask_take(lua_State *L, bool any)
{
	struct lua_ticks *const t = &lua_ticks;
	uint64_t due;

	if (mapped_view.lua_budget && t->asked)
		lua_running_settle_it();
	lua_ask_hold(true);
	if (!t->asked || (!any && t->asked != L))
		return 0;
	due = lua_vm_on() ? t->due : 0;
	t->due = 0;
	t->asked = NULL;
	return due;
}

bool lua_ask_collected(const struct coroutine *co)
{
	return lua_ticks.collector != collector_of(co);
}

const struct lua_ticked *lua_ask_ticked(void)
{
	return &lua_ticks.in;
}

uint64_t lua_ask_take_missed(void)
{
	const uint64_t missed = lua_ticks.missed;

	lua_ticks.missed = 0;
	return missed;
}

void lua_ask_noted(void)
{
	lua_ask_hold(false);
}
