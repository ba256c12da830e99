/* turn.c - see the header. A chunk begins with what holds from then on.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/turn.h"
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua/sample.h"

#include <errno.h>

static void begin_chunk(void)
{
	struct thread_state *const s = thread_acquire(HERE);

	if (!s)
		return;
	chunk_switch(s, 0);
	thread_release(s);
}

bool lua_turn_sampled(struct coroutine *co, uint64_t sp)
{
	struct lua_vm *const vm = co->vm;
	struct thread_state *const s = !lua_sample_may(vm) ? NULL :
				       thread_acquire(sp);

	if (!s) {
		vm->wanted = vm->turned; /* until the recorder asks again */
		return false;
	}
	lua_sample_turns(s, vm);
	thread_release(s);
	vm->turned = true;
	lua_co_turned(vm);
	lua_hook_set(co);
	begin_chunk();
	return true;
}

/* Has L no open call? */
static bool is_idle(const struct lua_vm *vm, lua_State *L)
{
	return vm->lib->abi->innermost(&vm->lib->api, L, false).id == 0;
}

void lua_turn_exact(const struct coroutine *co)
{
	struct lua_vm *const vm = co->vm;
	struct coroutine *const main = lua_co_find(vm->main);
	const int saved = errno;

	if (main && vm->turned && vm->interposed && !vm->closing &&
	    lua_vm_is_to_turn(vm) && lua_hook_is_on() &&
	    is_idle(vm, vm->main)) {
		vm->turned = false;
		lua_co_turned(vm);
		begin_chunk(); /* the one before is a sampled state's */
		lua_hook_set(main);
	}
	errno = saved;
}
