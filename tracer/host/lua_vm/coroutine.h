/* coroutine.h - the lua_States of the program, main states and coroutines.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/vm.h"
#include "tracer/host/thread/zone.h"

/* The object of L, NULL if nothing that we know lives there. Hook-safe. */
struct coroutine *lua_co_find(lua_State *L);

/* The same, if it may have a hook of ours: of a version that is recorded, not
 * detached. L may be NULL. Hook-safe. */
struct coroutine *lua_co_served(lua_State *L);

/* Nothing was recorded for a while: where VMs are found by their calls, an
 * address may belong to another VM by now. is_blind: in that time, no call has
 * come to this library. Hook-safe. */
void lua_co_forget(bool is_blind);
/* How often that was. */
extern HIDDEN _Atomic uint32_t lua_co_forgot;
/* The object of L, forgotten or not; NULL: nothing that we knew lived there. */
struct coroutine *lua_co_forgotten(const lua_State *L);

/* vm comes to be sampled: its open calls are no longer followed. Or each call
 * is recorded again: where its coroutines stand is not known, nor have they our
 * hook. */
void lua_co_turned(const struct lua_vm *vm);

/* How many objects were made. */
extern HIDDEN _Atomic uint32_t lua_co_objects;

/* L is the main state of a new VM, whose vm the caller sets. NULL: no
 * memory. */
struct coroutine *lua_co_main(lua_State *L);

/* L was made by lua_newthread on from; inherits its hook. */
void lua_co_made(lua_State *L, const struct coroutine *from, uint64_t sp);

/* The same of a VM that is not known: whoever lived there before is gone. */
void lua_co_unknown(const lua_State *L);

/* An event came from L, a coroutine of main's VM that nobody saw being made.
 * NULL: no memory, or the table is full. */
struct coroutine *lua_co_met(lua_State *L, const struct coroutine *main);

/* What runs on co next is a coroutine of its own: give it a serial and write
 * CREATE. Busy. */
void lua_co_create(struct thread_state *s, struct coroutine *co, uint64_t now);

INLINE bool lua_co_has_serial(const struct coroutine *co)
{
	return co->serial != 0 && co->serial != LUA_UNBORN;
}

/* Was it on a thread since its birth was seen? */
INLINE bool lua_co_has_run(const struct coroutine *co)
{
	return co->window != UINT32_MAX;
}

/* The object whose app_hook and hooked are right for co. */
INLINE struct coroutine *lua_co_holder(struct coroutine *co)
{
	return co->vm->lib->abi && co->vm->lib->abi->is_jit ?
	       co->vm->holder : co;
}

/* lua_status, but LUA_OK (0) of what runs on in a message handler, too. L must
 * be readable. */
int lua_co_status(const struct coroutine *co);

/* The invariants of a lua_State of a known VM, between its events: what it
 * keeps are settled frames of its own. */
bool lua_co_valid(const struct coroutine *co);

/* Is this a frame of a call of that VM's, and of no native one as well? A
 * zone's is none: who began it ends it. */
INLINE bool lua_co_is_vms(const struct lua_vm *vm, const struct frame *f)
{
	const struct coroutine *const co =
		!frame_is_lua(f) || f->absorbed != FRAME_NONE_ABSORBED ||
		zone_is(f->key) ? NULL :
		lua_co_find((lua_State *)f->site);

	return co && co->vm == vm;
}

/* Is this a frame of that coroutine's own? */
INLINE bool lua_co_owns(const struct coroutine *co, const struct frame *f)
{
	return f->site == (uint64_t)co->L && frame_is_lua(f);
}
