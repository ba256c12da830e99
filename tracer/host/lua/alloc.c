/* alloc.c - SPDX-License-Identifier: MIT */
#include "tracer/host/lua/alloc.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/base/kernel.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/thread/shadow_stack.h"
#include "tracer/host/thread/zone.h"

typedef heap_alloc_fn *get_fn(lua_State *, void **);
typedef void set_fn(lua_State *, heap_alloc_fn *, void *);

void *lua_alloc_function(const struct lua_lib *lib, const char *name)
{
	struct dynamic d;

	return lib->home && dynamic_read(&d, lib->home) ?
	       dynamic_find(&d, name) : NULL;
}

/* While a VM is closed. What LuaJIT gives back last of all that we have seen is
 * the stack. */
static void *closing(void *data, void *p, size_t size, size_t wanted)
{
	struct lua_vm *const vm = data;
	set_fn *set;

	if (wanted == 0 &&
	    (uint64_t)p == vm->lib->abi->stack_of((uint64_t)vm->main)) {
		set = (set_fn *)lua_alloc_function(vm->lib, "lua_setallocf");
		if (set)
			set(vm->main, vm->alloc.function, vm->alloc.data);
	}
	return heap_alloc_call(&vm->alloc, p, size, wanted);
}

/* Where nobody tells that VMs are closed, as in an interpreter, each of them
 * leaves some memory: one may. */
static bool may_lead(const struct lua_vm *vm)
{
	return mapped_view.heap != 0 && !mapped_view.attached &&
	       vm->lib->abi && vm->lib->abi->stack_of && vm->by_layout &&
	       (vm->interposed || !vm->lib->alloc_led);
}

/* ----------------------------------------------------------- the collector */

static uint8_t white_of(const struct lua_vm *vm)
{
	return vm->lib->abi->white((uint64_t)vm->main - vm->lib->main_at +
				   vm->lib->white_at);
}

/* The VM that runs on this thread, below what native functions are open. */
static struct lua_vm *find_running(const struct thread_state *s, uint64_t sp)
{
	enum { STEPS = 32 };
	const struct lua_running *const r = &lua_running;
	const uint32_t depth = shadow_depth(s);
	const struct frame *f = s->top - 1;
	const struct frame *const end = f - (depth < STEPS ? depth : STEPS);
	const struct coroutine *co;
	lua_State *L = NULL;

	if (lua_may_be_sampled() && sp < r->sp && r->stack == lua_vm_stack(s))
		L = (lua_State *)r->L;
	if (!L && !lua_is_sampled()) {
		while (f > end && (!frame_is_lua(f) || zone_is(f->key)))
			f--;
		if (f > end)
			L = (lua_State *)f->site;
	}
	co = lua_co_served(L);
	return co ? co->vm : NULL;
}

/* Nobody may have told that it was closed. */
static bool is_there(const struct lua_vm *vm)
{
	return vm->interposed ||
	       kernel_can_read((const void *)((uint64_t)vm->main -
				vm->lib->main_at + vm->lib->white_at));
}

/* One that is being closed shows both. */
static void look(struct thread_state *s, uint64_t sp)
{
	struct lua_vm *const vm = find_running(s, sp);
	uint64_t serial;
	uint8_t white;

	if (!vm || vm->white == 0 || vm->closing || !is_there(vm))
		return;
	white = white_of(vm);
	if (white == vm->white || (white & (white - 1)) != 0)
		return;
	vm->white = white;
	serial = vm->serial;
	chunk_need(s, 2 + 1);
	lua_vm_name(s, vm); /* in the chunk that the record goes to */
	chunk_put_with(s, rec_put(REC_HEAP, HEAP_COLLECTED,
				  chunk_gap(s, chunk_clock(s))), &serial, 1);
}

static void begin_looking(struct lua_vm *vm)
{
	vm->white = mapped_view.heap != 0 && vm->by_layout &&
		    vm->lib->white_at != 0 ? white_of(vm) : 0;
	if (vm->white != 0)
		thread_upcalls.lua_collected = look;
}

/* --------------------------------------------------------------- LuaJIT's */

/* LuaJIT's own has its state at the begin of pages, behind a chunk's head
 * (lj_alloc_create). Others are the program's, which may call malloc, and that
 * of a LuaJIT that was built to call malloc, which has no state. */
static bool is_luajits(const struct heap_alloc *a)
{
	return a->data && ((uintptr_t)a->data & 4095) == 2 * sizeof(size_t);
}

void lua_alloc_lead(struct lua_vm *vm)
{
	get_fn *const get = !may_lead(vm) ? NULL :
			    (get_fn *)lua_alloc_function(vm->lib,
							 "lua_getallocf");
	set_fn *const set = !get ? NULL :
			    (set_fn *)lua_alloc_function(vm->lib,
							 "lua_setallocf");
	struct heap_alloc its;

	begin_looking(vm);
	if (!set)
		return;
	its.function = get(vm->main, &its.data);
	if (!is_luajits(&its) ||
	    dynamic_module_at((void *)its.function) != vm->lib->home)
		return;
	vm->alloc = its;
	set(vm->main, heap_alloc_call, &vm->alloc);
	vm->lib->alloc_led = true;
}

void lua_alloc_closing(struct lua_vm *vm)
{
	get_fn *const get = !vm->alloc.function ? NULL :
			    (get_fn *)lua_alloc_function(vm->lib,
							 "lua_getallocf");
	set_fn *const set = !get ? NULL :
			    (set_fn *)lua_alloc_function(vm->lib,
							 "lua_setallocf");
	void *data;

	if (set && get(vm->main, &data) == heap_alloc_call)
		set(vm->main, closing, vm);
}
