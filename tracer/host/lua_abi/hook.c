/* hook.c - Lua's call and return events, as they come. The common case is
 * laid out straight on; whatever asks Lua something is done while not busy.
 * Compiled once per version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/hook.h"
#include "tracer/host/lua_abi/quick.h"
#include "tracer/host/thread/region.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/pool/process.h"

/* ---------------------------------------------- the program's own hook */

static int wanted(const struct coroutine *co, int event)
{
	switch (event) {
	case LUA_HOOKCALL:
#if LUA_VERSION_NUM >= 502
	case LUA_HOOKTAILCALL:
#endif
		return co->app_mask & LUA_MASKCALL;
	case LUA_HOOKRET:
#if LUA_VERSION_NUM < 502
	case LUA_HOOKTAILRET:
#endif
		return co->app_mask & LUA_MASKRET;
	case LUA_HOOKLINE:
		return co->app_mask & LUA_MASKLINE;
	default:
		return co->app_mask & LUA_MASKCOUNT;
	}
}

/* It may raise an error or yield: nothing of ours waits for it. */
static SLOW void pass_on(struct coroutine *co, lua_State *L, lua_Debug *ar)
{
	const struct coroutine *const h = !co ? NULL :
					  lua_vm_holder(co);

	if (h && h->app_hook && wanted(h, ar->event))
		((lua_Hook)h->app_hook)(L, ar);
}

/* ------------------------------------------------------------ recording */

static void record_return(struct thread_state *s, const struct coroutine *co,
			  uint64_t id, uint64_t key, uint64_t now)
{
	const struct frame *const top = s->top - 1;

	if (likely(top->ret == id && top->site == (uint64_t)co->L))
		shadow_leave(s, now);
	else if (!lua_stack_return(s, co, id, key, now))
		return;
	if (unlikely(shadow_segment(s)->inferred) && shadow_depth(s) == 0)
		lua_stack_body_ended(s, now);
}

static struct frame frame_of(const struct coroutine *co,
			     const struct lua_event *e, uint64_t now)
{
	return (struct frame){
		.key = e->key,
		.flags = e->is_c ? LUA_FRAME_C : FRAME_LUA_SETTLED,
		.site = (uint64_t)co->L, .ret = e->id, .tick = now,
		.absorbed = FRAME_NONE_ABSORBED,
	};
}

/* A tail call takes its caller's frame over, id and all. */
static void tail_called(struct thread_state *s, const struct coroutine *co,
			const struct lua_event *e, uint64_t now)
{
	const struct lua_caller self = { .id = e->id,
					 .above = e->caller.above };
	const struct frame f = frame_of(co, e, now);
	const struct frame *top = s->top - 1;

	if (top->ret != e->id || top->site != (uint64_t)co->L)
		lua_stack_heal(s, co, &self, now);
	top = s->top - 1;
	if (top->ret == e->id && top->site == (uint64_t)co->L)
		shadow_tail(s, &f, now);
	else
		shadow_enter(s, &f, now);
}

static void record(struct thread_state *s, const struct coroutine *co,
		   const struct lua_event *e, uint64_t now)
{
	const struct frame f = frame_of(co, e, now);

#if WEFT_LUA_ABI == 51
	lua_stack_taken_over(s, co, e->kind == EVENT_RETURN ? e->id :
			     e->caller.id, e->kind == EVENT_RETURN ? e->key :
			     e->caller.key);
#endif
	if (e->kind == EVENT_RETURN) {
		record_return(s, co, e->id, e->key, now);
	} else if (e->kind == EVENT_TAIL_END) {
		lua_stack_tail_end(s, co, now);
	} else if (e->kind == EVENT_TAIL) {
		tail_called(s, co, e, now);
	} else {
		lua_stack_heal(s, co, &e->caller, now);
		shadow_enter(s, &f, now);
	}
}

/* The call's function has its index in the open chunk now. */
static void remember_index(struct thread_state *s, struct lua_cached *c)
{
	if (!c)
		return;
	c->index = chunk_index(s, c->key);
	c->epoch = s->epoch;
}

/* Main states run in whatever native coroutine has called them. */
static int runs_on_top(const struct thread_state *s, const struct coroutine *co)
{
	return co->serial == s->segment[s->segments - 1].serial ||
	       (co->serial == 0 && s->fiber == s->segments - 1);
}

/* ------------------------------------------------------- uncommon cases */

static void record_slowly(struct lua_local *me, struct coroutine *co,
			  const lua_Debug *ar, int walk, uint64_t sp)
{
	struct frame *walked = NULL;
	uint32_t count = 0;
	struct lua_event e;
	struct thread_state *s;
	uint64_t now;

	lua_hook_number_open(co, walk);
	if (!lua_hook_read(&e, me, co, ar))
		return;
	if (walk)
		walked = lua_vm_walk_room(me);
	if (walked)
		count = lua_hook_walk(me, co, e.kind == EVENT_RETURN ? 0 : 1,
				      walked, LUA_WALK_ROOM);
	s = thread_acquire(sp);
	if (!s)
		return;
	now = thread_clock(s);
	lua_stack_seat(s, co, walked, count, e.kind == EVENT_CALL &&
		       e.caller.id == 0, sp, now);
	if (lua_vm_is_unbooked(s))
		lua_vm_book(s, co->vm);
	s->lua_plain = !co->vm->peek && co->window == s->window &&
		       runs_on_top(s, co) && lua_vm_is_plain(s) ?
		       co->L : NULL;
	me->co = co;
	record(s, co, &e, now);
	remember_index(s, e.cached);
	thread_release(s);
}

/* s is busy when this is called. */
static SLOW void slowly(struct thread_state *s, lua_State *L, lua_Debug *ar,
			uint64_t sp)
{
	struct lua_local *const me = lua_vm_local(s);
	struct coroutine *co = lua_vm_find(L);
	int walk;

	if (!me || !lua_hook_records(co, ar)) {
		thread_release(s);
		pass_on(co, L, ar);
		return;
	}
	if (!co) {
		thread_release(s);
		co = lua_hook_meet(me, L);
		if (!co)
			return;
		s = thread_acquire(sp);
		if (!s)
			return;
	}
	if (me->window != s->window) {
		me->window = s->window;
		lua_func_unseen();
	}
	/* Outside of chosen calls nothing is recorded, not even as open. */
	walk = lua_stack_needs_walk(s, co) && !region_only;
	thread_release(s);
	if (co->vm->detached)
		lua_vm_unhook(co);
	else
		record_slowly(me, co, ar, walk, sp);
	pass_on(co, L, ar);
}

/* Events went by: what ran in them, main functions perhaps, is not known. */
static _Atomic int went_by;

/* Nothing is recorded at this moment. */
static SLOW void idle(lua_State *L, lua_Debug *ar)
{
	struct coroutine *const co = lua_vm_find(L);

	atomic_store_explicit(&went_by, 1, memory_order_relaxed);
	if (!co)
		return;
	/* Memory may be wanted, a system call. */
	if (co->vm->peek && ar->event != LUA_HOOKRET && !process_confined &&
	    lua_hook_records(co, ar))
		lua_hook_number((uint64_t)L, layout_id(ar));
	/* A hook that nothing would put back stays where it is. */
	if (co->vm->detached ||
	    (!lua_vm_on() && co->vm->interposed && !process_pool->paused_hot))
		lua_vm_unhook(co);
	pass_on(co, L, ar);
}

/* ------------------------------------------------------- known lua_States */

/* An event on a lua_State that is where it should be, by its layout. 0: it is
 * not, or something must be asked of Lua. */
static int record_known(struct thread_state *s, lua_State *L,
			const lua_Debug *ar)
{
	struct coroutine *const co = lua_vm_find(L);
	struct lua_local *const me = s->lua;
	struct lua_event e;

	if (!me || !co || co->window != s->window ||
	    !runs_on_top(s, co) || co->vm->detached ||
	    lua_vm_is_unbooked(s) || !lua_hook_records(co, ar) ||
	    !lua_hook_glance(&e, me, co, ar))
		return 0;
	me->co = co;
	s->lua_plain = lua_vm_is_plain(s) ? L : NULL;
	record(s, co, &e, thread_clock(s));
	remember_index(s, e.cached);
	return 1;
}

static SLOW void uncommon(struct thread_state *s, lua_State *L, lua_Debug *ar,
			  uint64_t sp)
{
	struct coroutine *co;

	if (!record_known(s, L, ar)) {
		slowly(s, L, ar, sp);
		return;
	}
	co = ((struct lua_local *)s->lua)->co;
	thread_release(s);
	if (lua_vm_holder(co)->app_mask != 0)
		pass_on(co, L, ar);
}

/* ---------------------------------------------------------- the hook */

/* A call whose caller's frame is the innermost one, of a function that this
 * chunk has named: nothing has died. That frame also shows that L is where it
 * was. */
INLINE int called(struct thread_state *s, uint64_t L, uint64_t id)
{
	const uint64_t caller = layout_caller(L, id);
	const struct lua_cached *c;

	if (!quick_ended_late(s, L, caller) ||
	    unlikely(!quick_calls(s, L, caller)))
		return 0;
	c = lua_hook_cached(s->lua, L, id, HOOK_CALLED_QUICK);
	if (unlikely(!c || c->epoch != s->epoch))
		return 0;
#if WEFT_LUA_ABI == 51
	if (c->flags == FRAME_LUA_SETTLED && (s->top[-1].key & KEY_LUA) &&
	    unlikely(layout_tail_calls(L, s->top[-1].ret)))
		return 0;
#endif
	return quick_entered(s, L, id, c);
}

/* The thread's own state, busy, is looked up anew, so that the common case need
 * not keep what only this one needs. */
SLOW void lua_hook_turned_down(lua_State *L, lua_Debug *ar)
{
	uncommon(thread_self, L, ar, thread_self->busy);
}

void lua_hook_shared(lua_State *L, lua_Debug *ar)
{
	const uint64_t sp = (uint64_t)__builtin_frame_address(0);
	struct thread_state *const s = thread_acquire(sp);

	if (!s) {
		idle(L, ar);
		return;
	}
	if (unlikely(atomic_load_explicit(&went_by, memory_order_relaxed)) &&
	    atomic_exchange(&went_by, 0))
		lua_func_unseen();
	uncommon(s, L, ar, sp);
}

void lua_hook_event(lua_State *L, lua_Debug *ar)
{
	const uint64_t sp = HERE;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	struct thread_state *const s = thread_self;
	/* Off, just gone on, or a handler that interrupted a hook. */
	if (unlikely(!s || s->busy != 0 ||
		     s->generation !=
			     atomic_load_explicit(&process_pool->generation,
						  memory_order_relaxed))) {
		lua_hook_shared(L, ar);
		return;
	}
	s->busy = sp;
	barrier();
	if (likely(s->lua_plain == L) &&
	    (ar->event == LUA_HOOKRET ? quick_ended_late(s, at, id) &&
					quick_returned(s, at, id) :
	     ar->event == LUA_HOOKCALL && called(s, at, id)))
		thread_release(s);
	else
		lua_hook_turned_down(L, ar);
}
