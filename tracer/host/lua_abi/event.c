/* event.c - what an event of Lua's says, whatever this version makes of tail
 * calls: its kind, function and caller; how it is recorded; the calls that are
 * open. SPDX-License-Identifier: MIT */
#include "tracer/host/base/memory.h"
#include "tracer/host/lua_func/c_name.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/lua_abi/abi.h"

/* -------------------------------------------------------------- open calls */

/* The same as layout_above, by the public API; takes as long as the frame is
 * deep. */
static uint64_t frames_above(uint64_t at, uint64_t id)
{
	lua_State *const L = (lua_State *)at;
	const struct coroutine *const co = lua_co_find(L);
	bool found = false;
	lua_Debug d;

	if (!co)
		return 0;
	for (int level = 0; API(&co->vm->lib->api, lua_getstack)(L, level, &d);
	     level++) {
		/* A call that a tail call ended has a level and no frame. */
		if (layout_id(&d) == 0)
			continue;
		if (found)
			return layout_id(&d);
		found = layout_id(&d) == id;
	}
	return 0;
}

/* Its age is not known (tick), and its call is no longer waited for. false: it
 * is not to be recorded. */
static bool put_frame(const struct coroutine *co, struct frame *to,
		      struct identity f, uint64_t id, uint64_t tick)
{
	*to = (struct frame){
		.key = f.key, .site = (uint64_t)co->L, .ret = id,
		.flags = FRAME_LUA_SETTLED |
			 (f.is_c && IS_JIT ? FRAME_UNTOLD : 0),
		.absorbed = FRAME_NONE_ABSORBED,
		.tick = tick,
	};
	return f.key != 0;
}

/* The function of an open call. yielded: that of the call which has. */
static struct identity function_of(struct lua_local *me,
				   const struct coroutine *co, uint64_t id,
				   enum function_moment moment, bool asleep,
				   bool yielded)
{
	return co->vm->by_layout && !yielded &&
	       layout_shows_callee((uint64_t)co->L, id) ?
	       function_at(me, co, id, moment, asleep) :
	       function_ask(co, id, asleep);
}

/* The frame at this level or above, or 0. Levels that stand for lost tail calls
 * have no frame. */
static uint64_t frame_at(const struct coroutine *co, int *level)
{
	lua_Debug d;

	while (API(&co->vm->lib->api, lua_getstack)(co->L, *level, &d)) {
		if (layout_id(&d) != 0)
			return layout_id(&d);
		++*level;
	}
	return 0;
}

/* The frame above, or 0. */
static uint64_t next_frame(const struct coroutine *co, uint64_t id, int *level)
{
	enum { LEVELS_ASKED = 1000 };

	if (co->vm->by_layout)
		return layout_above((uint64_t)co->L, id);
	/* The cost is the square of the depth: a deep stack is cut. */
	++*level;
	return *level > LEVELS_ASKED ? 0 : frame_at(co, level);
}

static void reverse(struct frame *f, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		const struct frame other = f[i];

		f[i] = f[count - 1 - i];
		f[count - 1 - i] = other;
	}
}

uint32_t frames_walk(struct lua_local *me, const struct coroutine *co,
		     int level, struct frame *to, uint32_t room)
{
	const bool asleep = level == LUA_WALK_ASLEEP;
	/* On whose stack there may be no room to look for names. */
	const bool bare = asleep ||
			  (WEFT_LUA_ABI == 51 && level == LUA_WALK_NO_EVENT) ||
			  (IS_JIT && level == LUA_WALK_TICK) ||
			  level == LUA_WALK_CALL;
	const enum function_moment moment = level == LUA_WALK_CALL ?
					    FUNCTION_STANDS : FUNCTION_CALLED;
	const uint64_t tick = FRAME_TICK_UNKNOWN(clock_now());
	uint32_t count = 0;
	uint64_t id;

	level = level < 0 ? 0 : level;
	id = frame_at(co, &level);
	function_number_open(co, moment != FUNCTION_STANDS);
	for (; id != 0 && count < room; id = next_frame(co, id, &level))
		count += put_frame(co, &to[count],
				   function_of(me, co, id, moment, bare,
					       asleep && count == 0), id,
				   tick);
	reverse(to, count);
	return count;
}

struct lua_caller frames_innermost(const struct weft_lua_api *api,
				   lua_State *L, bool by_layout)
{
	struct lua_caller c = { .above = by_layout ? layout_above :
					 frames_above };
	lua_Debug d;

	if (API(api, lua_getstack)(L, 0, &d))
		c.id = layout_id(&d);
	return c;
}

/* lua_resume(L, from, narg, ...), in 5.1 (L, narg) */
bool frames_resumable(const struct weft_lua_api *api, lua_State *L, long b,
		      long c)
{
	const int args = (int)(LUA_VERSION_NUM >= 502 ? c : b);
	lua_Debug d;

	switch (API(api, lua_status)(L)) {
	case LUA_YIELD:
		return true;
	case 0:
		return API(api, lua_gettop)(L) > args &&
		       !API(api, lua_getstack)(L, 0, &d);
	default:
		return false;
	}
}

/* ------------------------------------------------------------------ the VM */

/* What was freed and not used since looks as it did. */
bool frames_lives(const struct coroutine *co)
{
	uint64_t words[STATE_GLOBAL / sizeof(uint64_t) + 1];

	if (!co->vm->by_layout)
		return true;
	return memory_copy(words, co->L, sizeof(words)) &&
	       layout_is_state((uint64_t)words) &&
	       layout_global((uint64_t)words) ==
	       layout_global((uint64_t)co->vm->main);
}

uint64_t frames_family(const struct weft_lua_api *api, lua_State *L)
{
	return (uint64_t)API(api, lua_topointer)(
		L, compat_registry(api, L));
}

#if LUA_VERSION_NUM >= 502
lua_State *frames_main_of(const struct lua_lib *lib, lua_State *L)
{
	const struct weft_lua_api *const api = &lib->api;
	lua_State *main;

	API(api, lua_rawgeti)(L, compat_registry(api, L),
			      LUA_RIDX_MAINTHREAD);
	main = API(api, lua_tothread)(L, -1);
	API(api, lua_settop)(L, -2);
	return main;
}
#else
static bool is_main(const struct weft_lua_api *api, lua_State *L)
{
	const bool is = API(api, lua_pushthread)(L) == 1;

	API(api, lua_settop)(L, -2);
	return is;
}

/* The API has no way to that of a coroutine. Without the layout: that of one of
 * the known VMs, the youngest first. */
lua_State *frames_main_of(const struct lua_lib *lib, lua_State *L)
{
	const uint64_t family = frames_family(&lib->api, L);
	struct lua_vm *vm = lua_vm_each(lib, NULL);

	if (atomic_load(&lib->layout) == LAYOUT_RIGHT)
		return (lua_State *)(layout_global((uint64_t)L) +
				     lib->main_at);
	if (lib->api.lua_pushthread && is_main(&lib->api, L))
		return L;
	while (vm && vm->family != family)
		vm = lua_vm_each(lib, vm);
	/* A program's table of an earlier weft's cannot be asked. */
	return vm ? vm->main : lib->api.lua_pushthread ? NULL : L;
}
#endif

/* ------------------------------------------------------------ what it says */

/* Only the caller's code tells of 5.1's tail calls when they are made. Without
 * the layout they look like calls that end together. */
static bool tail_calls_are_unseen(const struct coroutine *co)
{
	return WEFT_LUA_ABI == 51 && co && !co->vm->by_layout;
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
	if (co->vm->by_layout && e->kind == EVENT_CALL &&
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

static void read_caller(struct lua_event *e, const struct coroutine *co)
{
	e->caller.id = layout_above((uint64_t)co->L, e->id);
	e->caller.above = layout_above;
	e->caller.callee = e->id;
	e->caller.key_at = IS_JIT ? key_at : NULL;
}

bool event_by_layout(struct lua_event *e, struct lua_local *me,
		     const struct coroutine *co, const lua_Debug *ar)
{
	struct lua_cached *c;

	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	if (!co->vm->by_layout)
		return e->kind == EVENT_RETURN && !IS_JIT;
	if (e->kind == EVENT_RETURN) {
		e->key = key_at(me, co, e->id);
		return !IS_JIT || e->key != 0;
	}
	c = function_cached(me, (uint64_t)co->L, e->id, FUNCTION_CALLED);
	e->cached = c;
	if (!c || lua_func_is_asked(c->key))
		return false;
	e->key = c->key;
	e->is_c = c->flags == frame_flags(true);
	read_caller(e, co);
	settle_tail_call(e, co);
	return true;
}

/* Must the functions of callers and returns be compared? */
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

/* LuaJIT's caller, if the callee has just taken its place in the cache. */
static void ask_moved(struct lua_event *e, struct lua_local *me,
		      const struct coroutine *co)
{
	if (!IS_JIT || e->caller.id == 0 || key_at(me, co, e->caller.id) != 0)
		return;
	e->caller.key = function_ask(co, e->caller.id, false).key;
	e->caller.key_at = NULL;
}

bool event_by_asking(struct lua_event *e, struct lua_local *me,
		     const struct coroutine *co, const lua_Debug *ar)
{
	struct lua_cached *c;
	struct identity f;

	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	/* By the layout it is known already, unless this thread has not seen
	 * the call, or too many since. */
	if (e->kind == EVENT_RETURN && keys_are_needed(co))
		e->key = co->vm->by_layout ?
			 function_ask(co, e->id, false).key :
			 function_by_object(me, co, e->id, &c).key;
	if (e->kind == EVENT_RETURN || e->kind == EVENT_TAIL_END)
		return true;
	if (co->vm->by_layout) {
		read_caller(e, co);
		f = function_at(me, co, e->id, FUNCTION_CALLED, false);
		ask_moved(e, me, co);
	} else {
		ask_caller(e, me, co);
		f = function_by_object(me, co, e->id, &e->cached);
	}
	e->key = f.key;
	e->is_c = f.is_c;
	e->was_asked = true;
	settle_tail_call(e, co);
	return e->key != 0;
}

/* --------------------------------------------------------------- recording */

/* The return of a call that has no frame, where calls may be left out: what it
 * called has ended. LuaJIT's frames tell by their places. */
static void end_left_out(struct thread_state *s, const struct coroutine *co,
			 uint64_t id, uint64_t now)
{
	const struct lua_caller self = {
		.id = id,
		.above = co->vm->by_layout ? layout_above : frames_above,
	};

	if (mapped_view.verdicts && !IS_JIT)
		lua_unwind_call(s, co, &self, now);
}

/* The last return of a coroutine whose resume was not seen is its end. */
static void record_return(struct thread_state *s, const struct coroutine *co,
			  const struct lua_event *e, uint64_t now)
{
	const struct frame *const top = s->top - 1;

	if (likely(top->ret == e->id && top->site == (uint64_t)co->L))
		shadow_leave(s, now);
	else if (!lua_unwind_return(s, co, e->id, e->key, now)) {
		end_left_out(s, co, e->id, now);
		return;
	}
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

/* What the open chunk does with the function's calls. */
static void cache(struct thread_state *s, const struct lua_event *e)
{
	if (mapped_view.verdicts &&
	    (chunk_skips(s, e->key) || chunk_counts(s, e->key))) {
		e->cached->enter = chunk_counts(s, e->key);
		e->cached->epoch = ~s->epoch;
	} else if (!lua_func_is_asked(e->key) &&
		   !chunk_still_opens(s, e->key)) {
		e->cached->enter = (uint32_t)rec_put(
			REC_ENTER, chunk_index(s, e->key), 0);
		e->cached->epoch = s->epoch;
	}
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
	if (unlikely(s->chooses) && !returns && s->top > depth_end(s))
		return; /* it has no record, and need not be named */
	if (e->cached)
		cache(s, e);
	if (e->was_asked && e->is_c)
		lua_c_tell_name(s, e->key);
	else if (e->was_asked)
		lua_func_tell_name(s, e->key);
}
