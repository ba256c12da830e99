/* vm.c - the process-wide table of lua_States, VMs' and coroutines' births.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/vm.h"
#include "tracer/host/lua/function.h"
#include "tracer/host/lua/jit.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/thread/lua_side.h"
#include "tracer/host/lua/unwind.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/native/exclude.h"

int lua_vm_wanted(void)
{
	return process_ready() && process_view.lua;
}

/* ------------------------------------------------------ table of lua_States */

/* Tables of growing size, each an open-addressing hash of pointers that only
 * ever go from NULL to an object. A table is full when a probe finds no room
 * in it; then the next is opened. */
enum { TABLES = 6, FIRST_BITS = 10, GROW_BITS = 2, PROBES = 24 };

typedef struct coroutine *_Atomic slot;

static slot *_Atomic tables[TABLES];

/* For this thread: the objects it asked for last. An address keeps its object
 * for ever, so these never go stale. */
enum { NEAR_BITS = 4 };
static THREAD_LOCAL struct coroutine *near[1 << NEAR_BITS];

static uint64_t spread(const lua_State *L)
{
	return ((uint64_t)L >> 4) * GOLDEN;
}

static slot *place(slot *t, int table, uint64_t hash, uint32_t probe)
{
	const int bits = FIRST_BITS + table * GROW_BITS;

	return &t[((hash >> (64 - bits)) + probe) &
		  ((UINT64_C(1) << bits) - 1)];
}

static struct coroutine *look_up(const lua_State *L)
{
	const uint64_t hash = spread(L);

	for (int i = 0; i < TABLES; i++) {
		slot *const t = atomic_load_explicit(&tables[i],
						     memory_order_acquire);

		if (!t)
			return NULL;
		for (uint32_t k = 0; k < PROBES; k++) {
			struct coroutine *const co = atomic_load_explicit(
				place(t, i, hash, k), memory_order_acquire);

			if (!co)
				return NULL;
			if (co->L == L)
				return co;
		}
	}
	return NULL;
}

static struct coroutine **near_place(const lua_State *L)
{
	return &near[spread(L) >> (64 - NEAR_BITS)];
}

struct coroutine *lua_vm_find(lua_State *L)
{
	struct coroutine **const n = near_place(L);
	struct coroutine *co = *n;

	if (unlikely(!co || co->L != L)) {
		co = look_up(L);
		if (!co)
			return NULL;
		*n = co;
	}
	return co->vm != NULL ? co : NULL;
}

static slot *open_table(int i)
{
	const size_t size = sizeof(slot) << (FIRST_BITS + i * GROW_BITS);
	slot *t = atomic_load_explicit(&tables[i], memory_order_acquire);
	slot *made;

	if (t)
		return t;
	made = memory_get(size);
	if (!made)
		return NULL;
	return atomic_compare_exchange_strong(&tables[i], &t, made) ? made : t;
}

/* Two threads may add at once, though never the same address: it is alive in
 * one place only. */
static struct coroutine *add(lua_State *L)
{
	struct coroutine *const co = memory_get(sizeof(*co));
	const uint64_t hash = spread(L);

	if (!co)
		return NULL;
	co->L = L;
	for (int i = 0; i < TABLES; i++) {
		slot *const t = open_table(i);

		for (uint32_t k = 0; t && k < PROBES; k++) {
			struct coroutine *none = NULL;

			if (atomic_compare_exchange_strong(
				    place(t, i, hash, k), &none, co))
				return co;
		}
	}
	return NULL;
}

struct coroutine *lua_vm_object(lua_State *L)
{
	struct coroutine *co = look_up(L);

	return co != NULL ? co : add(L);
}

/* ------------------------------------------------------ a thread's Lua part */

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

/* ------------------------------------------------------------- items */

static int put_vm(struct thread_state *s, const struct lua_vm *vm)
{
	uint64_t *const item = chunk_item(s, 5);

	if (!item)
		return 0;
	item[0] = item_put(ITEM_VM, 5);
	item[1] = vm->serial;
	item[2] = (uint64_t)vm->lib->abi->number << 32 |
		  (vm->peek ? VM_PEEK : 0u) |
		  (vm->jit_stopped ? VM_JIT_OFF : 0u) |
		  (vm->interposed ? 0u : VM_INFERRED) |
		  (vm->lib->quiet ? VM_QUIET : 0u) |
		  (vm->lib->abi->is_jit ? VM_LATE : 0u);
	item[3] = (uint64_t)vm->main;
	item[4] = vm->fiber;
	chunk_publish_items(s);
	return 1;
}

void lua_vm_name(struct thread_state *s, const struct lua_vm *vm)
{
	struct lua_local *const me = lua_vm_local(s);
	const uint32_t i = vm->serial % LUA_VMS_NAMED;

	if (!me || (me->named[i].vm == vm &&
			   me->named[i].epoch == s->epoch))
		return;
	me->named[i].vm = vm;
	if (!put_vm(s, vm)) {
		chunk_switch(s, 0); /* which names it */
		return;
	}
	me->named[i].epoch = s->epoch;
}

void lua_vm_name_again(struct thread_state *s, const struct lua_vm *vm)
{
	struct lua_local *const me = lua_vm_local(s);

	if (me)
		me->named[vm->serial % LUA_VMS_NAMED].vm = NULL;
	lua_vm_name(s, vm);
}

void lua_vm_book(struct thread_state *s, struct lua_vm *vm)
{
	struct fiber *const f = s->fiber_on;

	f->vm = vm->serial;
	vm->fiber = f->serial;
	lua_vm_name_again(s, vm);
}

/* A chunk was opened: the VMs this thread works with. */
static void name_vms(struct thread_state *s)
{
	struct lua_local *const me = s->lua;

	for (uint32_t i = 0; me && i < LUA_VMS_NAMED; i++) {
		if (me->named[i].vm && put_vm(s, me->named[i].vm))
			me->named[i].epoch = s->epoch;
	}
}

/* ------------------------------------------------------------- births */

/* Whoever lived at this address before is gone. */
static void settle(struct coroutine *co, struct lua_vm *vm, uint64_t serial)
{
	co->vm = vm;
	co->serial = serial;
	co->app_hook = NULL;
	co->app_mask = co->app_count = 0;
	co->hooked = co->ended = co->keeps = co->gapped = 0;
	co->window = UINT32_MAX;
	co->count = 0;
}

static int has_serial(const struct coroutine *co)
{
	return co->serial != 0 && co->serial != LUA_UNBORN;
}

void lua_vm_create(struct thread_state *s, struct coroutine *co, uint64_t now)
{
	uint64_t gap;
	uint32_t n;

	if (!(BROKEN(recycle) && has_serial(co)))
		co->serial = atomic_fetch_add_explicit(
			&process_pool->next_coroutine, 1, memory_order_relaxed);
	co->ended = co->keeps = co->gapped = 0;
	co->count = 0;
	atomic_fetch_add_explicit(&process_slot->coroutines, 1,
				  memory_order_relaxed);
	lua_vm_name(s, co->vm);
	chunk_need(s, 4);
	lua_vm_name(s, co->vm);
	gap = chunk_gap(s, now);
	n = s->n;
	s->records[n] = rec_put(REC_CREATE, 0, gap);
	s->records[n + 1] = rec_put_value(REC_OPERAND, co->serial);
	s->records[n + 2] = rec_put_value(REC_OPERAND, co->vm->serial);
	barrier();
	s->n = n + 3;
	atomic_store_explicit(s->published, n + 3, memory_order_release);
}

/* The trial shows which functions of a Lua that is part of an instrumented
 * program are at work around events. */
static int begin_learning(const struct lua_lib *lib)
{
	struct thread_state *s;

	if (!exclude_learn((const void *)lib->api.lua_newthread))
		return 0;
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		chunk_switch(s, 0); /* which has no function's name as yet */
		thread_release(s);
	}
	return 1;
}

static int try_layout(struct lua_lib *lib)
{
	int peek = atomic_load_explicit(&lib->peek, memory_order_acquire);

	if (peek == 0) {
		const int learns = begin_learning(lib);

		peek = lib->abi->check(&lib->api) && !BROKEN(layout) ? 1 : 2;
		lib->quiet =
			learns ? exclude_learned()
			       : exclude_has((uint64_t)lib->api.lua_newthread);
		atomic_store_explicit(&lib->peek, peek, memory_order_release);
	}
	return peek == 1;
}

/* A program without Lua never comes here. */
static void serve_native_side(void)
{
	lua_side_item = lua_func_item;
	lua_side_hint = lua_func_hint;
	lua_side_chunk = name_vms;
	stack_off = lua_stack_off;
	stack_yielding = lua_stack_yielding;
	stack_doubt = lua_stack_doubt;
}

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

	for (; vm != NULL; vm = vm->next) {
		const struct coroutine *const main = lua_vm_find(vm->main);

		if (vm->lib == lib && main && main->vm == vm)
			break;
	}
	return vm;
}

struct coroutine *lua_vm_born(lua_State *L, struct lua_lib *lib, int interposed)
{
	struct coroutine *const co = lua_vm_object(L);
	struct lua_vm *const vm = memory_get(sizeof(*vm));
	struct thread_state *s;

	if (!co || !vm)
		return NULL;
	vm->lib = lib;
	vm->main = L;
	vm->interposed = interposed;
	vm->holder = co;
	settle(co, vm, 0);
	enlist(vm);
	if (!lib->abi) {
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_UNKNOWN);
		return co;
	}
	serve_native_side();
	vm->family = lib->abi->family(&lib->api, L);
	vm->peek = try_layout(lib);
	vm->serial = atomic_fetch_add(&process_pool->next_vm, 1);
	atomic_fetch_add(&process_slot->vms, 1);
	s = thread_acquire((uint64_t)__builtin_frame_address(0));
	if (s) {
		lua_vm_name(s, vm);
		thread_release(s);
	}
	return co;
}

/* A new lua_State runs its creator's hook. */
static struct coroutine *child(lua_State *L, const struct coroutine *from)
{
	struct coroutine *const co = lua_vm_object(L);

	if (!co)
		return NULL;
	settle(co, from->vm, BROKEN(recycle) && has_serial(co) ? co->serial :
	       LUA_UNBORN);
	co->app_hook = from->app_hook;
	co->app_mask = from->app_mask;
	co->app_count = from->app_count;
	co->hooked = from->hooked;
	return co;
}

void lua_vm_thread_made(lua_State *L, const struct coroutine *from,
			uint64_t sp)
{
	struct coroutine *const co = child(L, from);
	struct thread_state *s;

	if (!co || from->vm->serial == 0)
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	lua_vm_create(s, co, thread_clock(s));
	thread_release(s);
}

struct coroutine *lua_vm_thread_met(lua_State *L, const struct coroutine *main)
{
	struct coroutine *const co = child(L, main);

	if (co)
		co->hooked = 1;
	return co;
}

/* ------------------------------------------------------------- the hook */

/* The same in every Lua. */
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

void lua_vm_hook_again(const struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;

	((sethook_fn *)lib->api.lua_sethook)(
		co->L, (co->app_mask & (MASK_CALL | MASK_RET)) != 0 ?
		lib->abi->shared_hook : co->vm->peek ? lib->abi->hook :
		lib->abi->asking_hook, mask_for(co), co->app_count);
}

static int is_ours(const struct lua_abi *abi, weft_lua_function hook)
{
	return hook == abi->hook || hook == abi->shared_hook ||
	       hook == abi->asking_hook;
}

void lua_vm_hook(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const weft_lua_function old = ((gethook_fn *)api->lua_gethook)(co->L);

	co = lua_vm_holder(co);
	if (!is_ours(co->vm->lib->abi, old)) {
		co->app_hook = old;
		co->app_mask = !old ? 0 :
			((number_fn *)api->lua_gethookmask)(co->L);
		co->app_count = !old ? 0 :
			((number_fn *)api->lua_gethookcount)(co->L);
		lua_vm_hook_again(co);
	}
	if (!co->hooked)
		lua_func_unseen();
	co->hooked = 1;
	if (co->vm->lib->abi->is_jit)
		lua_jit_stop(co->vm);
}

void lua_vm_unhook(struct coroutine *co)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;

	co = lua_vm_holder(co);
	((sethook_fn *)api->lua_sethook)(co->L, co->app_hook, co->app_mask,
					 co->app_count);
	co->hooked = 0;
	if (co->vm->lib->abi->is_jit)
		lua_jit_restore(co->vm);
}

int lua_vm_status(const struct coroutine *co)
{
	return ((number_fn *)co->vm->lib->api.lua_status)(co->L);
}
