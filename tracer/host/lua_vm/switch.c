/* switch.c - coroutines' stacks are taken off the thread, kept, and put onto
 * whichever thread runs them next. SPDX-License-Identifier: MIT */
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/base/memory.h"

/* Between the stack pointer of a hook and the frame of whoever called into Lua:
 * native calls that Lua makes lie below a hook's stack pointer plus this, those
 * made after it has returned above. Each distance is several hundred bytes more
 * or less. */
enum { LUA_HOOK_DEPTH = 512 };

/* The hook of the first call that Lua makes lies less far below the call of
 * Lua, unless they are on different stacks. */
enum { LUA_FIRST_DEPTH = 4096 };

/* Is this segment co's, as co is now? Someone else may live at its address. */
static bool is_of(const struct segment *g, const struct coroutine *co)
{
	return co && co->serial == g->serial;
}

/* ---------------------------------------------------------- off the thread */

/* The old room is lost, which is why it doubles. */
static bool keep_room(struct coroutine *co, uint32_t count)
{
	struct frame *kept;

	if (likely(count <= co->room)) /* true of nearly every switch */
		return true;
	kept = memory_grow(co->kept, &co->room, count, sizeof(*kept));
	if (kept)
		co->kept = kept;
	return kept;
}

void lua_switch_detach(struct thread_state *s, uint32_t flags, uint64_t now)
{
	/* It stays as it is until the next one is put on. */
	const struct segment *const g = shadow_segment(s);
	struct coroutine *const co = g->owner;
	uint32_t count;
	const struct frame *const from = shadow_detach(s, flags, &count, now);

	s->lua_plain = NULL; /* another lua_State runs from here on */
	if (!is_of(g, co))
		return;
	if ((flags & SUSPEND_REASON) == SUSPEND_YIELD) {
		lua_switch_keep(s, co, g, now);
		co->keeps = keep_room(co, count);
		lua_switch_keep_frames(co, from, !co->keeps || BROKEN(yield) ?
				       0 : count);
		CHECKED(!co->vm || lua_co_valid(co));
		return;
	}
	co->keeps = false;
	co->count = 0;
	/* A lua_State that a host only calls, without resuming it, goes on
	 * being one coroutine; where that cannot be told, each activation is
	 * a new one. */
	co->ended = !(flags & SUSPEND_INFERRED) || !co->vm->interposed;
}

/* The coroutine may have been collected, and its memory unmapped. */
static bool is_readable(const struct coroutine *co)
{
	return co->vm && kernel_can_read(co->L);
}

/* Has co, whose status is that of one that runs, no call open? The shadow stack
 * does not say it where returns are untold, nor where an error has ended co and
 * coroutine.wrap has closed it since, in 5.4. It must be readable. */
static bool is_empty(const struct coroutine *co)
{
	const struct lua_lib *const lib = co->vm->lib;

	return lib->abi->innermost(&lib->api, co->L,
				   co->vm->by_layout).id == 0;
}

/* The program may call a coroutine that has yielded, whose status stays as it
 * is. *count: the frames that sleep under such a call, or under the last one if
 * that has ended; 0: there was none. */
static bool is_called(struct thread_state *s, const struct coroutine *co,
		      uint32_t *count)
{
	const struct frame *const f = s->frames + shadow_segment(s)->base +
				      co->asleep - 1;
	const struct lua_abi *const abi = co->vm->lib->abi;

	*count = co->asleep != 0 && shadow_depth(s) >= co->asleep &&
		 f->ret == co->asleep_id && f->key == co->asleep_key ?
		 co->asleep : 0;
	return *count != 0 &&
	       abi->innermost(&co->vm->lib->api, co->L,
			      co->vm->by_layout).id != co->asleep_id;
}

enum { STATUS_GONE = -1 };

/* The status of g's coroutine; STATUS_GONE if it is no more. Whether its memory
 * is there takes a system call, unless it is held. */
static int status_of(const struct segment *g, uint64_t held)
{
	const struct coroutine *const co = g->owner;

	return is_of(g, co) && ((co->vm && (uint64_t)co->L == held) ||
				is_readable(co)) ?
	       lua_co_status(co) : STATUS_GONE;
}

/* Takes the topmost coroutine off, whose status is known. */
static void detach_as(struct thread_state *s, int status, uint64_t now)
{
	const struct segment *const g = shadow_segment(s);
	const struct coroutine *const co = g->owner;
	uint32_t why = g->inferred && shadow_depth(s) == 0 ? SUSPEND_RETURN :
		       SUSPEND_ERROR;
	uint32_t count = 0;

	if (status == LUA_STATUS_YIELD) {
		if (!is_called(s, co, &count) && count != 0)
			lua_unwind_above(s, count, now);
		why = SUSPEND_YIELD;
	} else if (status == LUA_STATUS_OK && co->vm->lib->abi->is_jit &&
		   is_empty(co)) {
		why = SUSPEND_RETURN;
	}
	if (why != SUSPEND_YIELD)
		lua_unwind_above(s, 0, now);
	lua_switch_detach(s, why | SUSPEND_INFERRED, now);
}

void lua_switch_detach_unseen(struct thread_state *s, uint64_t now)
{
	detach_as(s, status_of(shadow_segment(s), 0), now);
}

void lua_switch_body_ended(struct thread_state *s, uint64_t now)
{
	if (s->segments > 1 && shadow_segment(s)->inferred)
		lua_switch_detach(s, SUSPEND_RETURN | SUSPEND_INFERRED, now);
}

bool lua_switch_is_yielding(struct thread_state *s)
{
	const struct segment *const g = shadow_segment(s);
	const struct coroutine *const co = g->owner;
	uint32_t count;

	if (!is_of(g, co) || !co->vm)
		return false;
	if (likely(co->asleep == 0))
		return lua_co_status(co) == LUA_STATUS_YIELD;
	return lua_co_status(co) == LUA_STATUS_YIELD &&
	       !is_called(s, co, &count);
}

/* An error has been caught by a lua_State whose next event is yet to come. */
void lua_switch_resolve_doubt(struct thread_state *s, uint64_t now)
{
	lua_State *const L = (lua_State *)s->top[-1].site;
	const struct coroutine *const co = lua_co_find(L);
	struct lua_caller c;

	if (!co || !co->vm || !co->vm->lib->abi || !is_readable(co) ||
	    BROKEN(pcall))
		return;
	c = co->vm->lib->abi->innermost(&co->vm->lib->api, L,
					co->vm->by_layout);
	lua_unwind_call(s, co, &c, now);
}

/* The outermost call of the VM that a jump to target ends, NULL: none. */
static const struct lua_noted_call *ended(const struct thread_state *s,
					 struct lua_vm *vm, uint64_t target)
{
	const struct lua_noted_call *found = NULL;

	for (; vm->open > 0; vm->open--) {
		const struct lua_noted_call *const c = &vm->call[vm->open - 1];

		if (c->stack != lua_vm_stack(s) || c->sp >= target ||
		    shadow_in_alt(s, c->sp) != shadow_in_alt(s, target))
			break;
		found = c;
	}
	return found;
}

/* The innermost Lua frame, if no native frame above it outlives the jump. */
static const struct frame *innermost(const struct thread_state *s,
				     uint64_t target)
{
	const struct frame *f = s->top;

	while (f > shadow_ground(s) && !frame_is_lua(f - 1)) {
		if (!unwind_is_below(s, --f, target))
			return NULL;
	}
	return f > shadow_ground(s) ? f - 1 : NULL;
}

void lua_switch_jumped(struct thread_state *s, uint64_t target, uint64_t now)
{
	const struct frame *before = NULL, *f;

	while (s->top != before && (f = innermost(s, target)) != NULL) {
		const struct coroutine *const co =
			lua_co_find((lua_State *)f->site);
		const struct lua_noted_call *const c =
			!co || !co->vm ? NULL : ended(s, co->vm, target);

		before = s->top;
		if (c)
			shadow_cut(s, c->mark, UNWIND_JUMP, now);
	}
}

/* Takes the topmost segment off, whose resume was not seen, if it has gone off
 * the thread since its last event: nothing tells its end. */
static bool detach_if_off(struct thread_state *s, uint64_t held, uint64_t now)
{
	const struct segment *const g = shadow_segment(s);
	uint32_t count;
	int status;

	if (s->segments <= 1 || !g->inferred)
		return false;
	status = status_of(g, held);
	if (shadow_depth(s) != 0 &&
	    (status == LUA_STATUS_OK ||
	     (status == LUA_STATUS_YIELD && is_called(s, g->owner, &count))) &&
	    !is_empty(g->owner))
		return false;
	detach_as(s, status, now);
	return true;
}

static void detach_those_off(struct thread_state *s, uint64_t held,
			     uint64_t now)
{
	while (detach_if_off(s, held, now))
		;
}

/* How far calls are followed to one that is known. */
enum { CALLERS = 64 };

/* There was an event on by. Does it show that g, which stands on by's call f,
 * is off the thread? Then f has ended, or goes on while nothing runs on g's
 * coroutine: an error that coroutine.wrap passes on goes past whoever would
 * tell of the end (weft_lua_resumed). */
static bool is_left(const struct thread_state *s, const struct coroutine *by,
		    const struct frame *f, const struct segment *g)
{
	const struct weft_lua_api *const api = &by->vm->lib->api;
	const struct lua_abi *const abi = by->vm->lib->abi;
	const struct coroutine *const co = g->owner;
	struct lua_caller c = abi->innermost(api, by->L, by->vm->by_layout);

	for (int i = 0; i < CALLERS && c.id != 0; i++) {
		c.id = c.above((uint64_t)by->L, c.id);
		if (c.id == f->ret)
			return !g->inferred && is_of(g, co) &&
			       (!is_readable(co) || is_empty(co) ||
				lua_co_status(co) != LUA_STATUS_OK);
		for (const struct frame *o = f; o-- > shadow_ground(s);) {
			if (lua_co_owns(by, o) && o->ret == c.id)
				return true;
		}
	}
	return c.id == 0;
}

/* If nothing runs any more of what stands on by's innermost call, take it off.
 * (LuaJIT's frames move, and its resumes always come to an end.) */
static void detach_those_left(struct thread_state *s,
			      const struct coroutine *by, uint64_t now)
{
	const struct frame *f = s->top - 1;
	uint32_t i = s->segments;

	/* A coroutine that is off the thread has no call here. */
	if (by->vm->lib->abi->is_jit ||
	    (by->serial != 0 && !by->closing && !lua_switch_is_on(s, by)))
		return;
	while (f >= shadow_ground(s) && !lua_co_owns(by, f))
		f--;
	while (i > s->fiber + 1 && s->frames + s->segment[i - 1].base > f)
		i--;
	if (f < shadow_ground(s) || i == s->segments ||
	    !is_left(s, by, f, &s->segment[i]))
		return;
	while (s->segments > i)
		lua_switch_detach_unseen(s, now);
}

/* --------------------------------------------------------- onto the thread */

bool lua_switch_is_on(const struct thread_state *s, const struct coroutine *co)
{
	for (uint32_t i = s->segments; i-- > 1;) {
		if (s->segment[i].serial == co->serial)
			return true;
	}
	return false;
}

bool lua_switch_needs_walk(const struct thread_state *s,
			   const struct coroutine *co)
{
	if (co->serial == 0)
		return co->window != s->window && s->base_unknown;
	if (co->closing)
		return false;
	return !lua_switch_is_on(s, co) && !lua_switch_has_kept(s, co);
}

/* An event on co shows that it runs with these frames: if it has yielded, in a
 * call that stands on them. */
static void note_sleep(struct coroutine *co, const struct frame *has,
		       uint32_t count, uint32_t flags)
{
	co->asleep = 0;
	if (count == 0 || !(flags & RESUME_INFERRED) ||
	    lua_co_status(co) != LUA_STATUS_YIELD)
		return;
	co->asleep = count;
	co->asleep_id = has[count - 1].ret;
	co->asleep_key = has[count - 1].key;
}

void lua_switch_attach(struct thread_state *s, struct coroutine *co,
		       const struct frame *walked, uint32_t count, uint64_t sp,
		       uint32_t flags, uint64_t now)
{
	const bool has = lua_switch_has_kept(s, co);
	struct segment as = { .serial = co->serial, .owner = co, .sp = sp,
			      .inferred = (flags & RESUME_INFERRED) != 0 };
	uint64_t slept = 0;
	bool given = true;

	CHECKED(lua_co_valid(co) && co->serial != 0 &&
		co->serial != LUA_UNBORN);
	chunk_need(s, RECORD_SLACK - 2); /* so that the epoch stays */
	if (has) {
		walked = co->kept;
		count = co->count;
		as.body = co->body;
		slept = now > co->since ? now - co->since : 0;
		given = !lua_switch_was_seen(s, co);
		if (BROKEN(migrate) && co->by != s)
			count = 0;
	} else if (count == 0 && flags == 0) {
		given = false; /* its first resume */
	}
	shadow_attach(s, &as, walked, count, slept, given, flags, now);
	note_sleep(co, walked, count, flags);
	co->keeps = false;
	co->window = s->window;
	lua_vm_seen(s, co->vm);
	s->lua_plain = NULL; /* another lua_State runs from here on */
}

/* A main state has no segment: it runs on whatever stack calls it. */
static void switch_to_main(struct thread_state *s, struct coroutine *co,
			   const struct frame *walked, uint32_t count,
			   uint64_t held, uint64_t now)
{
	detach_those_off(s, held, now);
	if (co->window == s->window)
		return;
	co->window = s->window;
	lua_vm_seen(s, co->vm);
	lua_vm_name(s, co->vm);
	/* Its calls that were open when recording began have been found only
	 * now: they lie under all that this thread has called since. Only a
	 * chunk that starts afresh can say so. */
	if (count > 0 && s->segments == 1 && s->base_unknown &&
	    shadow_put_under(s, walked, count))
		chunk_switch(s, CHUNK_GAP);
}

/* Hooks alone cannot tell a recycled lua_State: without interposed functions
 * every call that nothing on it makes begins a coroutine. */
static void renew(struct thread_state *s, struct coroutine *co, uint64_t now)
{
	if (shadow_segment(s)->serial == co->serial)
		lua_switch_detach_unseen(s, now);
	co->keeps = false;
	co->ended = true;
}

/* In LuaJIT what a body tail-calls, which takes its place, is called by nothing
 * either. */
static bool may_be_another(const struct thread_state *s,
			   const struct coroutine *co, uint64_t id)
{
	const struct segment *const g = &s->segment[s->segments - 1];

	if (co->vm->interposed || !lua_co_has_run(co))
		return false;
	return !co->vm->lib->abi->is_jit ||
	       (!co->vm->born_told &&
		(g->serial != co->serial || shadow_depth(s) == 0 ||
		 s->frames[g->base].ret != id));
}

/* Was its resume seen, so that its first call is of no new coroutine? */
static bool was_resume_seen(const struct thread_state *s,
			    const struct coroutine *co)
{
	for (uint32_t i = s->segments; i-- > 0;) {
		if (s->segment[i].serial == co->serial)
			return !s->segment[i].inferred;
	}
	return false;
}

/* The stack pointer of the call of Lua that made co run without a resume. It is
 * known if our function was called and the event is the first call on co. But
 * what LuaJIT resumes, and what passes by our functions, may have been called
 * elsewhere: then it is guessed. */
static uint64_t called_at(const struct coroutine *co, uint64_t fresh,
			  uint64_t sp)
{
	const bool is_told = fresh != 0 && co->vm->interposed &&
			     !co->vm->lib->abi->is_jit;

	return is_told && co->called > sp &&
	       co->called - sp < LUA_FIRST_DEPTH ?
	       co->called : sp + LUA_HOOK_DEPTH;
}

void lua_switch_to(struct thread_state *s, struct coroutine *co,
		   const struct frame *walked, uint32_t count, uint64_t fresh,
		   uint64_t held, uint64_t sp, uint64_t now)
{
	if (shadow_segment(s)->serial != co->serial)
		detach_those_left(s, co, now);
	if (co->serial == 0 || co->closing) {
		switch_to_main(s, co, walked, count, held, now);
		return;
	}
	if (fresh != 0 && may_be_another(s, co, fresh) &&
	    !was_resume_seen(s, co))
		renew(s, co, now);
	if (lua_switch_is_on(s, co)) {
		while (shadow_segment(s)->serial != co->serial &&
		       detach_if_off(s, held, now))
			;
		return; /* if not on top, it is called from within what is */
	}
	detach_those_off(s, held, now);
	if (co->serial == LUA_UNBORN || co->ended)
		lua_co_create(s, co, now);
	lua_switch_attach(s, co, walked, count, called_at(co, fresh, sp),
			  RESUME_INFERRED, now);
}
