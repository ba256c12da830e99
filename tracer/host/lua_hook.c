/* lua_hook.c - Lua's call and return events, as they come. The common case is
 * laid out straight on; whatever asks Lua something is done while not busy.
 * Compiled once per version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua_hook.h"
#include "tracer/host/lua_lib.h"

/* ---------------------------------------------- the program's own hook */

static int wanted(const struct coroutine *co, int event)
{
	switch (event) {
	case LUA_HOOKCALL:
	case LUA_HOOKTAILCALL:
		return co->app_mask & LUA_MASKCALL;
	case LUA_HOOKRET:
		return co->app_mask & LUA_MASKRET;
	case LUA_HOOKLINE:
		return co->app_mask & LUA_MASKLINE;
	default:
		return co->app_mask & LUA_MASKCOUNT;
	}
}

/* It may raise an error or yield: nothing of ours waits for it. */
static SLOW void pass_on(const struct coroutine *co, lua_State *L,
			 lua_Debug *ar)
{
	if (co != NULL && co->app_hook != NULL && wanted(co, ar->event))
		((lua_Hook)co->app_hook)(L, ar);
}

/* ------------------------------------------------------------ recording */

struct event {
	int kind;        /* LUA_HOOKCALL, LUA_HOOKTAILCALL, LUA_HOOKRET */
	int is_c;
	uint64_t id, key;
	struct lua_caller caller;
};

static uint64_t above(uint64_t id)
{
	const uint64_t caller = layout_caller(id);

	return layout_is_call(caller) ? caller : 0;
}

INLINE void returned(struct state *s, const struct coroutine *co, uint64_t id,
		     uint64_t now)
{
	const struct frame *const top = s->top - 1;

	if (likely(top->ret == id && top->site == (uint64_t)co->L))
		stack_leave(s, now);
	else
		lua_stack_return(s, co, id, now);
	if (unlikely(stack_segment(s)->inferred) && stack_depth(s) == 0)
		lua_stack_body_ended(s, now);
}

INLINE struct frame frame_of(const struct coroutine *co, uint64_t id,
			     uint64_t key, int is_c, uint64_t now)
{
	return (struct frame){
		.key = key, .sp = is_c ? FRAME_ABSORBS : FRAME_LUA,
		.site = (uint64_t)co->L, .ret = id, .tick = now,
		.extra = FRAME_ABSORBED_NOT,
	};
}

/* A tail call takes its caller's frame over, id and all. */
static SLOW void tail_called(struct state *s, const struct coroutine *co,
			     const struct event *e, uint64_t now)
{
	const struct lua_caller self = { e->id, e->caller.above };
	const struct frame f = frame_of(co, e->id, e->key, e->is_c, now);
	const struct frame *top = s->top - 1;

	if (top->ret != e->id || top->site != (uint64_t)co->L)
		lua_stack_heal(s, co, &self, now);
	top = s->top - 1;
	if (top->ret == e->id && top->site == (uint64_t)co->L)
		stack_tail(s, &f, now);
	else
		stack_enter(s, &f, now);
}

static void record(struct state *s, const struct coroutine *co,
		   const struct event *e, uint64_t now)
{
	const struct frame f = frame_of(co, e->id, e->key, e->is_c, now);

	if (e->kind == LUA_HOOKRET) {
		returned(s, co, e->id, now);
	} else if (e->kind == LUA_HOOKTAILCALL) {
		tail_called(s, co, e, now);
	} else {
		lua_stack_heal(s, co, &e->caller, now);
		stack_enter(s, &f, now);
	}
}

/* ------------------------------------------------------- uncommon cases */

/* What the event says, asked of Lua where the layout does not tell. Not busy. */
static int read_event(struct event *e, struct lua_local *me,
		      const struct coroutine *co, const lua_Debug *ar)
{
	lua_Debug d;

	e->kind = ar->event;
	e->id = (uint64_t)ar->i_ci;
	e->caller = (struct lua_caller){ 0, NULL };
	if (e->kind == LUA_HOOKRET)
		return 1;
	if (co->vm->peek) {
		e->caller.id = above(e->id);
		e->caller.above = above;
		e->key = lua_hook_key(me, e->id, &e->is_c);
		if (e->key == 0)
			e->key = lua_hook_learn(me, co, ar->i_ci, &e->is_c);
	} else {
		if (API(&co->vm->lib->api, lua_getstack)(co->L, 1, &d))
			e->caller.id = (uint64_t)d.i_ci;
		e->key = lua_hook_ask(co, ar->i_ci, &e->is_c);
	}
	return e->key != 0;
}

/* A coroutine whose making was not seen. */
static struct coroutine *meet(const struct lua_local *me, lua_State *L)
{
	const struct lua_lib *const lib = lua_lib_running(me->co,
							  &lua_hook_abi);
	const struct coroutine *main;

	if (lib == NULL)
		return NULL;
	main = lua_vm_find(lua_hook_abi.main_of(&lib->api, L));
	return main == NULL ? NULL : lua_vm_thread_met(L, main);
}

static void record_slowly(struct lua_local *me, struct coroutine *co,
			  const lua_Debug *ar, int walk, uint64_t sp)
{
	struct frame *walked = NULL;
	uint32_t count = 0;
	struct event e;
	struct state *s;
	uint64_t now;

	if (!read_event(&e, me, co, ar))
		return;
	if (walk)
		walked = lua_vm_walk_room(me);
	if (walked != NULL)
		count = lua_hook_walk(me, co, e.kind == LUA_HOOKRET ? 0 : 1,
				      walked, LUA_WALK_ROOM);
	s = state_begin(sp);
	if (s == NULL)
		return;
	now = state_clock(s);
	lua_stack_seat(s, co, walked, count, e.kind == LUA_HOOKCALL &&
		       e.caller.id == 0, sp, now);
	me->L = co->L;
	me->co = co;
	record(s, co, &e, now);
	state_end(s);
}

/* s is busy when this is called. */
static SLOW void slowly(struct state *s, lua_State *L, lua_Debug *ar,
			uint64_t sp)
{
	struct lua_local *const me = lua_vm_local(s);
	struct coroutine *co = lua_vm_find(L);
	int walk;

	if (me == NULL || ar->event == LUA_HOOKLINE ||
	    ar->event == LUA_HOOKCOUNT) {
		state_end(s);
		pass_on(co, L, ar);
		return;
	}
	if (co == NULL) {
		state_end(s);
		co = meet(me, L);
		if (co == NULL)
			return;
		s = state_begin(sp);
		if (s == NULL)
			return;
	}
	walk = lua_stack_needs_walk(s, co);
	state_end(s);
	if (co->vm->detached)
		lua_vm_unhook(co);
	else
		record_slowly(me, co, ar, walk, sp);
	pass_on(co, L, ar);
}

/* Nothing is recorded at this moment. */
static SLOW void idle(lua_State *L, lua_Debug *ar)
{
	struct coroutine *const co = lua_vm_find(L);

	if (co == NULL)
		return;
	/* A hook that nothing would put back stays where it is. */
	if (co->vm->detached || (!lua_vm_on() && co->vm->interposed &&
				 !state_pool->paused_hot))
		lua_vm_unhook(co);
	pass_on(co, L, ar);
}

/* Another lua_State than at the event before: can it be gone on with at once? */
static int go_over(const struct state *s, struct lua_local *me, lua_State *L)
{
	struct coroutine *const co = lua_vm_find(L);

	if (co == NULL || co->serial != s->segment[s->segments - 1].serial ||
	    co->window != s->window || co->vm->detached)
		return 0;
	me->L = L;
	me->co = co;
	return 1;
}

/* ---------------------------------------------------------- the hook */

INLINE int called(struct state *s, struct lua_local *me,
		  const struct coroutine *co, const lua_Debug *ar)
{
	const uint64_t id = (uint64_t)ar->i_ci;
	const uint64_t now = state_clock(s);
	const struct frame *const top = s->top - 1;
	int is_c;
	const uint64_t key = lua_hook_key(me, id, &is_c);
	const uint64_t caller = layout_caller(id);
	struct frame f;

	if (unlikely(key == 0))
		return 0;
	if (unlikely(ar->event != LUA_HOOKCALL)) {
		const struct event e = {
			.id = id, .key = key, .is_c = is_c,
			.caller = { 0, above },
		};

		tail_called(s, co, &e, now);
		return 1;
	}
	if (unlikely(top->ret != caller || top->site != (uint64_t)co->L)) {
		const struct lua_caller c = { above(id), above };

		lua_stack_heal(s, co, &c, now);
	}
	f = frame_of(co, id, key, is_c, now);
	stack_enter(s, &f, now);
	return 1;
}

void lua_hook_event(lua_State *L, lua_Debug *ar)
{
	const uint64_t sp = (uint64_t)__builtin_frame_address(0);
	struct state *const s = state_begin(sp);
	struct lua_local *me;
	const struct coroutine *co;

	if (unlikely(s == NULL)) {
		idle(L, ar);
		return;
	}
	me = s->lua;
	if (unlikely(me == NULL || ((me->L != L || me->co->serial !=
		     stack_segment(s)->serial || me->co->window != s->window) &&
		     !go_over(s, me, L)))) {
		slowly(s, L, ar, sp);
		return;
	}
	co = me->co;
	if (ar->event == LUA_HOOKRET) {
		returned(s, co, (uint64_t)ar->i_ci, state_clock(s));
	} else if (unlikely(ar->event == LUA_HOOKLINE ||
			    ar->event == LUA_HOOKCOUNT ||
			    !co->vm->peek || !called(s, me, co, ar))) {
		slowly(s, L, ar, sp);
		return;
	}
	state_end(s);
	if (unlikely(co->app_mask != 0))
		pass_on(co, L, ar);
}
