/* call_scope.h - what is done before and after the library's own functions,
 * when they are called through ours. None of it busy.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_CALL_SCOPE_H
#define WEFT_TRACER_HOST_LUA_CALL_SCOPE_H

#include "tracer/host/lua/vm.h"

/* Around the library's lua_resume. */
struct lua_entry {
	struct coroutine *co; /* NULL: nothing was put onto the thread */
	uint64_t serial;
	uint32_t segments;    /* as in struct shadow_mark */
	lua_State *resumer;   /* state.lua_plain before, */
	const struct thread_state *on; /* of this one */
};
void lua_around_resume(struct lua_entry *e, struct coroutine *co, uint64_t sp);
void lua_around_suspend(const struct lua_entry *e, int status, uint64_t sp);

/* Around a call on co that returns here whatever happened in it. */
struct shadow_mark lua_around_mark(struct coroutine *co, uint64_t sp);
void lua_around_cut(const struct coroutine *co, struct shadow_mark m,
		    int failed, uint64_t sp);

/* co was closed or reset, or its VM was. */
void lua_around_closed(struct coroutine *co, uint64_t sp);

#endif
