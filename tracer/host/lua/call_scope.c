/* call_scope.c - around lua_resume, around protected calls, and after an end.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/call_scope.h"
#include "tracer/host/thread/region.h"
#include "tracer/host/lua/unwind.h"

void lua_around_resume(struct lua_entry *e, struct coroutine *co,
		      uint64_t sp)
{
	struct frame *walked = NULL;
	struct lua_local *me;
	struct thread_state *s = thread_acquire(sp);
	uint32_t count = 0;
	uint64_t now;

	e->co = NULL;
	if (!s)
		return;
	me = lua_vm_local(s);
	if (me && !region_only && !lua_stack_has_kept(s, co) &&
	    lua_vm_status(co) == LUA_STATUS_YIELD) {
		thread_release(s);
		walked = lua_vm_walk_room(me);
		if (walked)
			count = co->vm->lib->abi->walk(me, co, 0, walked,
						       LUA_WALK_ROOM);
		s = thread_acquire(sp);
		if (!s)
			return;
	}
	e->resumer = s->lua_plain;
	now = thread_clock(s);
	/* A jump over lua_resume may have left it there. */
	while (lua_stack_is_on(s, co))
		lua_stack_off(s, now);
	if (co->serial == LUA_UNBORN || co->ended)
		lua_vm_create(s, co, now);
	lua_stack_attach(s, co, walked, count, sp, 0, now);
	if (shadow_segment(s)->serial == co->serial) {
		e->co = co;
		e->serial = co->serial;
		e->segments = s->segments - s->fiber;
		e->on = s;
		if (me && lua_vm_is_plain(s))
			s->lua_plain = co->L;
	}
	thread_release(s);
}

void lua_around_suspend(const struct lua_entry *e, int status, uint64_t sp)
{
	const uint32_t flags = status == LUA_STATUS_YIELD ? SUSPEND_YIELD :
			       status == LUA_STATUS_OK ? SUSPEND_RETURN :
			       SUSPEND_ERROR;
	struct thread_state *s;
	uint32_t segments;
	uint64_t now;

	if (!e->co)
		return;
	if (status != LUA_STATUS_YIELD)
		e->co->ended = 1;
	s = thread_acquire(sp);
	if (!s)
		return;
	segments = e->segments + s->fiber;
	if (s->segments >= segments &&
	    s->segment[segments - 1].serial == e->serial) {
		now = thread_clock(s);
		while (s->segments > segments)
			lua_stack_off(s, now);
		lua_stack_detach(s, flags, now);
		/* It runs as it did before, unless on another thread. */
		s->lua_plain = e->on == s ? e->resumer : NULL;
	}
	thread_release(s);
}

/* ------------------------------------------------- around protected calls */

/* Recording went on in the middle of co's calls: they must be in their place
 * before the stack is marked. Not busy; gives the state busy, or NULL. */
static SLOW struct thread_state *settle(struct coroutine *co, uint64_t sp)
{
	struct thread_state *s = thread_self;
	struct lua_local *const me = lua_vm_local(s);
	struct frame *const walked = !me ? NULL : lua_vm_walk_room(me);
	uint32_t count = 0;

	if (walked)
		count = co->vm->lib->abi->walk(me, co, 0, walked,
					       LUA_WALK_ROOM);
	s = thread_acquire(sp);
	if (s && (co->serial == 0 || count > 0))
		lua_stack_seat(s, co, walked, count, 0, sp, thread_clock(s));
	return s;
}

struct shadow_mark lua_around_mark(struct coroutine *co, uint64_t sp)
{
	struct shadow_mark m = { UINT32_MAX, UINT32_MAX, UINT32_MAX };
	struct thread_state *s = thread_acquire(sp);

	if (s && unlikely(co->window != s->window)) {
		thread_release(s);
		s = settle(co, sp);
	}
	if (s) {
		m = shadow_mark(s);
		thread_release(s);
	}
	return m;
}

static SLOW void cut(struct thread_state *s, const struct coroutine *co,
		     struct shadow_mark m, int failed, uint64_t now)
{
	const uint32_t segments = m.segments + s->fiber;

	if (co->vm->lib->abi->is_jit && m.window == s->window) {
		while (s->segments > segments)
			lua_stack_off(s, now);
		if (s->segments == segments)
			lua_stack_end_late(s, m.depth, now);
	}
	shadow_cut(s, m, failed ? UNWIND_ERROR : UNWIND_SKIPPED, now);
}

void lua_around_cut(const struct coroutine *co, struct shadow_mark m,
		    int failed, uint64_t sp)
{
	struct thread_state *s;

	if (BROKEN(pcall) || m.segments == UINT32_MAX)
		return;
	s = thread_acquire(sp);
	if (!s)
		return;
	if (s->segments != m.segments + s->fiber || shadow_depth(s) != m.depth)
		cut(s, co, m, failed, thread_clock(s));
	thread_release(s);
}

void lua_around_closed(struct coroutine *co, uint64_t sp)
{
	struct thread_state *const s = thread_acquire(sp);
	uint64_t now;

	co->keeps = 0;
	co->ended = 1;
	if (!s)
		return;
	now = thread_clock(s);
	if (co->serial != 0 && shadow_segment(s)->serial == co->serial)
		lua_stack_off(s, now);
	if (co->serial == 0)
		lua_stack_end_all(s, co, now);
	thread_release(s);
}
