/* call_scope.h - what is done before and after the library's own functions when
 * they are called through ours. Not busy. sp: the caller's frame address.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/coroutine.h"
#include "tracer/host/thread/thread.h"

/* A lua_resume of co, from begin to end; status: what lua_resume returned, or
 * lua_status then. */
struct resume_scope {
	struct coroutine *co; /* NULL: nothing was put on the thread */
	uint64_t serial;
	uint32_t segments;    /* as in struct shadow_mark */
	lua_State *resumer;   /* lua_plain before, */
	const struct thread_state *on; /* of this thread state */
};
void resume_scope_begin(struct resume_scope *r, struct coroutine *co,
			uint64_t sp);
void resume_scope_end(const struct resume_scope *r, int status, uint64_t sp);

/* A call on a main state begins: notes it, since a jump may end it. (A jump out
 * of a coroutine ends its resume.) Returns what vm->open was and will be when
 * it returns. What stands there with a lower stack pointer was jumped out of
 * unseen. */
INLINE uint32_t call_scope_note(const struct coroutine *co, uint64_t sp)
{
	const struct thread_state *const s = thread_self;
	struct lua_vm *const vm = co->vm;
	uint32_t open = vm->open;

	if (unlikely(!s))
		return open;
	while (open > 0 && vm->call[open - 1].sp <= sp &&
	       vm->call[open - 1].stack == lua_vm_stack(s))
		open--;
	if (open < LUA_CALLS_NOTED) {
		vm->call[open] = (struct lua_noted_call){
			sp, lua_vm_stack(s), shadow_mark(s),
		};
		vm->open = open + 1;
	}
	return open;
}

/* A call on co that returns to here whatever happens in it. failed: an error
 * ended it. */
struct call_scope {
	struct shadow_mark mark;
	uint32_t open;
};
struct call_scope call_scope_begin(struct coroutine *co, uint64_t sp);
void call_scope_end(struct coroutine *co, struct call_scope c, bool failed,
		    uint64_t sp);

/* co is being closed or reset: it has nothing open any more, and what runs on
 * it is called by who closes it. Until it was closed, or its VM was. */
void call_scope_closing(struct coroutine *co, uint64_t sp);
void call_scope_closed(struct coroutine *co, uint64_t sp);
