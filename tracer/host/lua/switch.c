/* switch.c - coroutines' stacks taken off the thread, kept, and put onto
 * whichever runs them next. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/unwind.h"
#include "tracer/host/base/memory.h"

#include <string.h>

/* ----------------------------------------------------- off the thread */

static int keep_room(struct coroutine *co, uint32_t count)
{
	uint32_t room = co->room == 0 ? 8 : co->room;
	struct frame *kept;

	if (count <= co->room)
		return 1;
	while (room < count)
		room *= 2;
	kept = memory_get(room * sizeof(*kept));
	if (!kept)
		return 0;
	co->kept = kept;
	co->room = room;
	return 1;
}

/* A lua_State carries its own frames only: a yield ends the native calls among
 * them, though the reader, who saw them open, must be told at the resume. */
static void keep(const struct thread_state *s, struct coroutine *co,
		 const struct frame *from, uint32_t count, uint64_t now)
{
	uint32_t n = 0;

	co->since = now;
	co->thread = s->thread_serial;
	co->level = s->level;
	co->epoch = s->epoch;
	co->window = s->window;
	co->keeps = keep_room(co, count);
	if (BROKEN(yield))
		count = 0;
	for (uint32_t i = 0; co->keeps && i < count; i++) {
		if (!lua_stack_is_of(&from[i], co))
			continue;
		co->kept[n] = from[i];
		frame_settle(&co->kept[n]);
		co->kept[n++].absorbed = FRAME_NONE_ABSORBED;
	}
	co->gapped = n != count;
	co->count = n;
}

/* Take the topmost segment off. */
void lua_stack_detach(struct thread_state *s, uint32_t flags, uint64_t now)
{
	struct coroutine *const co = shadow_segment(s)->owner;
	const uint64_t serial = shadow_segment(s)->serial;
	uint32_t count;
	const struct frame *const from = shadow_detach(s, flags, &count, now);

	s->lua_plain = NULL; /* another lua_State runs from here on */
	if (!co || co->serial != serial)
		return; /* someone else lives at its address by now */
	if ((flags & SUSPEND_REASON) == SUSPEND_YIELD) {
		keep(s, co, from, count, now);
		return;
	}
	co->keeps = 0;
	co->count = 0;
	/* What a host only calls on a lua_State, without resuming it, goes on
	 * being one coroutine; where that cannot be told, each activation is
	 * a new one. */
	co->ended = !(flags & SUSPEND_INFERRED) || !co->vm->interposed;
}

static int readable(const struct coroutine *co)
{
	return co->vm && memory_readable(co->L);
}

/* Has co, which runs, no call open? Where C functions' returns are not told,
 * its frames do not tell. */
static int is_done(const struct coroutine *co)
{
	const struct lua_abi *const abi = co->vm->lib->abi;

	return abi->is_jit && abi->innermost(&co->vm->lib->api, co->L,
					     co->vm->peek).id == 0;
}

void lua_stack_off(struct thread_state *s, uint64_t now)
{
	const struct segment *const g = shadow_segment(s);
	const struct coroutine *const co = g->owner;
	uint32_t why = shadow_depth(s) == 0 ? SUSPEND_RETURN : SUSPEND_ERROR;
	int status;

	if (co && co->serial == g->serial && readable(co)) {
		status = lua_vm_status(co);
		if (status == LUA_STATUS_YIELD)
			why = SUSPEND_YIELD;
		else if (status == LUA_STATUS_OK && is_done(co))
			why = SUSPEND_RETURN;
	}
	if (why != SUSPEND_YIELD)
		lua_stack_end_late(s, 0, now);
	lua_stack_detach(s, why | SUSPEND_INFERRED, now);
}

int lua_stack_yielding(const struct thread_state *s)
{
	const struct segment *const g = &s->segment[s->segments - 1];
	const struct coroutine *const co = g->owner;

	return co && co->serial == g->serial && co->vm &&
	       lua_vm_status(co) == LUA_STATUS_YIELD;
}

/* An error has been caught by a lua_State whose next event is yet to come. */
void lua_stack_doubt(struct thread_state *s, uint64_t now)
{
	lua_State *const L = (lua_State *)s->top[-1].site;
	const struct coroutine *const co = lua_vm_find(L);
	struct lua_caller c;

	if (!co || !co->vm->lib->abi || !readable(co) ||
	    BROKEN(pcall))
		return;
	c = co->vm->lib->abi->innermost(&co->vm->lib->api, L, co->vm->peek);
	lua_stack_heal(s, co, &c, now);
}

void lua_stack_body_ended(struct thread_state *s, uint64_t now)
{
	if (s->segments > 1 && shadow_segment(s)->inferred)
		lua_stack_detach(s, SUSPEND_RETURN | SUSPEND_INFERRED, now);
}

/* A segment whose resume was not seen has no end that is seen: has it gone off
 * the thread since its last event? */
static int is_off(struct thread_state *s)
{
	const struct segment *const g = shadow_segment(s);
	const struct coroutine *const co = g->owner;

	return s->segments > 1 && g->inferred &&
	       (!co || co->serial != g->serial || shadow_depth(s) == 0 ||
		!readable(co) || lua_vm_status(co) != LUA_STATUS_OK ||
		is_done(co));
}

/* ------------------------------------------------------- onto the thread */

int lua_stack_is_on(const struct thread_state *s, const struct coroutine *co)
{
	for (uint32_t i = s->segments; i-- > 1;) {
		if (s->segment[i].serial == co->serial)
			return 1;
	}
	return 0;
}

int lua_stack_has_kept(const struct thread_state *s, const struct coroutine *co)
{
	return co->keeps && co->window == s->window;
}

int lua_stack_needs_walk(const struct thread_state *s,
			 const struct coroutine *co)
{
	if (co->serial == 0)
		return co->window != s->window && s->base_unknown;
	return !lua_stack_is_on(s, co) && !lua_stack_has_kept(s, co);
}

/* The main state's calls that were open when recording began, found now: they
 * lie under all that this thread has called since. */
static void seed(struct thread_state *s, const struct frame *walked,
		 uint32_t count)
{
	struct frame *bottom;

	while ((size_t)(s->frame_limit - s->top) <= count) {
		if (!shadow_grow(s))
			return;
	}
	bottom = s->frames + s->segment[0].base;
	memmove(bottom + count, bottom, (size_t)(s->top - bottom) *
					sizeof(*bottom));
	memcpy(bottom, walked, count * sizeof(*bottom));
	s->top += count;
	/* Only a chunk that starts afresh can say so. */
	chunk_switch(s, CHUNK_GAP);
}

static void seat_main(struct thread_state *s, struct coroutine *co,
		      const struct frame *walked, uint32_t count, uint64_t now)
{
	while (is_off(s))
		lua_stack_off(s, now);
	if (co->window == s->window)
		return;
	co->window = s->window;
	lua_vm_name(s, co->vm);
	if (count > 0 && s->segments == 1 && s->base_unknown)
		seed(s, walked, count);
}

void lua_stack_attach(struct thread_state *s, struct coroutine *co,
		      const struct frame *walked, uint32_t count, uint64_t sp,
		      uint32_t flags, uint64_t now)
{
	const int has = lua_stack_has_kept(s, co);
	uint64_t slept = 0;
	int given = 1;

	chunk_need(s, RECORD_SLACK - 2); /* so that the epoch stays */
	if (has) {
		walked = co->kept;
		count = co->count;
		slept = now > co->since ? now - co->since : 0;
		given = co->gapped || co->thread != s->thread_serial ||
			co->level != s->level || co->epoch != s->epoch;
		if (BROKEN(migrate) && co->thread != s->thread_serial)
			count = 0;
	} else if (count == 0 && flags == 0) {
		given = 0; /* its first resume */
	}
	shadow_attach(s, co->serial, co, walked, count, slept, given, sp, flags,
		      now);
	co->keeps = 0;
	co->window = s->window;
	s->lua_plain = NULL; /* another lua_State runs from here on */
}

/* Hooks alone cannot tell a recycled lua_State: there every call that nothing
 * on it makes begins a coroutine. */
static void renew(struct thread_state *s, struct coroutine *co, uint64_t now)
{
	if (shadow_segment(s)->serial == co->serial)
		lua_stack_off(s, now);
	co->keeps = 0;
	co->ended = 1;
}

/* Was its resume told, so that what it calls first is no new coroutine? */
static int is_announced(const struct thread_state *s,
			const struct coroutine *co)
{
	for (uint32_t i = s->segments; i-- > 0;) {
		if (s->segment[i].serial == co->serial)
			return !s->segment[i].inferred;
	}
	return 0;
}

void lua_stack_seat(struct thread_state *s, struct coroutine *co,
		    const struct frame *walked, uint32_t count, int fresh,
		    uint64_t sp, uint64_t now)
{
	if (co->serial == 0) {
		seat_main(s, co, walked, count, now);
		return;
	}
	if (fresh && !co->vm->interposed && !is_announced(s, co))
		renew(s, co, now);
	if (lua_stack_is_on(s, co)) {
		while (shadow_segment(s)->serial != co->serial && is_off(s))
			lua_stack_off(s, now);
		return; /* if not on top, it is called from within what is */
	}
	while (is_off(s))
		lua_stack_off(s, now);
	if (co->serial == LUA_UNBORN || co->ended)
		lua_vm_create(s, co, now);
	lua_stack_attach(s, co, walked, count, sp + LUA_HOOK_DEPTH,
			 RESUME_INFERRED, now);
}
