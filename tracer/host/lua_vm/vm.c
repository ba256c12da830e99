/* vm.c - the VMs of the program, and their names in chunks; a thread's Lua
 * part. SPDX-License-Identifier: MIT */
#include "tracer/host/base/clock.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/link/link.h"
#include "tracer/host/lua_vm/vm.h"
#include "tracer/host/native/exclude.h"
#include "tracer/host/pool/process.h"

bool lua_vm_wanted(void)
{
	return process_ready() && mapped_view.lua;
}

/* ----------------------------------------------------- a thread's Lua part */

struct lua_local *lua_vm_local(struct thread_state *s)
{
	if (unlikely(!s->lua))
		s->lua = memory_get(sizeof(struct lua_local));
	return s->lua;
}

struct frame *lua_vm_walk_room(struct lua_local *me)
{
	if (!me->walk)
		me->walk = memory_get(LUA_WALK_ROOM * sizeof(struct frame));
	return me->walk;
}

/* ------------------------------------------------------------------ naming */

/* How much it has in use; 0: that is not wanted, or cannot be seen. Nobody may
 * have told that it was closed, and another thread may do so now. */
static uint64_t bytes_of(const struct lua_vm *vm)
{
	const struct lua_lib *const lib = vm->lib;
	const uint64_t at = (uint64_t)vm->main - lib->main_at + lib->memory_at;

	return mapped_view.heap == 0 || lib->memory_at == 0 ||
	       !vm->by_layout || vm->closing ||
	       !kernel_can_read((const void *)at) ? 0 : lib->abi->memory(at);
}

/* false: the chunk has no room. */
static bool put_item(struct thread_state *s, const struct lua_vm *vm)
{
	const uint64_t bytes = bytes_of(vm);
	const uint32_t words = bytes > 0 ? 7 : 5;
	uint64_t *const item = chunk_item(s, words);

	CHECKED(lua_vm_valid(vm));
	if (!item)
		return false;
	item[0] = item_put(ITEM_VM, words);
	item[1] = vm->serial;
	item[2] = (uint64_t)vm->lib->abi->number << 32 |
		  (vm->by_layout ? VM_PEEK : 0u) |
		  (vm->jit_stopped ? VM_JIT_OFF : 0u) |
		  (vm->interposed ? 0u : VM_INFERRED) |
		  (lua_vm_is_sampled(vm) ? VM_SAMPLED : 0u) |
		  (vm->lib->excluded ? VM_EXCLUDED : 0u) |
		  (vm->lib->abi->is_jit ? VM_UNTOLD_RETURNS : 0u);
	item[3] = (uint64_t)vm->main;
	item[4] = vm->fiber;
	if (bytes > 0) {
		item[5] = bytes;
		item[6] = clock_now(); /* the chunk may be old */
	}
	chunk_publish_items(s);
	return true;
}

void lua_vm_name(struct thread_state *s, const struct lua_vm *vm)
{
	struct lua_local *const me = lua_vm_local(s);
	const uint32_t i = vm->serial % LUA_VMS_NAMED;

	if (!me || (me->named[i].serial == vm->serial &&
		    me->named[i].epoch == s->epoch))
		return;
	me->named[i].vm = vm;
	me->named[i].serial = vm->serial;
	if (put_item(s, vm))
		me->named[i].epoch = s->epoch;
	else
		chunk_switch(s, 0); /* which names it */
}

void lua_vm_name_again(struct thread_state *s, const struct lua_vm *vm)
{
	struct lua_local *const me = lua_vm_local(s);

	if (me)
		me->named[vm->serial % LUA_VMS_NAMED].epoch = 0;
	lua_vm_name(s, vm);
}

/* The one that ran last comes first: a budget takes the chunk for its. */
void lua_vm_name_all(struct thread_state *s)
{
	struct lua_local *const me = s->lua;
	const uint32_t first = !me || !me->co || !me->co->vm ? 0 :
			       me->co->vm->serial;

	for (uint32_t n = 0; me && n < LUA_VMS_NAMED; n++) {
		const uint32_t i = (first + n) % LUA_VMS_NAMED;
		const struct lua_vm *const vm = me->named[i].vm;

		if (vm && vm->serial == me->named[i].serial &&
		    vm->seen >= process_past_windows() && put_item(s, vm))
			me->named[i].epoch = s->epoch;
	}
}

void lua_vm_bind(struct thread_state *s, struct lua_vm *vm)
{
	struct fiber *const f = s->fiber_on;

	f->vm = vm->serial;
	vm->fiber = f->serial;
	lua_vm_name_again(s, vm);
}

/* -------------------------------------------------------------- the layout */

/* The trial shows which functions of a Lua that is part of an instrumented
 * program are at work around events. */
static bool begin_learning(const struct lua_lib *lib)
{
	struct thread_state *s;

	if (!exclude_learn((const void *)lib->api.lua_newthread))
		return false;
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		chunk_switch(s, 0); /* to one that names no function yet */
		thread_release(s);
	}
	return true;
}

/* No handler may jump out of it; and what one would call is the program's. In a
 * program that is confined memory cannot be looked at. */
static enum lua_layout try_layout(struct lua_lib *lib, lua_State *L)
{
	const struct kernel_signals before = kernel_hold_signals();
	enum lua_layout layout = LAYOUT_WRONG;
	bool learns;

	atomic_fetch_add(&thread_native_watched, 1);
	thread_set_native_pool(&thread_no_pool);
	learns = !kernel_confined && begin_learning(lib);
	if (!kernel_confined && lib->abi->check(lib, L) && !BROKEN(layout))
		layout = LAYOUT_RIGHT;
	lib->excluded = learns ? exclude_learned() :
		     exclude_has((uint64_t)lib->api.lua_newthread);
	atomic_fetch_sub(&thread_native_watched, 1);
	atomic_store_explicit(&lib->layout, layout, memory_order_release);
	kernel_let_signals(before);
	return layout;
}

/* Once for a library. Two threads may do it at once, with the same result. */
bool lua_vm_try_layout(struct lua_lib *lib, lua_State *L)
{
	enum lua_layout layout =
		atomic_load_explicit(&lib->layout, memory_order_acquire);

	if (layout == LAYOUT_UNTRIED)
		layout = try_layout(lib, L);
	return layout == LAYOUT_RIGHT;
}

/* --------------------------------------------------------- in the pool */

/* A fork, or another recording, has left it without one. */
static struct pool_vm *slot_of(const struct lua_vm *vm)
{
	struct pool_vm *const v = &mapped_pool->vm[vm->slot];

	return atomic_load(&v->state) == SLOT_USED && v->serial == vm->serial &&
	       v->process == process_serial ? v : NULL;
}

/* No handler may jump out of it. */
static void take_slot(struct lua_vm *vm, uint32_t tid, uint32_t window)
{
	const struct kernel_signals before = kernel_hold_signals();

	for (uint32_t i = 0; i < POOL_VMS; i++) {
		struct pool_vm *const v = &mapped_pool->vm[i];
		uint32_t free = SLOT_FREE;

		if (atomic_load(&v->state) != SLOT_FREE ||
		    !atomic_compare_exchange_strong(&v->state, &free,
						    SLOT_BUSY))
			continue;
		vm->slot = i;
		v->process = process_serial;
		v->serial = vm->serial;
		atomic_store(&v->tid, tid);
		atomic_store(&v->window, window);
		atomic_store(&v->state, SLOT_USED);
		break;
	}
	kernel_let_signals(before);
}

static void note(struct lua_vm *vm, uint32_t tid, uint32_t window)
{
	struct pool_vm *const v = slot_of(vm);

	if (!v) {
		take_slot(vm, tid, window);
		return;
	}
	atomic_store(&v->tid, tid);
	atomic_store(&v->window, window);
}

void lua_vm_note_seen(const struct thread_state *s, struct lua_vm *vm)
{
	vm->seen = s->window;
	note(vm, s->tid, s->window);
}

void lua_vm_end(struct lua_vm *vm)
{
	struct pool_vm *const v = !vm ? NULL : slot_of(vm);

	if (v)
		atomic_store(&v->state, SLOT_FREE);
}

bool lua_vm_look(struct lua_vm *vm)
{
	const uint32_t now = atomic_load_explicit(&mapped_pool->generation,
						  memory_order_acquire);
	bool known;

	if (vm->asked != now)
		vm->wanted = verdict_find(mapped_view.verdicts,
					  mapped_view.verdict_slots,
					  verdict_of_vm(vm->serial), &known) ==
			     VERDICT_COUNT;
	vm->asked = now;
	return vm->wanted != vm->turned;
}

/* ------------------------------------------------------------- all of them */

static struct lua_vm *_Atomic vms;

static void enlist(struct lua_vm *vm)
{
	struct lua_vm *first = atomic_load(&vms);

	do
		vm->next = first;
	while (!atomic_compare_exchange_weak(&vms, &first, vm));
}

struct lua_vm *lua_vm_each(const struct lua_lib *lib, struct lua_vm *before)
{
	struct lua_vm *vm = !before ? atomic_load(&vms) : before->next;

	while (vm && (vm->lib != lib || vm->holder->vm != vm))
		vm = vm->next;
	return vm;
}

bool lua_vm_valid(const struct lua_vm *vm)
{
	const struct lua_abi *const abi = vm->lib->abi;

	return vm->holder->L == vm->main && (vm->serial == 0) == !abi &&
	       (!vm->jit_stopped || abi->is_jit) &&
	       (vm->watched == 0 || (vm->watch && vm->unwatched == 0));
}

/* A VM about which nothing is known, with this main state: the last one that
 * lay there, or a new one. Others may look through the list meanwhile. */
static struct lua_vm *begin(lua_State *main, struct coroutine *holder,
			    struct lua_lib *lib)
{
	struct lua_vm *vm = holder->own;
	const bool is_new = !vm;

	if (is_new)
		vm = memory_get(sizeof(*vm));
	else
		lua_vm_end(vm); /* perhaps nobody saw its end */
	if (!vm)
		return NULL;
	vm->lib = lib;
	vm->main = main;
	vm->holder = holder;
	vm->family = vm->fiber = vm->watched = 0;
	vm->serial = vm->unknown_names = vm->scans = 0;
	vm->numbered = vm->unwatched = vm->nameless = vm->open = 0;
	vm->slot = 0;
	vm->seen = UINT32_MAX;
	vm->by_layout = vm->detached = vm->born_told = false;
	vm->jit_on = vm->jit_stopped = vm->own_wrapper = false;
	vm->sampled = vm->closing = vm->end_watched = false;
	vm->turned = vm->wanted = false;
	vm->asked = 0;
	vm->watch = NULL;
	if (is_new)
		enlist(vm);
	holder->own = vm;
	return vm;
}

_Atomic uint32_t lua_vm_made;

struct lua_vm *lua_vm_new(lua_State *main, struct coroutine *holder,
			  struct lua_lib *lib)
{
	struct lua_vm *const vm = begin(main, holder, lib);

	if (!vm)
		return NULL;
	atomic_fetch_add(&lua_vm_made, 1);
	if (link_refused)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_PASSED);
	vm->interposed = lib->interposed;
	if (lib->abi) {
		vm->family = lib->abi->family(&lib->api, main);
		vm->by_layout = lua_vm_try_layout(lib, main);
		vm->serial = atomic_fetch_add(&mapped_pool->next_vm, 1);
		atomic_fetch_add(&process_slot->vms, 1);
		note(vm, kernel_tid(), pool_window(mapped_pool,
			atomic_load(&mapped_pool->generation)));
	} else {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_UNKNOWN);
	}
	CHECKED(lua_vm_valid(vm));
	return vm;
}
