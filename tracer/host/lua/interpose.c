/* interpose.c - stands in for the lua_ functions that tell what no hook does:
 * states made and closed, resumes, protected calls, the program's own hooks.
 * There is one of each for all versions of Lua in the process, whose parameters
 * differ: all argument registers are passed on to the library. Links are led to
 * an entry for each library, which adds its number.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/alloc.h"
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua/call_scope.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua/turn.h"
#include "tracer/host/thread/thread.h"

#include <errno.h>

/* What the program gives, and the number of the library. */
#define OURS ARGS, long number

/* The frame address that ours would have without the entry between. */
#define ABOVE (HERE + ARCH_ENTRY_STACK)

/* Our function in place of Lua's of that name; called by its entries alone. */
#define OUR(name)                                                              \
	HIDDEN long interpose_##name(OURS);                                    \
	__attribute__((used)) long interpose_##name(OURS)

static struct coroutine *served(long L)
{
	return lua_co_served((lua_State *)L);
}

static struct coroutine *find_known(long L)
{
	return !mapped_pool ? NULL : lua_co_find((lua_State *)L);
}

#define LIB lua_lib_numbered(number)
#define REAL(name) ((any_fn *)LIB->api.name)

/* L, whose object is co, if it is known, runs in the call with this frame
 * address. Returns what runs on when that has returned, for has_run. */
INLINE struct lua_running runs(struct coroutine *co, long L, uint64_t sp,
			       bool is_resume)
{
	const struct lua_running was = lua_running;

	lua_running.L = L;
	lua_running.sp = sp;
	lua_running.site = ARCH_ENTRY_RETURN(sp);
	ARCH_SP(lua_running.own);
	if (lua_may_be_sampled())
		lua_sample_enter(co, &was, is_resume);
	return was;
}

/* co, NULL: not known, is about to be called or resumed. */
INLINE void turn_back(const struct coroutine *co)
{
	if (unlikely(mapped_view.lua_budget) && co && lua_running.L == 0)
		lua_turn_exact(co);
}

INLINE void has_run(struct lua_running *was)
{
	if (lua_may_be_sampled())
		lua_sample_leave(was);
	lua_running = *was;
}

/* The program was not recorded when L was made, and is now. */
static SLOW struct coroutine *meet_called(long L, long number)
{
	const int saved = errno;
	struct coroutine *co = NULL;

	if (L != 0 && !find_known(L) && lua_vm_wanted())
		co = lua_attach_met((lua_State *)L, LIB);
	errno = saved;
	return co;
}

/* The object of L, on which a function is called: a safe place to put our hook
 * onto it. */
static struct coroutine *served_or_met(long L, long number)
{
	struct coroutine *const co = served(L);

	return likely(co) || likely(!lua_hook_is_on()) ||
	       !mapped_view.attached ?
	       co : meet_called(L, number);
}

/* Who of the VM runs around the call with this frame address; NULL: not
 * known. */
static struct coroutine *around(struct lua_vm *vm, long number, uint64_t sp)
{
	const struct coroutine now = { .L = (lua_State *)lua_running.L,
				       .vm = vm };
	struct coroutine *const co = served(lua_running.L);

	if (lua_running.L == 0 || lua_running.sp <= sp)
		return NULL;
	if (co && co->vm == vm && vm->interposed && lua_co_holder(co)->hooked)
		return co;
	/* The program may have jumped out of it long ago. */
	return vm->by_layout && vm->lib->abi->lives(&now) ?
	       served_or_met(lua_running.L, number) : NULL;
}

/* A resume or call of co, with this frame address, is over, and who made it
 * goes on. by: 0, where its parameters do not tell. */
static NOINLINE void at_caller(const struct coroutine *co, long by, long number,
			       uint64_t sp)
{
	struct coroutine *to;

	if (!co->vm || !lua_hook_is_on() || BROKEN(back))
		return;
	to = by != 0 ? served_or_met(by, number) :
	     around(co->vm, number, sp);
	if (!to || to->vm != co->vm)
		to = lua_co_find(co->vm->main);
	if (to)
		lua_hook_back(to);
}

/* A call on L, whose object is co, has returned; its state may have been closed
 * in it. As a rule, it was made by what runs on L, or by the host. */
INLINE void at_return(struct coroutine *co, long L, long number, uint64_t sp)
{
	if (co->vm && !BROKEN(back))
		lua_hook_back(co);
	if (unlikely(lua_running.L != L &&
		     (lua_running.L != 0 || co->serial != 0)))
		at_caller(co, 0, number, sp);
}

/* The object of L, on which a function was called that has returned, if nobody
 * knew it then, and recording was turned on meanwhile. */
INLINE struct coroutine *met_at_return(long L, long number)
{
	return !lua_hook_is_on() ? NULL : served_or_met(L, number);
}

/* The object of L, for a call that is not watched after the recording: our hook
 * is gone by then. */
static struct coroutine *called(long L, long number)
{
	struct coroutine *const co = served_or_met(L, number);

	return !co || likely(lua_co_holder(co)->hooked) || lua_hook_is_on() ||
	       !mapped_recorder_is_dead() ? co : NULL;
}

/* ------------------------------------------------------------------ states */

/* The main state that was made last on this thread. */
static THREAD_LOCAL long newest;

/* L is the main state of a new VM, 0: none was made. Returns L. */
static long made(long L, struct lua_lib *lib)
{
	struct coroutine *co;

	newest = L;
	if (lib->openjit) /* which Lua will call as a function of ours */
		lua_func_stands_for(
			(uint64_t)lua_lib_stand_in(WEFT_LUA_WRAP_luaopen_jit,
						   lib->number),
			(uint64_t)lib->openjit);
	if (L == 0 || !lua_vm_wanted())
		return L;
	co = lua_attach_vm((lua_State *)L, lib);
	if (co && lib->abi)
		lua_hook_back(co);
	return L;
}

OUR(lua_newstate)
{
	return made(REAL(lua_newstate)(PASS), LIB);
}

OUR(luaL_newstate)
{
	struct lua_lib *const lib = LIB;
	long L;

	newest = 0;
	L = ((any_fn *)lib->lnewstate)(PASS);
	if (newest == L)
		return L;
	/* It calls lua_newstate, not ours: so does all of this Lua. */
	if (lib->abi && !lib->abi->is_jit)
		lib->interposed = false;
	return made(L, lib);
}

OUR(lua_close)
{
	struct coroutine *const co = served(a);
	struct coroutine *main;
	uint32_t serial;
	long r;

	if (!co)
		return REAL(lua_close)(PASS);
	serial = co->vm->serial;
	main = lua_co_find(co->vm->main);
	if (co->vm->sampled || lua_may_be_sampled() || lua_has_lines())
		lua_sample_closing(co->vm);
	lua_alloc_closing(co->vm);
	co->vm->closing = true; /* also for its coroutines' frames */
	r = ((any_fn *)co->vm->lib->api.lua_close)(PASS);
	/* Another thread's new state may lie there by now. */
	if (main && main->vm && main->vm->serial == serial) {
		lua_vm_end(main->vm);
		main->vm = NULL; /* before anything that takes time */
		call_scope_closed(main, ABOVE);
	}
	return r;
}

OUR(lua_newthread)
{
	struct coroutine *const co = find_known(a);
	long r;

	if (!co) {
		r = REAL(lua_newthread)(PASS);
		if (mapped_pool)
			lua_co_unknown((lua_State *)r);
		return r;
	}
	r = ((any_fn *)co->vm->lib->api.lua_newthread)(PASS);
	if (r != 0)
		lua_co_made((lua_State *)r, co, ABOVE);
	return r;
}

/* ----------------------------------------------------------------- resumes */

/* The last call of 5.1's lua_setlevel: the state that is about to resume
 * another, and that one. No parameter of its lua_resume tells. */
static THREAD_LOCAL long level_from, level_to;

OUR(lua_setlevel)
{
	const struct lua_lib *const lib = LIB;

	level_from = a;
	level_to = b;
	return ((any_fn *)lib->setlevel)(PASS);
}

/* Who resumes L by a call with this second argument; 0: not known. */
INLINE long resumer_of(const struct lua_lib *lib, long L, long b)
{
	if (lib->api.lua_callk)
		return b;
	return level_to == L ? level_from : 0;
}

/* The resume of a lua_State that was not known. */
static NOINLINE long resume_unknown(OURS)
{
	struct lua_running was = runs(NULL, a, ABOVE, true);
	const long by = resumer_of(LIB, a, b), r = REAL(lua_resume)(PASS);
	const struct coroutine *co;

	has_run(&was);
	co = met_at_return(a, number);
	if (co)
		at_caller(co, by, number, ABOVE);
	return r;
}

OUR(lua_resume)
{
	struct resume_scope scope;
	const uint32_t outside = region_depth;
	struct coroutine *const co = served_or_met(a, number);
	struct lua_running was;
	long r, by;

	if (!co)
		return resume_unknown(PASS, number);
	by = resumer_of(co->vm->lib, a, b);
	level_to = 0;
	turn_back(co);
	lua_hook_back(co);
	if (lua_may_be_sampled())
		lua_sample_resumes((uint64_t)co->vm->lib->api.lua_resume,
				   ABOVE);
	region_depth += co->regions;
	scope.co = NULL;
	if (co->vm->lib->abi->resumable(&co->vm->lib->api, co->L, b, c))
		resume_scope_begin(&scope, co, ABOVE);
	was = runs(co, a, ABOVE, true);
	r = ((any_fn *)co->vm->lib->api.lua_resume)(PASS);
	resume_scope_end(&scope, (int)r, ABOVE);
	has_run(&was); /* whose stack is the topmost one now */
	co->regions = region_back(outside, (int)r == LUA_STATUS_YIELD, ABOVE);
	at_caller(co, by, number, ABOVE);
	return r;
}

/* Pending to-be-closed variables of co are closed by calls on it, without a
 * resume. */
static long closing(struct coroutine *co, long by, weft_lua_function real,
		    OURS)
{
	const struct call_scope scope = call_scope_begin(co, ABOVE);
	long r;

	call_scope_closing(co, ABOVE);
	r = ((any_fn *)real)(PASS);
	call_scope_end(co, scope, false, ABOVE);
	call_scope_closed(co, ABOVE);
	at_caller(co, by, number, ABOVE);
	return r;
}

OUR(lua_closethread)
{
	struct coroutine *const co = served(a);
	const struct lua_lib *const lib = LIB;

	if (co)
		return closing(co, b, lib->closethread, PASS, number);
	return ((any_fn *)lib->closethread)(PASS);
}

/* In LuaJIT, if it has this, L resets another coroutine. */
OUR(lua_resetthread)
{
	const struct lua_lib *const lib = LIB;
	const bool is_jit = lib->abi && lib->abi->is_jit;
	struct coroutine *const co = served(is_jit ? b : a);

	if (co)
		return closing(co, is_jit ? a : 0, lib->resetthread, PASS,
			       number);
	return ((any_fn *)lib->resetthread)(PASS);
}

/* ------------------------------------------------------------------- calls */

/* A protected call: it ends here whatever happens in it. Inlined, like the
 * next: ABOVE is the frame address of what the entry has called. */
INLINE long protected_call(struct coroutine *co, weft_lua_function real, ARGS)
{
	struct call_scope scope;
	long r;

	lua_hook_back(co);
	scope = call_scope_begin(co, ABOVE);
	r = ((any_fn *)real)(PASS);
	call_scope_end(co, scope, (int)r != 0, ABOVE);
	return r;
}

/* The returns in a plain call tell its end. Nothing else does for one on a
 * coroutine that was not resumed, or of a C function by LuaJIT. */
INLINE long plain_call(struct coroutine *co, weft_lua_function real, ARGS)
{
	struct lua_vm *const vm = co->vm;
	const bool is_jit = vm->lib->abi->is_jit;
	struct call_scope scope;
	uint32_t open;
	long r;

	lua_hook_back(co);
	if (!is_jit && co->serial == 0) {
		open = call_scope_note(co, ABOVE);
		r = ((any_fn *)real)(PASS);
		vm->open = open;
		return r;
	}
	if (!is_jit && thread_self &&
	    shadow_segment(thread_self)->serial == co->serial)
		return ((any_fn *)real)(PASS);
	scope = call_scope_begin(co, ABOVE);
	r = ((any_fn *)real)(PASS);
	call_scope_end(co, scope, false, ABOVE);
	return r;
}

/* Sorting a table calls Lua a million times a second. */
#define goes_on_plain_call(L, sp)                                              \
	(lua_may_be_sampled() && lua_sample_goes_on(L, sp))
#define goes_on_protected_call(L, sp) false

#define CALLS(name, how)                                                       \
	OUR(name)                                                              \
	{                                                                      \
		struct lua_running was;                                        \
		struct coroutine *co;                                          \
		long r;                                                        \
                                                                               \
		if (goes_on_##how(a, ABOVE))                                   \
			return REAL(name)(PASS);                               \
		co = called(a, number);                                        \
		turn_back(co);                                                 \
		was = runs(co, a, ABOVE, false);                               \
		r = !co ? REAL(name)(PASS) :                                   \
		    how(co, co->vm->lib->api.name, PASS);                      \
		has_run(&was);                                                 \
		if (!co)                                                       \
			co = met_at_return(a, number);                         \
		if (co)                                                        \
			at_return(co, a, number, ABOVE);                       \
		return r;                                                      \
	}

CALLS(lua_pcallk, protected_call)
CALLS(lua_pcall, protected_call) /* 5.1 and LuaJIT, like the next two */
CALLS(lua_cpcall, protected_call)
CALLS(lua_call, plain_call)
CALLS(lua_callk, plain_call)

/* ------------------------------------------------- the program's own hooks */

/* The object that holds the program's hook, if ours is in its place. */
static struct coroutine *holder(long L)
{
	struct coroutine *const co = served(L);
	struct coroutine *const h = !co ? NULL : lua_co_holder(co);

	if (!h || !h->hooked)
		return NULL;
	if (h->vm->sampled)
		lua_ask_look(h);
	else if (unlikely(!h->vm->interposed))
		lua_hook_restore(h);
	return h;
}

OUR(lua_sethook)
{
	struct coroutine *const co = holder(a);

	if (!co)
		return REAL(lua_sethook)(PASS);
	co->app_hook = (int)c == 0 ? NULL : (weft_lua_function)b;
	co->app_mask = !co->app_hook ? 0 : (int)c;
	co->app_count = !co->app_hook ? 0 : (int)d;
	lua_hook_update(co);
	return 1;
}

#define GETTER(name, value)                                                    \
	OUR(name)                                                              \
	{                                                                      \
		const struct coroutine *const co = holder(a);                  \
                                                                               \
		return !co ? REAL(name)(PASS) : (long)(value);              \
	}

GETTER(lua_gethook, co->app_hook)
GETTER(lua_gethookmask, co->app_mask)
GETTER(lua_gethookcount, co->app_count)

/* ------------------------------------------------------------------ LuaJIT */

OUR(luaJIT_setmode)
{
	struct coroutine *const co = served(a);

	if (co && lua_jit_wants(co->vm, (int)c))
		return 1;
	return REAL(luaJIT_setmode)(PASS);
}

OUR(luaopen_jit)
{
	struct coroutine *const co = served(a);
	const struct lua_lib *const lib = LIB;
	const long r = ((any_fn *)lib->openjit)(PASS);

	if (co)
		lua_jit_opened(co->vm);
	return r;
}

/* ----------------------------------------------------------------- entries */

_Static_assert(LUA_LIB_ENTRY == 16 && LUA_LIBS == 32, "as ARCH_ENTRIES has");

#define ENTRIES(name)                                                          \
	extern HIDDEN const char interpose_##name##_entries[];                 \
	ARCH_ENTRIES("interpose_" #name "_entries", "interpose_" #name)
WEFT_LUA_WRAPPED(ENTRIES)

static const char *const entries[WEFT_LUA_WRAPS] = {
#define X(name) interpose_##name##_entries,
	WEFT_LUA_WRAPPED(X)
#undef X
};

/* -------------------------------------------- a Lua that is linked statically
 * Its linker leads calls here: from then on it is a library like a shared
 * one. */

__attribute__((constructor(102))) static void begin(void)
{
	lua_lib_entries = entries;
	process_rejoins = lua_co_forget;
}

EXPORT void weft_lua_linked(const struct weft_lua_linked *linked)
{
	const int saved = errno;
	struct lua_lib *lib;

	lib = linked->size < sizeof(*linked) || !lua_vm_wanted() ? NULL :
	      lua_lib_linked(linked);
	for (unsigned long i = 0; lib && i < linked->wraps &&
	     i < WEFT_LUA_WRAPS; i++) {
		if (linked->real[i])
			linked->used[i] = (weft_lua_function)
				lua_lib_stand_in((unsigned)i, lib->number);
	}
	errno = saved;
}

EXPORT void weft_lua_unlinked(const struct weft_lua_linked *linked)
{
	const int saved = errno;

	for (unsigned long i = 0; i < linked->wraps; i++)
		linked->used[i] = linked->real[i];
	lua_lib_unlinked(linked);
	errno = saved;
}
