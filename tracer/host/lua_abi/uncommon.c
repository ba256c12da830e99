/* uncommon.c - events that the common case of a hook does not take: a lua_State
 * that is not where it should be, or is not known; whatever asks Lua something,
 * which is done while not busy. And the program's own hook.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/lua/turn.h"
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

/* -------------------------------------------------- the program's own hook */

void uncommon_pass_on(struct coroutine *co, lua_State *L, lua_Debug *ar)
{
	const struct coroutine *const h = !co ? NULL : lua_co_holder(co);
	const int event = ar->event != HOOK_TAIL ? ar->event :
			  LUA_VERSION_NUM >= 502 ? LUA_HOOKCALL : LUA_HOOKRET;

	/* LUA_MASKCALL and so on */
	if (h && h->app_hook && (h->app_mask & 1 << event) != 0)
		((lua_Hook)h->app_hook)(L, ar);
}

/* --------------------------------------------------------- uncommon events */

/* There is no memory, or no room in a table, to know the call by. */
static void count_unrecorded(const lua_Debug *ar)
{
	atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
	if (ar->event == LUA_HOOKCALL ||
	    (LUA_VERSION_NUM >= 502 && ar->event == HOOK_TAIL))
		atomic_fetch_add(&mapped_pool->unrecorded, 1);
}

/* A coroutine whose making was not seen; NULL: of an unknown VM, or there is no
 * room for it, which is counted unless ar is NULL. Not busy. */
static struct coroutine *meet_unseen(const struct lua_local *me, lua_State *L,
				     const lua_Debug *ar)
{
	const struct lua_lib *const lib =
		lua_lib_running(me->co, (enum vm_abi)WEFT_LUA_ABI);
	const struct coroutine *main;
	struct coroutine *co;

	if (!lib)
		return NULL;
	main = lua_co_find(frames_main_of(lib, L));
	if (!main)
		return NULL;
	co = lua_co_met(L, main);
	if (!co) {
		if (ar)
			count_unrecorded(ar);
		return NULL;
	}
	if (main->vm->interposed && lib->linked)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_PASSED);
	main->vm->interposed = false; /* something passes by our functions */
	return co;
}

/* The object of L, which lua_co_find knew as co. Where something passes by our
 * functions, the end of a VM is not seen, and another may have L by now. What
 * is suspended is not asked. NULL: of an unknown VM. Not busy. */
static struct coroutine *find_still(const struct lua_local *me, lua_State *L,
				    struct coroutine *co, const lua_Debug *ar)
{
	const uint32_t made = atomic_load(&lua_vm_made);
	const struct coroutine *main;

	if (co && lua_co_status(co) == LUA_YIELD)
		return co;
	main = !co ? NULL : lua_co_find(frames_main_of(co->vm->lib, L));
	if (!main || main->vm != co->vm)
		co = meet_unseen(me, L, ar);
	if (co)
		co->known_at = made;
	return co;
}

/* The id of the call that the event is, if nothing on its coroutine makes it,
 * or 0. */
static uint64_t event_begins(const struct lua_event *e)
{
	return e->kind == EVENT_CALL && e->caller.id == 0 ? e->id : 0;
}

/* walk: its open calls must be found first. Returns whether the call that the
 * event is has become a frame. */
static bool record_event(struct lua_local *me, struct coroutine *co,
			 const struct lua_event *e, bool walk, uint64_t sp)
{
	struct frame *const walked = walk ? lua_vm_walk_room(me) : NULL;
	uint32_t count = 0;
	struct thread_state *s;
	uint64_t now;
	bool is_frame;

	if (walked)
		count = frames_walk(me, co, e->kind == EVENT_RETURN ? 0 : 1,
				    walked, LUA_WALK_ROOM);
	s = thread_acquire(sp);
	if (!s)
		return false;
	now = chunk_clock(s);
	lua_switch_to(s, co, walked, count, event_begins(e), 0, sp, now);
	if (lua_vm_is_unbound(s))
		lua_vm_bind(s, co->vm);
	s->lua_plain = !co->vm->by_layout && lua_switch_is_in_place(s, co) &&
		       lua_vm_is_plain(s) ? co->L : NULL;
	me->co = co;
	event_record(s, co, e, now);
	is_frame = s->top[-1].key == e->key && s->top[-1].tick == now;
	thread_release(s);
	return is_frame;
}

static void record_by_asking(struct lua_local *me, struct coroutine *co,
			     const lua_Debug *ar, bool walk, uint64_t sp)
{
	struct lua_event e;

	function_number_open(co, walk);
	if (event_by_asking(&e, me, co, ar))
		record_event(me, co, &e, walk, sp);
}

/* Does an event on co need a walk? Outside of chosen calls nothing is recorded,
 * not even as open. Main functions may have run unseen in another window. */
static bool begin_event(const struct thread_state *s, struct lua_local *me,
			const struct coroutine *co)
{
	if (me->window != s->window) {
		me->window = s->window;
		lua_func_unseen();
	}
	return lua_switch_needs_walk(s, co) && !region_only;
}

/* s is busy when this is called. */
static SLOW void record_unknown(struct thread_state *s, lua_State *L,
				lua_Debug *ar, uint64_t sp)
{
	struct lua_local *const me = lua_vm_local(s);
	struct coroutine *co = lua_co_find(L);
	bool walk;

	if (!me || !event_is_recorded(co, ar)) {
		if (!me)
			count_unrecorded(ar);
		thread_release(s);
		uncommon_pass_on(co, L, ar);
		return;
	}
	if (!co || !co->vm->interposed) {
		thread_release(s);
		co = find_still(me, L, co, ar);
		if (!co)
			return;
		s = thread_acquire(sp);
		if (!s) {
			uncommon_pass_on(co, L, ar);
			return;
		}
	}
	walk = begin_event(s, me, co);
	thread_release(s);
	if (co->vm->detached)
		lua_hook_remove(co);
	else if (lua_vm_is_sampled(co->vm))
		lua_hook_set(co); /* takes that of a time before off */
	else if (!lua_vm_is_to_turn(co->vm) || !lua_turn_sampled(co, sp))
		record_by_asking(me, co, ar, walk, sp);
	if (lua_has_lines() && !co->vm->detached)
		lua_sample_lines(co);
	uncommon_pass_on(co, L, ar);
}

/* May co be switched to without asking Lua anything but what a busy state
 * allows? */
static bool may_switch(const struct thread_state *s,
		       const struct lua_local *me, const struct coroutine *co)
{
	return me->window == s->window &&
	       (co->vm->interposed ||
		co->known_at == atomic_load_explicit(&lua_vm_made,
						     memory_order_relaxed)) &&
	       co->vm->numbered == lua_func_times_unseen() &&
	       !lua_switch_needs_walk(s, co);
}

/* An event on a lua_State that is where it should be, or whose frames are
 * known, read by the layout. false: it is not, or something must be asked of
 * Lua. */
static bool record_known(struct thread_state *s, lua_State *L,
			 const lua_Debug *ar)
{
	struct coroutine *const co = lua_co_find(L);
	struct lua_local *const me = s->lua;
	struct lua_event e;
	bool in_place;
	uint64_t now;

	if (!me || !co)
		return false;
	in_place = lua_switch_is_in_place(s, co);
	if ((!in_place && !may_switch(s, me, co)) || co->vm->detached ||
	    lua_vm_is_sampled(co->vm) || lua_vm_is_to_turn(co->vm) ||
	    lua_vm_is_unbound(s) ||
	    !event_is_recorded(co, ar) || !event_by_layout(&e, me, co, ar))
		return false;
	now = chunk_clock(s);
	if (!in_place) {
		/* Only LuaJIT's resumes must be told by the events of calls
		 * that are given a coroutine, or are made for one
		 * (coroutine.wrap), so that it lives. */
		lua_switch_to(s, co, NULL, 0, event_begins(&e),
			      IS_JIT && e.kind == EVENT_CALL && e.is_c ?
			      luajit_held(co, e.id) : 0, s->busy, now);
		in_place = lua_switch_is_in_place(s, co);
	}
	me->co = co;
	s->lua_plain = in_place && lua_vm_is_plain(s) ? L : NULL;
	event_record(s, co, &e, now);
	return true;
}

/* Recording waits for a function: is it this call's? s is busy; it is not
 * meanwhile. Returns the busy state, or NULL. */
static struct thread_state *look_for_begin(struct thread_state *s, lua_State *L,
					   const lua_Debug *ar, uint64_t sp)
{
	struct lua_local *const me = lua_vm_local(s);
	struct coroutine *co = lua_co_find(L);
	struct lua_event e;

	if (!me || ar->event == LUA_HOOKRET || !event_is_recorded(co, ar))
		return s;
	thread_release(s);
	if (!co || !co->vm || !co->vm->interposed)
		co = find_still(me, L, co && co->vm ? co : NULL, NULL);
	if (co)
		function_number_open(co, false);
	if (co && event_by_asking(&e, me, co, ar) && e.key != 0)
		dictionary_begins(e.key);
	return thread_acquire(sp);
}

void uncommon_record(struct thread_state *s, lua_State *L, lua_Debug *ar,
		     uint64_t sp)
{
	struct coroutine *co;

	if (ar->event == LUA_HOOKLINE || ar->event == LUA_HOOKCOUNT) {
		co = lua_co_find(L);
		thread_release(s);
		sample_line(co, L, ar->event == LUA_HOOKCOUNT, sp);
		uncommon_pass_on(co, L, ar);
		return;
	}
	if (unlikely(s->awaits))
		s = look_for_begin(s, L, ar, sp);
	if (!s) {
		uncommon_pass_on(lua_co_find(L), L, ar);
		return;
	}
	if (!record_known(s, L, ar)) {
		record_unknown(s, L, ar, sp);
		return;
	}
	co = ((struct lua_local *)s->lua)->co;
	thread_release(s);
	if (lua_co_holder(co)->app_mask != 0)
		uncommon_pass_on(co, L, ar);
}

void uncommon_give_up(lua_State *L, lua_Debug *ar)
{
	uncommon_record(thread_self, L, ar, thread_self->busy);
}

/* ------------------------------------------------------------------ zones */

uint64_t uncommon_zone_begin(struct coroutine *co, uint64_t key, int level,
			     uint64_t sp)
{
	/* No frame has the place of a callee that begins here. */
	struct lua_event e = {
		.kind = EVENT_CALL, .key = key,
		.caller = frames_innermost(&co->vm->lib->api, co->L,
					   co->vm->by_layout),
	};
	struct thread_state *s;
	struct lua_local *me;
	bool walk = false;

	for (; level > 0 && e.caller.id != 0; level--)
		e.caller.id = e.caller.above((uint64_t)co->L, e.caller.id);
	e.id = e.caller.id;
	e.caller.callee = UINT64_MAX;
	s = e.id == 0 ? NULL : thread_acquire(sp);
	if (!s)
		return 0;
	me = lua_vm_local(s);
	if (me)
		walk = begin_event(s, me, co);
	thread_release(s);
	return me && record_event(me, co, &e, walk, sp) ? e.id : 0;
}
