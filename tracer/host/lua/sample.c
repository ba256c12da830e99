/* sample.c - see the header. SPDX-License-Identifier: MIT */
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/lua/ticks.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

#include <errno.h>
#include <sys/single_threaded.h>

/* So much that could not be noted is told by itself. */
#define TELL_MISSED (5 * LUA_TICK_NS)
enum { NOTED_OPERANDS = 4 };

/* --------------------------------------------------------- calls of the VM */

/* In another window, or another recording, L must be met. */
bool lua_sample_goes_on(long L, uint64_t sp)
{
	const struct lua_running *const r = &lua_running;

	return r->L == L && lua_vm_on() && lua_running_is_innermost(r, sp) &&
	       thread_self->lua_top == lua_running_frames(thread_self) &&
	       thread_self->generation ==
	       atomic_load_explicit(&mapped_pool->generation,
				    memory_order_relaxed) &&
	       r->window == thread_self->window &&
	       r->forgot == atomic_load_explicit(&lua_co_forgot,
						 memory_order_relaxed);
}

/* Which calls are open is being said: asking about a function may take memory,
 * by functions that have hooks. A handler may have jumped away from that. */
static THREAD_LOCAL bool says;

enum { LUA_OUTER = 32 };

/* What ran when r began: a jump may end r, and nobody comes back then who knew
 * it. */
static void keep_outer(struct thread_state *s, struct lua_running *r,
		       const struct lua_running *was)
{
	struct lua_local *const me = lua_vm_local(s);

	r->level = was->L == 0 ? 0 : was->level + 1;
	if (!me || r->level == 0 || r->level > LUA_OUTER)
		return;
	if (!me->outer)
		me->outer = memory_get(LUA_OUTER * sizeof(*me->outer));
	if (me->outer)
		me->outer[r->level - 1] = *was;
}

void lua_sample_jumped(struct thread_state *s, uint64_t target)
{
	struct lua_running *const r = &lua_running;
	const struct lua_local *const me = s->lua;
	const uint32_t level = r->level;
	const struct coroutine *co;

	while (me && me->outer && r->L != 0 && r->sp < target &&
	       r->level > 0 && r->level <= LUA_OUTER &&
	       r->stack == lua_vm_stack(s) &&
	       shadow_in_alt(s, r->sp) == shadow_in_alt(s, target)) {
		const struct lua_running *const to = &me->outer[r->level - 1];

		if (to->stack != r->stack || to->sp <= r->sp)
			break;
		*r = *to;
	}
	co = r->level == level ? NULL : lua_co_find((lua_State *)r->L);
	if (co && co->vm->sampled && r->window == s->window)
		thread_lua_runs(s, r->top);
}

/* Where the running call's frames stand. */
static bool mark(struct lua_running *r, const struct lua_vm *vm,
		 const struct lua_running *was)
{
	struct thread_state *const s = thread_acquire(r->sp);

	r->stack = NULL;
	if (!s)
		return false;
	if (mapped_view.lua_budget)
		lua_running_settle(s, was);
	r->stack = lua_vm_stack(s);
	r->segments = s->segments - s->fiber;
	r->depth = shadow_depth(s);
	r->top = lua_running_frames(s);
	r->window = s->window;
	r->forgot = atomic_load(&lua_co_forgot);
	keep_outer(s, r, was);
	thread_lua_runs(s, lua_vm_is_sampled(vm) ? r->top : 0);
	says = false;
	thread_release(s);
	return true;
}

/* Is it on this thread's own stack, and does it go on, in a part of the
 * recording in which nothing has told of it? */
static bool goes_on_unseen(const struct thread_state *s,
			   const struct lua_running *r, uint64_t sp)
{
	return !mapped_view.lua_budget && r->L != 0 &&
	       (r->window != s->window || !r->stack) && s->level == 0 &&
	       !s->fiber_on && r->sp > sp && r->sp <= s->stack_high &&
	       !shadow_in_alt(s, sp);
}

/* All its frames are on what is open now: calls in between are not known. */
static void place_anew(struct thread_state *s, struct lua_running *r)
{
	r->stack = lua_vm_stack(s);
	r->segments = s->segments - s->fiber;
	r->depth = shadow_depth(s);
	r->top = lua_running_frames(s);
	r->window = s->window;
	r->forgot = atomic_load(&lua_co_forgot);
	r->level = 0;
	r->base = 0;
	thread_lua_runs(s, r->top);
	says = false;
}

/* A part of the recording begins. */
static void goes_on(struct thread_state *s)
{
	if (lua_is_sampled() && goes_on_unseen(s, &lua_running, HERE))
		place_anew(s, &lua_running);
}

/* What was running before goes on. */
static void unmark(struct lua_running *was)
{
	struct thread_state *const s = thread_acquire(HERE);

	if (!s)
		return;
	if (lua_is_sampled() && goes_on_unseen(s, was, HERE))
		place_anew(s, was);
	else
		thread_lua_runs(s, mapped_view.lua_budget ?
				lua_running_settle(s, was) :
				was->L != 0 && was->window == s->window &&
				was->stack == lua_vm_stack(s) ? was->top : 0);
	thread_release(s);
}

static bool is_same_place(const struct lua_running *a,
			  const struct lua_running *b)
{
	return a->stack == b->stack && a->segments == b->segments &&
	       a->depth == b->depth;
}

void lua_sample_claim(struct lua_vm *vm)
{
	if (unlikely(vm->lib->abi->is_jit && vm->sampled &&
		     atomic_load_explicit(&lua_ask_profiled,
					  memory_order_relaxed) != vm))
		lua_ask_claim(vm);
}

void lua_sample_enter(struct coroutine *co, const struct lua_running *was,
		      bool is_resume)
{
	struct lua_running *const r = &lua_running;

	r->base = 0;
	r->stack = NULL;
	if (!co || !lua_vm_on() || !mark(r, co->vm, was))
		return;
	if (lua_vm_is_sampled(co->vm))
		lua_tick_keep();
	lua_sample_claim(co->vm);
	if (is_resume)
		return;
	if (was->L == r->L && is_same_place(was, r))
		r->base = was->base;
	else if (was->L != 0)
		r->base = co->vm->lib->abi->innermost(
			&co->vm->lib->api, co->L, co->vm->by_layout).id;
}

/* A tick has asked L, which did not come to it. In LuaJIT whoever runs next is
 * asked with it. */
static SLOW void leave_asked(const struct lua_running *was)
{
	struct coroutine *const co = lua_co_served(lua_ticks.asked);
	const struct coroutine *const next =
		lua_running_sampled((lua_State *)was->L);

	lua_ask_hold(true);
	if (lua_ticks.asked && co && !co->vm->lib->abi->is_jit &&
	    lua_ask_is_in_place(co))
		lua_ask_hook_back(co);
	if (lua_ticks.asked && co && next && next->vm == co->vm &&
	    co->vm->lib->abi->is_jit)
		lua_ticks.asked = next->L;
	else
		lua_ask_drop();
	lua_ask_hold(false);
}

/* A VM that never notes anything would never tell of it. */
static SLOW void tell_missed(void)
{
	const struct coroutine *const co = lua_running_sampled(
		(lua_State *)lua_running.L);
	struct thread_state *const s = !co ? NULL : thread_acquire(HERE);

	if (!s) { /* recording is off, or the VM is gone */
		lua_ticks.missed = 0;
		return;
	}
	lua_vm_seen(s, co->vm);
	lua_vm_name(s, co->vm);
	chunk_need(s, 2 + NOTED_OPERANDS);
	lua_vm_name(s, co->vm); /* in the chunk that the record goes to */
	lua_ask_hold(true);
	chunk_put_with(s, rec_put(REC_NOTED, NOTED_UNKNOWN,
				  chunk_gap(s, chunk_clock(s))),
		       (const uint64_t[]){ 0, lua_ticks.missed,
					   co->vm->serial, 0 },
		       NOTED_OPERANDS);
	lua_ticks.missed = 0;
	lua_ask_hold(false);
	thread_release(s);
}

void lua_sample_leave(struct lua_running *was)
{
	unmark(was);
	if (unlikely(lua_ticks.missed > TELL_MISSED))
		tell_missed();
	if (unlikely(lua_ticks.asked) && lua_ticks.asked != (lua_State *)was->L)
		leave_asked(was);
}

/* -------------------------------------------------- calls that the VM makes */

static SLOW void calls(uint64_t fn, uint64_t sp)
{
	const struct lua_running *const r = &lua_running;
	const struct coroutine *co;
	const int saved = errno;

	lua_running_settle_it();
	if (!says && lua_vm_on() && lua_running_is_innermost(r, sp)) {
		co = lua_running_sampled((lua_State *)r->L);
		if (co)
			lua_tick_keep();
		says = true;
		barrier();
		if (co && co->vm->by_layout)
			co->vm->lib->abi->calls(co, r->base, fn, sp);
		barrier();
		says = false;
	}
	errno = saved;
}

void lua_sample_resumes(uint64_t function, uint64_t sp)
{
	if (thread_self && thread_lua_calls(thread_self))
		calls(function, sp);
}

/* --------------------------------------------------------------------- VMs */

/* Calls by the program are seen, or else it must be told when the VM ends. */
static void see_end(struct lua_vm *vm, lua_State *L)
{
	if (vm->lib->map)
		return;
	vm->end_watched = vm->end_watched || vm->lib->abi->watch_end(vm, L);
	if (!vm->end_watched) {
		lua_ask_tell_unnoted();
		return;
	}
	lua_tick_keep();
	lua_ticks.home = vm;
}

/* Does this thread let the signal of its ticks through? */
static bool may_tick(void)
{
	const struct kernel_signals before = kernel_hold_signals();

	kernel_let_signals(before);
	return lua_ticks.timer >= 0 && before.is_held &&
	       (before.blocked >> (lua_ticks.signal - 1) & 1) == 0;
}

bool lua_sample_may(struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_served((lua_State *)
							 lua_running.L);
	const struct lua_lib *const lib = vm->lib;

	lua_tick_keep();
	if (vm->closing || !may_tick() || !thread_self ||
	    (vm->interposed ? !co || co->vm != vm ||
			      lua_running.stack != lua_vm_stack(thread_self) ||
			      lua_running.window != thread_self->window :
			      lua_running.L != 0 || !__libc_single_threaded))
		return false;
	return !lib->abi->is_jit ||
	       (lib->profile_start && lib->profile_stop &&
		!atomic_load(&lua_ask_profiled) &&
		kernel_prof().action.sa_handler == SIG_DFL);
}

void lua_sample_turns(struct thread_state *s, const struct lua_vm *vm)
{
	const struct lua_running *const r = &lua_running;
	const bool is_known = vm->interposed;
	const uint32_t segments = is_known ? r->segments : 1;
	const uint64_t now = chunk_clock(s);
	struct frame *f, *end;

	while (s->segments - s->fiber > segments)
		lua_switch_detach(s, SUSPEND_YIELD | SUSPEND_INFERRED, now);
	end = s->frames + (is_known ? r->top : shadow_segment(s)->base);
	for (f = s->top; f > end && lua_co_is_vms(vm, f - 1);)
		f--;
	shadow_unwind(s, f, UNWIND_RESET, now);
	s->lua_plain = NULL;
	thread_lua_runs(s, is_known ? r->top : 0);
}

void lua_sample_begin(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	if (vm->sampled)
		return;
	thread_upcalls.lua_calls = calls;
	thread_upcalls.lua_goes_on = goes_on;
	barrier();
	vm->sampled = true;
	see_end(vm, co->L);
	/* While nobody recorded, the one before was closed. */
	if (mapped_view.attached &&
	    !lua_ask_is_ours(atomic_load(&lua_ask_profiled)))
		atomic_store(&lua_ask_profiled, NULL);
	if (vm->lib->abi->is_jit)
		lua_ask_claim(vm);
}

void lua_sample_lines(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	lua_tick_keep();
	if (!vm->lib->abi->is_jit || atomic_load(&lua_ask_profiled) == vm)
		return;
	/* The one before was closed, which nobody may have seen. */
	if (!lua_ask_is_ours(atomic_load(&lua_ask_profiled)))
		atomic_store(&lua_ask_profiled, NULL);
	lua_ask_claim(vm);
}

static void forget(const struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_find(lua_ticks.asked);

	lua_ask_hold(true);
	if (lua_ticks.asked && (!co || co->vm == vm))
		lua_ask_drop();
	lua_ask_hold(false);
}

void lua_sample_end(struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;

	lua_ask_hook_off(co);
	if (lua_ask_is_ours(vm))
		lua_ask_stop(vm, co->L);
	vm->sampled = false;
	forget(vm);
}

void lua_sample_lines_end(struct coroutine *co)
{
	if (lua_ask_is_ours(co->vm))
		lua_ask_stop(co->vm, co->L);
	forget(co->vm);
}

void lua_sample_closing(struct lua_vm *vm)
{
	const struct coroutine *const co = lua_co_find((lua_State *)
						       lua_running.L);

	vm->closing = true;
	barrier();
	forget(vm);
	lua_ask_stop(vm, vm->main);
	if (lua_ticks.home == vm)
		lua_ticks.home = NULL;
	if (co && co->vm == vm)
		lua_running.L = 0;
}
