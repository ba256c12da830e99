/* call_scope.c - before and after lua_resume and protected calls; resumes that
 * the program tells of, where no call of lua_resume can be seen.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/weft.h"
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua/call_scope.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/thread/thread.h"

#include <errno.h>
#include <string.h>

/* ----------------------------------------------------------------- resumes */

/* The common case: a coroutine yields to who has resumed it, and is resumed by
 * the same thread while that has the same chunk open. false: it is another one,
 * and nothing was changed. With quick, both leave it right. */

/* Takes co, which has the topmost segment and yields, off the thread. */
INLINE bool yields(struct thread_state *s, struct coroutine *co)
{
	const struct segment *const g = shadow_segment(s);
	struct frame *const base = s->frames + g->base;
	const uint32_t count = (uint32_t)(s->top - base);
	uint64_t gap;

	if (unlikely(s->at >= s->quick || count > co->room || BROKEN(yield)))
		return false;
	lua_switch_keep_frames(co, base, count);
	if (unlikely(co->gapped) || !chunk_quick_gap(s, &gap))
		return false;
	lua_switch_keep(s, co, g, s->last);
	co->keeps = true;
	s->at[0] = gap | rec_put(REC_SUSPEND, SUSPEND_YIELD, 0);
	s->at[1] = rec_put_value(REC_OPERAND, co->serial & REC_VALUE_MAX);
	chunk_publish(s, 2);
	s->top = base;
	s->segments--;
	CHECKED(!co->vm || lua_co_valid(co));
	return true;
}

/* Puts co, which is off every thread, where it was. */
INLINE bool goes_on(struct thread_state *s, struct coroutine *co, uint64_t sp)
{
	enum { WORDS = 4 }; /* of its record; quick allows for as many frames */
	struct segment *const g = &s->segment[s->segments];
	struct frame *to = s->top;
	uint64_t gap, slept;

	/* The chunk is the same, and so is the window. */
	if (unlikely(!co->keeps || !lua_switch_was_seen(s, co) ||
		     s->at + co->count >= s->quick ||
		     s->segments >= MAX_SEGMENTS))
		return false;
	if (!chunk_quick_gap(s, &gap))
		return false;
	slept = s->last - co->since;
	*g = (struct segment){
		.serial = co->serial, .owner = co, .sp = sp,
		.base = (uint32_t)(to - s->frames), .body = co->body,
	};
	if (unlikely(g->body.key != 0)) {
		g->body.tick += slept;
		g->body.on += slept;
	}
	for (const struct frame *f = co->kept; f < co->kept + co->count; f++) {
		*to = *f;
		to++->tick += slept;
	}
	s->top = to;
	s->segments++;
	s->at[0] = gap | REC_RESUME;
	s->at[1] = rec_put_value(REC_OPERAND, co->serial & REC_VALUE_MAX);
	s->at[2] = rec_put_value(REC_OPERAND, slept & REC_VALUE_MAX);
	s->at[3] = REC_OPERAND; /* no frames follow */
	chunk_publish(s, WORDS);
	if (unlikely(co->count > WORDS))
		shadow_set_quick(s);
	co->keeps = false;
	co->asleep = 0;
	return true;
}

/* co sleeps in a yield that was not recorded: its open frames. s is busy; it is
 * not meanwhile. Returns the busy state, or NULL. */
static struct thread_state *walk_sleeper(struct thread_state *s,
					 const struct coroutine *co,
					 struct frame **walked,
					 uint32_t *count, uint64_t sp)
{
	struct lua_local *const me = lua_vm_local(s);

	if (!me || region_only || lua_vm_is_sampled(co->vm) ||
	    lua_switch_has_kept(s, co) ||
	    lua_co_status(co) != LUA_STATUS_YIELD)
		return s;
	thread_release(s);
	*walked = lua_vm_walk_room(me);
	if (*walked)
		*count = co->vm->lib->abi->walk(me, co, LUA_WALK_ASLEEP,
						*walked, LUA_WALK_ROOM);
	return thread_acquire(sp);
}

/* It begins to run, as none that is suspended does: another one lies there than
 * did, whose birth nobody told. */
static bool is_another(const struct coroutine *co)
{
	return !co->vm->interposed && lua_co_has_run(co) &&
	       lua_co_status(co) == LUA_STATUS_OK;
}

/* co goes onto the thread, whatever has become of it. s is busy. Returns the
 * busy state, or NULL. */
static SLOW struct thread_state *put_on(struct thread_state *s,
					struct coroutine *co, uint64_t sp)
{
	struct frame *walked = NULL;
	uint32_t count = 0;
	uint64_t now;

	s = walk_sleeper(s, co, &walked, &count, sp);
	if (!s)
		return NULL;
	now = chunk_clock(s);
	/* A jump over lua_resume may have left it there. */
	while (lua_switch_is_on(s, co))
		lua_switch_detach_unseen(s, now);
	if (co->serial == LUA_UNBORN || co->ended || is_another(co))
		lua_co_create(s, co, now);
	lua_switch_attach(s, co, walked, count, sp, 0, now);
	return s;
}

/* co has the topmost segment now. */
INLINE void begun(struct resume_scope *r, const struct thread_state *s,
		  struct coroutine *co)
{
	r->co = co;
	r->serial = co->serial;
	r->segments = s->segments - s->fiber;
	r->on = s;
}

void resume_scope_begin(struct resume_scope *r, struct coroutine *co,
			uint64_t sp)
{
	struct thread_state *s = thread_acquire(sp);

	r->co = NULL;
	if (!s)
		return;
	r->resumer = s->lua_plain;
	if (likely(!is_another(co) && goes_on(s, co, sp))) {
		begun(r, s, co);
		s->lua_plain = s->lua ? co->L : NULL;
		thread_release_hot(s);
		return;
	}
	s = put_on(s, co, sp);
	if (!s)
		return;
	if (shadow_segment(s)->serial == co->serial) {
		begun(r, s, co);
		if (s->lua && lua_vm_is_plain(s))
			s->lua_plain = co->L;
	}
	thread_release(s);
}

/* The segment that is the last of so many, and what stands on it, come off, if
 * it is still on. Returns whether it is. */
static SLOW bool take_off(struct thread_state *s, const struct resume_scope *r,
			  uint32_t flags)
{
	const uint32_t segments = r->segments + s->fiber;
	uint64_t now;

	if (s->segments < segments ||
	    s->segment[segments - 1].serial != r->serial)
		return false;
	now = chunk_clock(s);
	while (s->segments > segments)
		lua_switch_detach_unseen(s, now);
	lua_switch_detach(s, flags, now);
	return true;
}

/* Is r's the topmost segment, and that of what r->co is now? */
INLINE bool is_on_top(const struct thread_state *s,
		      const struct resume_scope *r)
{
	return s->segments == r->segments + s->fiber &&
	       s->segment[s->segments - 1].serial == r->serial &&
	       r->co->serial == r->serial;
}

void resume_scope_end(const struct resume_scope *r, int status, uint64_t sp)
{
	const uint32_t flags = status == LUA_STATUS_YIELD ? SUSPEND_YIELD :
			       status == LUA_STATUS_OK ? SUSPEND_RETURN :
			       SUSPEND_ERROR;
	struct thread_state *s;

	if (!r->co)
		return;
	if (status != LUA_STATUS_YIELD) {
		r->co->ended = true;
		r->co->called = 0; /* a call that has yielded never returns */
	}
	s = thread_acquire(sp);
	if (!s)
		return;
	/* The resumer runs as before, unless on another thread. */
	if (likely(flags == SUSPEND_YIELD && is_on_top(s, r) &&
		   yields(s, r->co))) {
		s->lua_plain = r->on == s ? r->resumer : NULL;
		thread_release_hot(s);
		return;
	}
	if (take_off(s, r, flags))
		s->lua_plain = r->on == s ? r->resumer : NULL;
	thread_release(s);
}

/* --------------------------------------------------------- protected calls */

/* Recording went on in the middle of co's calls: they must be in their place
 * before the stack is marked. Gives the busy state, or NULL. */
static SLOW struct thread_state *settle(struct coroutine *co, uint64_t sp)
{
	struct thread_state *s = thread_self;
	struct lua_local *const me = lua_vm_local(s);
	struct frame *const walked = !me || lua_vm_is_sampled(co->vm) ? NULL :
				     lua_vm_walk_room(me);
	uint32_t count = 0;

	if (walked)
		count = co->vm->lib->abi->walk(me, co, LUA_WALK_NO_EVENT,
					       walked, LUA_WALK_ROOM);
	s = thread_acquire(sp);
	if (s && (co->serial == 0 || count > 0))
		lua_switch_to(s, co, walked, count, 0, 0, sp, chunk_clock(s));
	return s;
}

struct call_scope call_scope_begin(struct coroutine *co, uint64_t sp)
{
	struct call_scope c = { .mark.segments = UINT32_MAX };
	struct thread_state *s = thread_acquire(sp);

	co->called = sp;
	if (s && unlikely(co->window != s->window)) {
		thread_release(s);
		s = settle(co, sp);
	}
	if (s) {
		c.mark = shadow_mark(s);
		thread_release(s);
	}
	c.open = co->serial == 0 ? call_scope_note(co, sp) : 0;
	return c;
}

/* Ends what the call has left behind. Returns that LuaJIT did not tell come
 * first: they are no errors. */
static SLOW void cut(struct thread_state *s, const struct coroutine *co,
		     struct shadow_mark m, bool failed, uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;

	if (co->vm->lib->abi->is_jit && m.window == s->window) {
		while (s->segments > segments)
			lua_switch_detach_unseen(s, now);
		if (s->segments == segments)
			lua_unwind_above(s, shadow_mark_depth(s, m), now);
	}
	shadow_cut(s, m, failed ? UNWIND_ERROR : UNWIND_SKIPPED, now);
}

void call_scope_end(struct coroutine *co, struct call_scope c, bool failed,
		    uint64_t sp)
{
	const struct shadow_mark m = c.mark;
	struct thread_state *s;

	co->called = 0;
	if (co->serial == 0 && co->vm)
		co->vm->open = c.open;
	if (BROKEN(pcall) || m.segments == UINT32_MAX)
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	if (s->segments != m.segments + s->fiber || shadow_depth(s) != m.depth)
		cut(s, co, m, failed, chunk_clock(s));
	thread_release(s);
}

void call_scope_closing(struct coroutine *co, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	uint64_t now;

	/* A coroutine that sleeps, or has not run yet. */
	if (s && lua_co_has_serial(co) && !co->ended &&
	    !lua_switch_is_on(s, co)) {
		now = chunk_clock(s);
		lua_switch_attach(s, co, NULL, 0, sp, RESUME_CLOSES, now);
		if (shadow_segment(s)->serial == co->serial) {
			lua_unwind_all(s, co, now);
			lua_switch_detach(s, SUSPEND_CLOSED, now);
		}
	}
	co->closing = co->serial != 0;
	if (!s)
		return;
	co->window = s->window;
	thread_release(s);
}

void call_scope_closed(struct coroutine *co, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	uint64_t now;

	co->keeps = co->closing = false;
	co->ended = true;
	if (!s)
		return;
	now = chunk_clock(s);
	if (co->serial == 0)
		lua_unwind_all(s, co, now);
	else if (shadow_segment(s)->serial == co->serial)
		lua_switch_detach_unseen(s, now);
	thread_release(s);
}

/* -------------------------- resumes, births and ends the program tells of */

/* What a struct weft_lua_switch holds. */
struct told_switch {
	struct resume_scope resume;
	struct coroutine *co; /* NULL: nothing is to be done */
	struct coroutine *from;
	uint32_t outside;
};

_Static_assert(sizeof(struct told_switch) <= sizeof(struct weft_lua_switch),
	       "struct weft_lua_switch has room for it");

/* L's object, made if L's VM is known. What is older than the recording did not
 * get our hook from who made it. */
static struct coroutine *meet_told(lua_State *L, lua_State *from)
{
	struct coroutine *co = lua_co_served(L);
	struct coroutine *const other = lua_co_served(from);

	if (co || !other || !L || lua_co_find(L))
		return co;
	co = lua_co_met(L, lua_co_find(other->vm->main));
	if (co && lua_co_holder(other)->hooked)
		lua_hook_set(co);
	return co;
}

/* Between chosen calls no state that ran has our hook (weft_lua_rest). */
static void go_on(struct coroutine *co)
{
	if (co->vm && !lua_co_holder(co)->hooked && lua_hook_is_on())
		lua_hook_set(co);
}

EXPORT int weft_lua_resuming(lua_State *L, lua_State *from,
			     struct weft_lua_switch *to)
{
	const int saved = errno;
	struct told_switch t = { .co = meet_told(L, from),
				 .from = lua_co_served(from),
				 .outside = region_depth };

	if (t.co && !t.co->vm->lib->map &&
	    t.co->vm->lib->abi->resumable(&t.co->vm->lib->api, L, 0, 0)) {
		go_on(t.co);
		region_depth += t.co->regions;
		resume_scope_begin(&t.resume, t.co, HERE);
	} else {
		t.co = NULL;
	}
	memcpy(to, &t, sizeof(t));
	errno = saved;
	return t.co != NULL;
}

EXPORT void weft_lua_resumed(const struct weft_lua_switch *from)
{
	const int saved = errno;
	struct told_switch t;
	int status;

	memcpy(&t, from, sizeof(t));
	if (t.co) {
		status = lua_co_status(t.co);
		resume_scope_end(&t.resume, status, HERE);
		t.co->regions = region_back(t.outside,
					   status == LUA_STATUS_YIELD, HERE);
		if (t.from)
			go_on(t.from);
	}
	errno = saved;
}

/* Has nothing run on L yet, or no longer? */
static bool is_empty(const struct lua_vm *vm, lua_State *L)
{
	const struct weft_lua_api *const api = &vm->lib->api;

	return ((int (*)(lua_State *))api->lua_status)(L) == LUA_STATUS_OK &&
	       vm->lib->abi->innermost(api, L, vm->by_layout).id == 0;
}

EXPORT void weft_lua_made(lua_State *L, lua_State *from)
{
	const struct coroutine *const creator = lua_co_served(from);
	const int saved = errno;

	if (L && creator && !creator->vm->lib->map &&
	    is_empty(creator->vm, L)) {
		creator->vm->born_told = true;
		lua_co_made(L, creator, HERE);
	}
	errno = saved;
}

EXPORT void weft_lua_closing(lua_State *L)
{
	struct coroutine *const co = lua_co_served(L);
	const int saved = errno;

	/* Not if it runs: then Lua refuses. */
	if (co && co->serial != 0 && !co->vm->lib->map &&
	    (lua_co_status(co) != LUA_STATUS_OK || is_empty(co->vm, L)))
		call_scope_closing(co, HERE);
	errno = saved;
}

EXPORT void weft_lua_closed(lua_State *L)
{
	struct coroutine *const co = lua_co_served(L);
	const int saved = errno;

	if (co && co->closing)
		call_scope_closed(co, HERE);
	errno = saved;
}
