/* jit.c - the compiler off and on, and what the program wanted meanwhile.
 * Hooks with the compiler on would see all, too, but leave the program's loops
 * marked as not worth compiling for good.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/jit.h"

/* luajit.h's numbers, the same since 2.0. */
enum { MODE_MASK = 0xff, MODE_ENGINE = 0, MODE_WRAPCFUNC = 0x10,
       MODE_OFF = 0, MODE_ON = 0x100, MODE_FLUSH = 0x200 };

typedef int setmode_fn(lua_State *, int, int);

static void set(const struct lua_vm *vm, int mode)
{
	setmode_fn *const real = (setmode_fn *)vm->lib->api.luaJIT_setmode;

	if (real)
		real(vm->main, 0, MODE_ENGINE | mode);
}

/* The trace says whether it was on. */
static void tell(const struct lua_vm *vm)
{
	struct thread_state *const s =
		thread_acquire((uint64_t)__builtin_frame_address(0));

	if (!s)
		return;
	lua_vm_name_again(s, vm);
	thread_release(s);
}

void lua_jit_stop(struct lua_vm *vm)
{
	if (vm->lib->abi->wrap && !vm->own_wrapper)
		vm->lib->abi->wrap(vm, 1);
	if (!vm->jit_on || vm->jit_stopped)
		return;
	vm->jit_stopped = 1;
	set(vm, MODE_OFF);
	set(vm, MODE_FLUSH);
	tell(vm);
}

void lua_jit_restore(struct lua_vm *vm)
{
	if (vm->lib->abi->wrap && !vm->own_wrapper)
		vm->lib->abi->wrap(vm, 0);
	if (!vm->jit_stopped)
		return;
	vm->jit_stopped = 0;
	if (vm->jit_on)
		set(vm, MODE_ON);
}

void lua_jit_opened(struct lua_vm *vm)
{
	vm->jit_on = 1;
	if (vm->holder->hooked)
		lua_jit_stop(vm);
}

void lua_jit_hold(const struct lua_vm *vm)
{
	if (vm->jit_stopped && !vm->lib->map)
		set(vm, MODE_OFF);
}

int lua_jit_wants(struct lua_vm *vm, int mode)
{
	if ((mode & MODE_MASK) == MODE_WRAPCFUNC)
		vm->own_wrapper = (mode & MODE_ON) != 0;
	if ((mode & MODE_MASK) != MODE_ENGINE || (mode & MODE_FLUSH) != 0)
		return 0;
	vm->jit_on = (mode & MODE_ON) != 0;
	if (!vm->holder->hooked)
		return 0;
	if (vm->jit_on)
		lua_jit_stop(vm);
	return vm->jit_stopped; /* attached: it may run, and must then go */
}
