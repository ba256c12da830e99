/* attach.c - VMs that are recorded from now on, our hook, LuaJIT's compiler,
 * and what weft.h offers for Lua states. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua/alloc.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/thread/thread.h"

#include <errno.h>
#include <string.h>

/* ---------------------------------------------------------- LuaJIT's compiler
 * With the compiler on, hooks would see everything, too, but would leave the
 * program's loops marked as not worth compiling for good. */

/* Does nothing where the program gave no luaJIT_setmode. */
static void set_engine(const struct lua_vm *vm, int mode)
{
	int (*const setmode)(lua_State *, int, int) =
		(int (*)(lua_State *, int, int))vm->lib->api.luaJIT_setmode;

	if (setmode)
		setmode(vm->main, 0, JIT_ENGINE | mode);
}

/* The trace says whether the compiler was on. */
static void tell_trace(const struct lua_vm *vm)
{
	struct thread_state *const s = thread_acquire(
		(uint64_t)__builtin_frame_address(0));

	if (!s)
		return;
	lua_vm_name_again(s, vm);
	thread_release(s);
}

/* The VM is hooked: compile no more, forget what was compiled. */
static void stop_compiler(struct lua_vm *vm)
{
	if (vm->sampled)
		return;
	if (vm->lib->abi->wrap && !vm->own_wrapper)
		vm->lib->abi->wrap(vm, true);
	if (!vm->jit_on || vm->jit_stopped)
		return;
	vm->jit_stopped = true;
	atomic_fetch_or(&process_slot->dropped, TROUBLE_JIT_OFF);
	set_engine(vm, JIT_OFF);
	set_engine(vm, JIT_FLUSH);
	tell_trace(vm);
}

/* The hook is off: as the program wants it. */
static void restore_compiler(struct lua_vm *vm)
{
	if (vm->sampled)
		return;
	if (vm->lib->abi->wrap && !vm->own_wrapper)
		vm->lib->abi->wrap(vm, false);
	if (!vm->jit_stopped)
		return;
	vm->jit_stopped = false;
	if (vm->jit_on)
		set_engine(vm, JIT_ON);
}

void lua_jit_opened(struct lua_vm *vm)
{
	vm->jit_on = true;
	if (vm->holder->hooked)
		stop_compiler(vm);
}

void lua_jit_hold(const struct lua_vm *vm)
{
	if (vm->jit_stopped && (!vm->lib->map || vm->lib->linked))
		set_engine(vm, JIT_OFF);
}

bool lua_jit_wants(struct lua_vm *vm, int mode)
{
	if ((mode & JIT_MODE_MASK) == JIT_WRAPCFUNC)
		vm->own_wrapper = (mode & JIT_ON) != 0;
	if ((mode & JIT_MODE_MASK) != JIT_ENGINE || (mode & JIT_FLUSH) != 0)
		return false;
	vm->jit_on = (mode & JIT_ON) != 0;
	if (!vm->holder->hooked)
		return false;
	if (vm->jit_on)
		stop_compiler(vm);
	return vm->jit_stopped;
}

/* ---------------------------------------------------------------- our hook */

/* The same in every Lua. */
enum { LUA_TYPE_TABLE = 5 };
enum { MASK_CALL = 1, MASK_RET = 2, MASK_LINE = 4, MASK_COUNT = 8 };

typedef void sethook_fn(lua_State *, weft_lua_function, int, int);
typedef weft_lua_function gethook_fn(lua_State *);
typedef int number_fn(lua_State *);

/* While LuaJIT counts instructions it tells of returns only if it tells of
 * lines, too. */
static int mask_for(const struct coroutine *co)
{
	const int mask = MASK_CALL | MASK_RET | co->app_mask;

	return co->vm->lib->abi->is_jit && (mask & MASK_COUNT) != 0 ?
	       mask | MASK_LINE : mask;
}

void lua_hook_update(struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;

	if (co->vm->sampled) {
		lua_ask_set_hook(co);
		return;
	}
	lua_ask_hold(true);
	((sethook_fn *)lib->api.lua_sethook)(
		co->L, (co->app_mask & (MASK_CALL | MASK_RET)) != 0 ?
		lib->abi->shared_hook : co->vm->by_layout ? lib->abi->hook :
		lib->abi->asking_hook, mask_for(co), co->app_count);
	lua_ask_noted();
}

static bool is_ours(const struct lua_abi *abi, weft_lua_function hook)
{
	return hook == abi->hook || hook == abi->shared_hook ||
	       hook == abi->asking_hook;
}

static const char *give_text(lua_State *L, void *data, size_t *size)
{
	const char **const text = data, *const piece = *text;

	(void)L;
	*size = !piece ? 0 : strlen(piece);
	*text = NULL;
	return piece;
}

/* Is LuaJIT's compiler on? A program that has hidden it from its own scripts
 * keeps it as it is. */
static bool is_compiling(lua_State *L, const struct weft_lua_api *api)
{
	typedef int load_fn(lua_State *, const char *(*)(lua_State *, void *,
							 size_t *),
			    void *, const char *);
	typedef int pcall_fn(lua_State *, int, int, int);
	const char *text = "return (jit.status()) and {} or nil";
	const int top = ((number_fn *)api->lua_gettop)(L);
	bool is = false;

	if (((load_fn *)api->lua_load)(L, give_text, &text, "=[weft]") == 0 &&
	    ((pcall_fn *)api->lua_pcall)(L, 0, 1, 0) == 0)
		is = ((int (*)(lua_State *, int))api->lua_type)(L, -1) ==
		     LUA_TYPE_TABLE;
	((void (*)(lua_State *, int))api->lua_settop)(L, top);
	return is;
}

/* Where LuaJIT is linked statically, its compiler came to life unseen if our
 * hook was off. */
static void ask_compiler(const struct coroutine *co)
{
	if (co->vm->lib->abi->is_jit && co->vm->lib->linked &&
	    !co->vm->holder->hooked && !co->vm->jit_on &&
	    lua_co_status(co) == LUA_STATUS_OK)
		co->vm->jit_on = is_compiling(co->L, &co->vm->lib->api);
}

/* The program's own hook alone is there, or none. */
static void take_off(struct coroutine *co)
{
	if (lua_has_lines())
		lua_sample_lines_end(co);
	((sethook_fn *)co->vm->lib->api.lua_sethook)(
		co->L, co->app_hook, co->app_mask, co->app_count);
	if (co->vm->lib->abi->is_jit)
		restore_compiler(co->vm);
}

/* old: what is there, the program's or that of a time in which Lua was
 * sampled. */
static void put_on(struct coroutine *co, weft_lua_function old)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;

	if (old != co->vm->lib->abi->sampled_hook) {
		co->app_hook = old;
		co->app_mask = !old ? 0 :
			((number_fn *)api->lua_gethookmask)(co->L);
		co->app_count = !old ? 0 :
			((number_fn *)api->lua_gethookcount)(co->L);
	}
	lua_hook_update(co);
}

void lua_hook_set(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const bool sampled = lua_vm_is_sampled(co->vm);
	weft_lua_function old;

	if (co->vm->sampled && !sampled) /* in a time before */
		lua_sample_end(co);
	old = ((gethook_fn *)api->lua_gethook)(co->L);
	if (sampled) {
		if (is_ours(co->vm->lib->abi, old)) /* for calls */
			take_off(lua_co_holder(co));
		lua_co_holder(co)->hooked = true;
		lua_sample_begin(co);
		return;
	}
	ask_compiler(co);
	co = lua_co_holder(co);
	if (!is_ours(co->vm->lib->abi, old))
		put_on(co, old);
	if (!co->hooked)
		lua_func_unseen();
	co->hooked = true;
	CHECKED(lua_co_valid(co));
	if (co->vm->lib->abi->is_jit)
		stop_compiler(co->vm);
}

void lua_hook_remove(struct coroutine *co)
{
	co = lua_co_holder(co);
	co->hooked = false;
	if (co->vm->sampled)
		lua_sample_end(co);
	else
		take_off(co);
}

/* --------------------------------------------------------------------- VMs */

static void jumped(struct thread_state *s, uint64_t target, uint64_t now)
{
	lua_switch_jumped(s, target, now);
	if (lua_may_be_sampled())
		lua_sample_jumped(s, target);
}

/* A program without Lua never comes here. */
static void serve_native_side(void)
{
	thread_upcalls.lua_item = lua_func_item;
	thread_upcalls.lua_verdict = lua_func_verdict;
	thread_upcalls.lua_hint = lua_c_hint;
	thread_upcalls.lua_chunk = lua_vm_name_all;
	thread_upcalls.lua_detach = lua_switch_detach_unseen;
	thread_upcalls.lua_yielding = lua_switch_is_yielding;
	thread_upcalls.lua_doubt = lua_switch_resolve_doubt;
	thread_upcalls.lua_jumped = jumped;
}

struct coroutine *lua_attach_vm(lua_State *L, struct lua_lib *lib)
{
	struct coroutine *const co = lua_co_main(L);
	struct thread_state *s;

	if (!co)
		return NULL;
	if (lib->abi)
		serve_native_side();
	co->vm = lua_vm_new(L, co, lib);
	if (!co->vm)
		return NULL;
	lua_alloc_lead(co->vm);
	s = !lib->abi ? NULL :
	    thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		lua_vm_name(s, co->vm);
		/* Perhaps nothing else will ever tell of it. */
		if (chunk_is_scrap(s))
			chunk_count_lost(s, LOST_FULL, 1);
		thread_release(s);
	}
	return co;
}

/* --------------------------------------- Lua states that the program names */

/* Has the table, which may be shorter than ours, all functions that every Lua
 * has? Those of some versions alone are looked at by struct lua_abi's
 * accepts. */
static bool is_complete(const struct weft_lua_api *api)
{
#define X(name)                                                                \
	if (offsetof(struct weft_lua_api, name) + sizeof(api->name) >          \
		    api->size || !api->name)                                   \
		return false;
#define NONE(name)
	WEFT_LUA_FUNCTIONS(X, NONE, NONE, NONE, NONE)
#undef X
#undef NONE
	return true;
}

/* Go on with the VM that we know, if it lives here still. Where no lua_close is
 * seen, another may lie where it lay. If that is the same to all appearance, it
 * may lack what the first had of ours: that is looked for again. */
static bool keep_known(const struct coroutine *co, const struct lua_lib *lib)
{
	struct lua_vm *const vm = co->vm;

	if (lib->interposed)
		return true;
	if (vm->lib != lib || vm->family != lib->abi->family(&lib->api, co->L))
		return false;
	vm->watch = NULL;
	vm->watched = 0;
	return true;
}

void lua_hook_restore(struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;

	if (co->vm->sampled ||
	    is_ours(lib->abi, ((gethook_fn *)lib->api.lua_gethook)(co->L)) ||
	    !keep_known(co, lib))
		return;
	atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_HOOK);
	lua_hook_set(co);
}

void lua_hook_put_back(struct coroutine *co)
{
	if (lua_co_holder(co)->hooked)
		lua_hook_restore(co);
	else
		lua_hook_set(co);
}

/* The object of a main state that was forgotten, if it has our hook still: then
 * it is the same one, and nothing has run in it since. NULL: it is not. */
static struct coroutine *recall(lua_State *main, const struct lua_lib *lib)
{
	struct coroutine *const co = lua_co_forgotten(main);

	if (!co || co->vm->lib != lib ||
	    !is_ours(lib->abi, ((gethook_fn *)lib->api.lua_gethook)(main)))
		return NULL;
	co->at = main;
	return co;
}

/* The main state of L's VM. NULL: not known. What is only a coroutine must not
 * be taken for it: it is collected, and its VM goes on. */
static lua_State *main_of(lua_State *L, struct lua_lib *lib)
{
	lua_State *main;

	lua_vm_try_layout(lib, L);
	main = lib->abi->main_of(lib, L);
	if (!main)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_UNKNOWN);
	return main;
}

/* The VM with this main state, whose making was not seen, is made known. L: one
 * of its lua_States. asks: does the compiler work? Then our hook is nowhere in
 * it yet: calls of ours would be recorded. */
static struct coroutine *attach_vm(lua_State *main, struct lua_lib *lib,
				   lua_State *L, bool asks)
{
	const bool compiles = asks && lib->abi->is_jit && !lua_is_sampled() &&
			      is_compiling(L, &lib->api);
	struct coroutine *const co = lua_attach_vm(main, lib);

	if (co)
		co->vm->jit_on = compiles;
	return co;
}

/* L's object; its VM is made known if it is not, and asked whether it compiles
 * if asks. NULL: no memory, or the VM is not to be told. */
static struct coroutine *meet_state(lua_State *L, struct lua_lib *lib,
				    bool asks)
{
	lua_State *const main = main_of(L, lib);
	struct coroutine *co = !main ? NULL : lua_co_find(main);

	if (!main)
		return NULL;
	if (!co)
		co = recall(main, lib);
	if (!co || co->vm->main != main || !keep_known(co, lib))
		co = attach_vm(main, lib, L, asks);
	if (!co)
		return NULL;
	co->vm->detached = false;
	if (!co->hooked || !lib->interposed)
		lua_hook_set(co);
	return L == main ? co : lua_co_met(L, co);
}

struct coroutine *lua_attach_met(lua_State *L, struct lua_lib *lib)
{
	struct coroutine *co;

	if (!lib || !lib->abi)
		return NULL;
	co = meet_state(L, lib, true);
	if (!co)
		return NULL;
	if (thread_self)
		thread_self->lua_plain = NULL;
	lua_hook_set(co);
	return co;
}

static int attach(lua_State *L, const struct weft_lua_api *api)
{
	struct lua_lib *lib;
	struct coroutine *co;

	if (!L || !api || !is_complete(api))
		return WEFT_LUA_INVALID;
	if (!lua_vm_wanted())
		return WEFT_LUA_NOT_RECORDED;
	co = lua_co_find(L);
	if (co && co->vm->lib->interposed && lua_co_holder(co)->hooked &&
	    !co->vm->detached)
		return WEFT_LUA_OK; /* its making was seen */
	lib = lua_lib_given(api);
	if (!lib)
		return WEFT_LUA_NO_MEMORY;
	if (!lib->abi)
		return WEFT_LUA_UNSUPPORTED;
	if (thread_self)
		thread_self->lua_plain = NULL;
	if (!co || !keep_known(co, lib)) {
		if (!main_of(L, lib))
			return WEFT_LUA_UNSUPPORTED;
		co = meet_state(L, lib, false);
	}
	if (!co)
		return WEFT_LUA_NO_MEMORY;
	co->vm->detached = false;
	lua_hook_set(co);
	return WEFT_LUA_OK;
}

EXPORT int weft_lua_attach_with(lua_State *L, const struct weft_lua_api *api)
{
	const int saved = errno;
	const int result = attach(L, api);

	errno = saved;
	return result;
}

/* What is known of L, of a version that is recorded, detached or not. */
static struct coroutine *find_recorded(lua_State *L)
{
	struct coroutine *const co = !mapped_pool || !L ? NULL :
				     lua_co_find(L);

	return co && co->vm->lib->abi ? co : NULL;
}

EXPORT void weft_lua_rest(lua_State *L)
{
	struct coroutine *const co = find_recorded(L);

	if (co && lua_co_holder(co)->hooked)
		lua_hook_remove(co);
}

EXPORT int weft_lua_detach(lua_State *L)
{
	struct coroutine *const co = find_recorded(L);

	if (!L)
		return WEFT_LUA_INVALID;
	if (!co)
		return WEFT_LUA_NOT_RECORDED;
	co->vm->detached = true;
	if (lua_co_holder(co)->hooked)
		lua_hook_remove(co);
	return WEFT_LUA_OK;
}

EXPORT int weft_lua_jit(lua_State *L, int on)
{
	struct coroutine *const co = find_recorded(L);

	return co && co->vm->lib->abi->is_jit &&
	       lua_jit_wants(co->vm, on ? JIT_ON : JIT_OFF);
}

EXPORT int weft_lua_is_interposed(lua_State *L)
{
	const struct coroutine *const co = !mapped_pool || !L ? NULL :
					   lua_co_find(L);

	return co && co->vm->lib->interposed;
}

EXPORT unsigned weft_lua_recording(void)
{
	const int saved = errno;
	const unsigned n = lua_vm_wanted() ? atomic_load(&process_joins) : 0;

	errno = saved;
	return n;
}

EXPORT void weft_lua_stands_for(lua_State *L, weft_lua_function ours,
				weft_lua_function original)
{
	const struct coroutine *const co = find_recorded(L);

	if (!co || !ours || !original ||
	    lua_func_original((uint64_t)ours) != (uint64_t)ours)
		return;
	co->vm->lib->abi->name_all(co->vm, L); /* by the originals' places */
	lua_func_stands_for((uint64_t)ours, (uint64_t)original);
}

EXPORT unsigned long long weft_lua_coroutine(lua_State *L)
{
	const struct coroutine *const co = !mapped_pool || !L ? NULL :
					   lua_co_find(L);

	return !co || co->serial == LUA_UNBORN ? 0 : co->serial;
}
