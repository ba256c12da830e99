/* event.c - what an event of Lua's says, whatever this version makes of tail
 * calls: its kind, function and caller; and how it is recorded.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/switch.h"
#include "tracer/host/lua_abi/abi.h"

/* ------------------------------------------------------------ what it says */

/* Only the caller's code tells of 5.1's tail calls when they are made. Without
 * the layout they look like calls that end together. */
static bool tail_calls_are_unseen(const struct coroutine *co)
{
	return WEFT_LUA_ABI == 51 && co && !co->vm->peek;
}

bool event_is_recorded(const struct coroutine *co, const lua_Debug *ar)
{
	return ar->event == LUA_HOOKCALL || ar->event == LUA_HOOKRET ||
	       (ar->event == HOOK_TAIL &&
		(LUA_VERSION_NUM >= 502 || tail_calls_are_unseen(co)));
}

static enum lua_event_kind kind_of(const lua_Debug *ar)
{
	if (ar->event == LUA_HOOKRET)
		return EVENT_RETURN;
	if (ar->event == HOOK_TAIL)
		return LUA_VERSION_NUM >= 502 ? EVENT_TAIL : EVENT_TAIL_END;
	return EVENT_CALL;
}

/* Before 5.4 what is tail-called has a frame of its own at first; once it runs,
 * it has its caller's. */
static void settle_tail_call(struct lua_event *e, const struct coroutine *co)
{
	if (co->vm->peek && e->kind == EVENT_CALL &&
	    layout_is_tail_call((uint64_t)co->L, e->id, e->is_c))
		e->kind = EVENT_TAIL;
	if (LUA_VERSION_NUM >= 504 || e->kind != EVENT_TAIL)
		return;
	e->id = e->caller.id;
	e->caller.id = !e->caller.above ? 0 :
		       e->caller.above((uint64_t)co->L, e->id);
}

/* LuaJIT's frames are compared by their functions, too. 0: not needed, or this
 * thread has not seen the function. */
static uint64_t key_at(struct lua_local *me, const struct coroutine *co,
		       uint64_t id)
{
	const struct lua_cached *c;

	if (!IS_JIT || id == 0)
		return 0;
	c = function_cached(me, (uint64_t)co->L, id, FUNCTION_OPEN);
	return !c ? 0 : c->key;
}

static void read_caller(struct lua_event *e, struct lua_local *me,
			const struct coroutine *co)
{
	e->caller.id = layout_above((uint64_t)co->L, e->id);
	e->caller.above = layout_above;
	e->caller.callee = e->id;
	e->caller.key = key_at(me, co, e->caller.id);
}

bool event_peek(struct lua_event *e, struct lua_local *me,
		const struct coroutine *co, const lua_Debug *ar)
{
	struct lua_cached *c;

	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	if (!co->vm->peek)
		return e->kind == EVENT_RETURN && !IS_JIT;
	if (e->kind == EVENT_RETURN) {
		e->key = key_at(me, co, e->id);
		return true;
	}
	c = function_cached(me, (uint64_t)co->L, e->id, FUNCTION_CALLED);
	e->cached = c;
	if (!c)
		return false;
	e->key = c->key;
	e->is_c = c->flags == frame_flags(true);
	read_caller(e, me, co);
	settle_tail_call(e, co);
	return true;
}

static bool keys_are_needed(const struct coroutine *co)
{
	return IS_JIT || tail_calls_are_unseen(co);
}

static void ask_caller(struct lua_event *e, struct lua_local *me,
		       const struct coroutine *co)
{
	struct lua_cached *c;
	lua_Debug d;

	if (!API(&co->vm->lib->api, lua_getstack)(co->L, 1, &d))
		return;
	e->caller.id = layout_id(&d);
	e->caller.above = frames_above;
	e->caller.callee = e->id;
	if (keys_are_needed(co))
		e->caller.key = function_by_object(me, co, e->caller.id,
						   &c).key;
}

static uint64_t return_key(struct lua_local *me, const struct coroutine *co,
			   uint64_t id)
{
	struct lua_cached *c;

	return co->vm->peek ? function_ask(co, id).key :
	       function_by_object(me, co, id, &c).key;
}

bool event_ask(struct lua_event *e, struct lua_local *me,
	       const struct coroutine *co, const lua_Debug *ar)
{
	struct identity f;

	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	if (e->kind == EVENT_RETURN && keys_are_needed(co))
		e->key = return_key(me, co, e->id);
	if (e->kind == EVENT_RETURN || e->kind == EVENT_TAIL_END)
		return true;
	if (co->vm->peek) {
		read_caller(e, me, co);
		f = function_at(me, co, e->id);
	} else {
		ask_caller(e, me, co);
		f = function_by_object(me, co, e->id, &e->cached);
	}
	e->key = f.key;
	e->is_c = f.is_c;
	settle_tail_call(e, co);
	return e->key != 0;
}

/* --------------------------------------------------------------- recording */

static void record_return(struct thread_state *s, const struct coroutine *co,
			  const struct lua_event *e, uint64_t now)
{
	const struct frame *const top = s->top - 1;

	if (likely(top->ret == e->id && top->site == (uint64_t)co->L))
		shadow_leave(s, now);
	else if (!lua_unwind_return(s, co, e->id, e->key, now))
		return;
	if (unlikely(shadow_segment(s)->inferred) && shadow_depth(s) == 0)
		lua_switch_body_ended(s, now);
}

/* A tail call takes its caller's frame over, with its id. */
static void record_tail_call(struct thread_state *s,
			     const struct coroutine *co,
			     const struct lua_event *e, const struct frame *f,
			     uint64_t now)
{
	const struct lua_caller self = { .id = e->id,
					 .above = e->caller.above };
	const struct frame *top = s->top - 1;

	if (top->ret != e->id || top->site != (uint64_t)co->L)
		lua_unwind_call(s, co, &self, now);
	top = s->top - 1;
	if (top->ret == e->id && top->site == (uint64_t)co->L)
		shadow_tail(s, f, now);
	else
		shadow_enter(s, f, now);
}

void event_record(struct thread_state *s, const struct coroutine *co,
		  const struct lua_event *e, uint64_t now)
{
	const struct frame f = {
		.key = e->key, .flags = frame_flags(e->is_c),
		.site = (uint64_t)co->L, .ret = e->id, .tick = now,
		.absorbed = FRAME_NONE_ABSORBED,
	};
	const bool returns = e->kind == EVENT_RETURN;

	CHECKED(lua_co_valid(co));
	CHECKED(returns || e->kind == EVENT_TAIL_END || e->key != 0);
	if (WEFT_LUA_ABI == 51)
		lua_unwind_taken_over(s, co, returns ? e->id : e->caller.id,
				     returns ? e->key : e->caller.key);
	if (returns) {
		record_return(s, co, e, now);
	} else if (e->kind == EVENT_TAIL_END) {
		lua_unwind_tail_end(s, co, now);
	} else if (e->kind == EVENT_TAIL) {
		record_tail_call(s, co, e, &f, now);
	} else {
		lua_unwind_call(s, co, &e->caller, now);
		shadow_enter(s, &f, now);
	}
	if (e->cached) {
		/* The open chunk has named the function now. */
		e->cached->index = chunk_index(s, e->key);
		e->cached->epoch = s->epoch;
	}
}
