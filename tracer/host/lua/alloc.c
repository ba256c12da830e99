/* alloc.c - SPDX-License-Identifier: MIT */
#include "tracer/host/lua/alloc.h"
#include "tracer/host/base/dynamic.h"
#include "tracer/host/lua/library.h"

typedef heap_alloc_fn *get_fn(lua_State *, void **);
typedef void set_fn(lua_State *, heap_alloc_fn *, void *);

void *lua_alloc_function(const struct lua_lib *lib, const char *name)
{
	struct dynamic d;

	return lib->home && dynamic_read(&d, lib->home) ?
	       dynamic_find(&d, name) : NULL;
}

static void put_back(struct lua_vm *vm)
{
	set_fn *const set = (set_fn *)lua_alloc_function(vm->lib,
							 "lua_setallocf");

	vm->alloc_closes = false;
	if (set)
		set(vm->main, vm->alloc.function, vm->alloc.data);
}

/* What LuaJIT gives back last of all that we have seen is the stack. */
static void *ours(void *data, void *p, size_t size, size_t wanted)
{
	struct lua_vm *const vm = data;

	if (unlikely(vm->alloc_closes) && wanted == 0 &&
	    (uint64_t)p == vm->lib->abi->stack_of((uint64_t)vm->main))
		put_back(vm);
	return heap_alloc_call(&vm->alloc, p, size, wanted,
			       __builtin_return_address(0), HERE);
}

/* Where nobody tells that VMs are closed, as in an interpreter, each of them
 * leaves some memory: one may. */
static bool may_lead(const struct lua_vm *vm)
{
	return mapped_view.heap != 0 && !mapped_view.attached &&
	       vm->lib->abi && vm->lib->abi->stack_of && vm->by_layout &&
	       (vm->interposed || !vm->lib->alloc_led);
}

/* Not an allocator of the program's, which may take its memory from malloc. */
void lua_alloc_lead(struct lua_vm *vm)
{
	get_fn *const get = !may_lead(vm) ? NULL :
			    (get_fn *)lua_alloc_function(vm->lib,
							 "lua_getallocf");
	set_fn *const set = !get ? NULL :
			    (set_fn *)lua_alloc_function(vm->lib,
							 "lua_setallocf");
	struct heap_alloc its;

	if (!set)
		return;
	its.function = get(vm->main, &its.data);
	if (its.function == ours ||
	    dynamic_module_at((void *)its.function) != vm->lib->home)
		return;
	vm->alloc = its;
	vm->alloc_closes = false;
	set(vm->main, ours, vm);
	vm->lib->alloc_led = true;
}

void lua_alloc_closing(struct lua_vm *vm)
{
	get_fn *const get = !vm->alloc.function ? NULL :
			    (get_fn *)lua_alloc_function(vm->lib,
							 "lua_getallocf");
	void *data;

	vm->alloc_closes = get && get(vm->main, &data) == ours;
}
