/* hook.c - our hooks: Lua's call and return events, as they come. The common
 * case comes first and calls nothing; whatever asks Lua something is done while
 * not busy. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua/function.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/switch.h"
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

/* -------------------------------------------------- the program's own hook */

static bool app_wants(const struct coroutine *co, int event)
{
	if (event == HOOK_TAIL)
		event = LUA_VERSION_NUM >= 502 ? LUA_HOOKCALL : LUA_HOOKRET;
	return (co->app_mask & 1 << event) != 0; /* LUA_MASKCALL and so on */
}

/* It may raise an error or yield: nothing of ours may be left to do. */
static SLOW void pass_on(struct coroutine *co, lua_State *L, lua_Debug *ar)
{
	const struct coroutine *const h = !co ? NULL : lua_co_holder(co);

	if (h && h->app_hook && app_wants(h, ar->event))
		((lua_Hook)h->app_hook)(L, ar);
}

/* --------------------------------------------------------- uncommon events */

/* Main states run in whatever native coroutine has called them. */
static bool runs_on_top(const struct thread_state *s,
			const struct coroutine *co)
{
	return co->serial == s->segment[s->segments - 1].serial ||
	       (co->serial == 0 && s->fiber == s->segments - 1);
}

/* Is it where it should be? */
static bool is_in_place(const struct thread_state *s,
			const struct coroutine *co)
{
	return co->window == s->window && runs_on_top(s, co);
}

/* A coroutine whose making was not seen; NULL: of an unknown VM. Not busy. */
static struct coroutine *meet(const struct lua_local *me, lua_State *L)
{
	const struct lua_lib *const lib = lua_lib_running(me->co, &lua_abi);
	const struct coroutine *main;

	if (!lib)
		return NULL;
	main = lua_co_find(frames_main_of(lib, L));
	if (!main)
		return NULL;
	if (main->vm->interposed && lib->linked)
		atomic_fetch_or(&process_slot->dropped, TROUBLE_LUA_PASSED);
	main->vm->interposed = false; /* something passes by our functions */
	return lua_co_met(L, main);
}

/* The object of L, which lua_co_find knew as co. Where something passes by our
 * functions, the end of a VM is not seen, and another may have L by now. What
 * is suspended is not asked. NULL: of an unknown VM. Not busy. */
static struct coroutine *known(const struct lua_local *me, lua_State *L,
			       struct coroutine *co)
{
	const uint32_t made = atomic_load(&lua_vm_made);
	const struct coroutine *main;

	if (co && lua_co_status(co) == LUA_YIELD)
		return co;
	main = !co ? NULL : lua_co_find(frames_main_of(co->vm->lib, L));
	if (!main || main->vm != co->vm)
		co = meet(me, L);
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

/* walk: its open calls must be found first. */
static void record_by_asking(struct lua_local *me, struct coroutine *co,
			     const lua_Debug *ar, bool walk, uint64_t sp)
{
	struct frame *walked = NULL;
	uint32_t count = 0;
	struct lua_event e;
	struct thread_state *s;
	uint64_t now;

	function_number_open(co, walk);
	if (!event_by_asking(&e, me, co, ar))
		return;
	if (walk)
		walked = lua_vm_walk_room(me);
	if (walked)
		count = frames_walk(me, co, e.kind == EVENT_RETURN ? 0 : 1,
				    walked, LUA_WALK_ROOM);
	s = thread_acquire(sp);
	if (!s)
		return;
	now = chunk_clock(s);
	lua_switch_to(s, co, walked, count, event_begins(&e), sp, now);
	if (lua_vm_is_unbound(s))
		lua_vm_bind(s, co->vm);
	s->lua_plain = !co->vm->by_layout && is_in_place(s, co) &&
		       lua_vm_is_plain(s) ? co->L : NULL;
	me->co = co;
	event_record(s, co, &e, now);
	thread_release(s);
}

/* There is no memory to know the call by. */
static void count_unrecorded(const lua_Debug *ar)
{
	atomic_fetch_or(&process_slot->dropped, TROUBLE_NO_MEMORY);
	if (ar->event == LUA_HOOKCALL ||
	    (LUA_VERSION_NUM >= 502 && ar->event == HOOK_TAIL))
		atomic_fetch_add(&mapped_pool->unrecorded, 1);
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
		pass_on(co, L, ar);
		return;
	}
	if (!co || !co->vm->interposed) {
		thread_release(s);
		co = known(me, L, co);
		if (!co)
			return;
		s = thread_acquire(sp);
		if (!s) {
			pass_on(co, L, ar);
			return;
		}
	}
	if (me->window != s->window) {
		me->window = s->window;
		lua_func_unseen();
	}
	/* Outside of chosen calls nothing is recorded, not even as open. */
	walk = lua_switch_needs_walk(s, co) && !region_only;
	thread_release(s);
	if (co->vm->detached)
		lua_hook_remove(co);
	else
		record_by_asking(me, co, ar, walk, sp);
	pass_on(co, L, ar);
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
	uint64_t now;

	if (!me || !co || (!is_in_place(s, co) && !may_switch(s, me, co)) ||
	    co->vm->detached || lua_vm_is_unbound(s) ||
	    !event_is_recorded(co, ar) || !event_by_layout(&e, me, co, ar))
		return false;
	now = chunk_clock(s);
	if (!is_in_place(s, co))
		lua_switch_to(s, co, NULL, 0, event_begins(&e), s->busy, now);
	me->co = co;
	s->lua_plain = is_in_place(s, co) && lua_vm_is_plain(s) ? L : NULL;
	event_record(s, co, &e, now);
	return true;
}

/* s is busy when this is called, and no longer when it returns. */
static SLOW void record_uncommon(struct thread_state *s, lua_State *L,
				 lua_Debug *ar, uint64_t sp)
{
	struct coroutine *co;

	if (!record_known(s, L, ar)) {
		record_unknown(s, L, ar, sp);
		return;
	}
	co = ((struct lua_local *)s->lua)->co;
	thread_release(s);
	if (lua_co_holder(co)->app_mask != 0)
		pass_on(co, L, ar);
}

/* An event that the common case gave up on. The thread's own state, which is
 * busy, is looked up anew, so that the common case need not keep what only this
 * one needs. */
static SLOW void give_up(lua_State *L, lua_Debug *ar)
{
	record_uncommon(thread_self, L, ar, thread_self->busy);
}

/* ----------------------------------- the hook beside the program's, or off */

/* Events went by: which main functions ran meanwhile, for one, is not known. */
static _Atomic int events_went_by;

/* Nothing is recorded at this moment. */
static SLOW void idle(lua_State *L, lua_Debug *ar)
{
	struct coroutine *const co = lua_co_find(L);

	atomic_store_explicit(&events_went_by, 1, memory_order_relaxed);
	if (!co)
		return;
	if (ar->event != LUA_HOOKRET && event_is_recorded(co, ar)) {
		thread_count_missed();
		/* This may take memory, by a system call. */
		if (co->vm->by_layout && !process_confined)
			function_number_frame((uint64_t)L, layout_id(ar));
	}
	/* A hook that nothing would put back stays where it is. */
	if (co->vm->detached || (!lua_vm_on() && co->vm->interposed))
		lua_hook_remove(co);
	pass_on(co, L, ar);
}

static __attribute__((noinline)) void hook_shared(lua_State *L, lua_Debug *ar)
{
	const uint64_t sp = (uint64_t)__builtin_frame_address(0);
	struct thread_state *const s = thread_acquire(sp);

	if (!s) {
		idle(L, ar);
		return;
	}
	if (unlikely(atomic_load_explicit(&events_went_by,
					  memory_order_relaxed)) &&
	    atomic_exchange(&events_went_by, 0))
		lua_func_unseen();
	record_uncommon(s, L, ar, sp);
}

/* ------------------------------------------------------------ the common case
 * It calls nothing, so that no registers need to be saved. Whatever is out of
 * the ordinary makes it give up before it has changed anything. */

/* The innermost frame returns. If nothing was recorded since its call, the two
 * become one record. */
INLINE bool quick_return(struct thread_state *s, uint64_t L, uint64_t id)
{
	struct frame *const f = s->top - 1;
	uint64_t *const last = s->at - 1;

	if (unlikely(s->at >= s->quick || f->ret != id || f->site != L))
		return false;
	if (likely(rec_may_be_leaf(*last))) {
		const uint64_t now = clock_ticks(), duration = now - s->last;

		if (unlikely(duration > REC_LEAF_MAX)) /* or negative */
			return false;
		s->last = now; /* first: a handler may jump away from here */
		*last = rec_enter_to_leaf(*last, duration);
	} else {
		const struct table_entry *const e = chunk_named(s, f->key);
		uint64_t now, gap;

		if (unlikely(!e))
			return false;
		now = clock_ticks();
		if (!chunk_quick_gap(s, now, &gap))
			return false;
		s->last = now;
		chunk_put(s, gap | (e->enter + (REC_LEAVE - REC_ENTER)));
	}
	barrier();
	s->top--;
	return true;
}

/* C functions above the frame with this id whose returns LuaJIT has not told
 * end now. */
INLINE bool quick_end_untold(struct thread_state *s, uint64_t L, uint64_t id)
{
	while (IS_JIT && frame_is_untold(s->top - 1) &&
	       s->top[-1].site == L && s->top[-1].ret > id) {
		if (!quick_return(s, L, s->top[-1].ret))
			return false;
	}
	return true;
}

/* Is the innermost frame one of L's, and may one be put above it? */
INLINE bool quick_may_call(const struct thread_state *s, uint64_t L)
{
	return likely(s->at < s->quick && s->top[-1].site == L) != 0;
}

/* The innermost frame calls this function, which the open chunk has named. */
INLINE bool quick_enter(struct thread_state *s, uint64_t L, uint64_t id,
			const struct lua_cached *c)
{
	struct frame *const f = s->top;
	const uint64_t now = clock_ticks();
	uint64_t gap;

	if (!chunk_quick_gap(s, now, &gap))
		return false;
	s->last = now;
	f->key = c->key;
	f->flags = c->flags;
	f->site = L;
	f->ret = id;
	f->tick = now;
	f->absorbed = FRAME_NONE_ABSORBED;
	chunk_put(s, gap | c->enter);
	s->top++;
	return true;
}

/* A call whose caller's frame is the innermost one: nothing has died, and L is
 * where it was. */
INLINE bool quick_call(struct thread_state *s, uint64_t L, uint64_t id)
{
	const struct lua_cached *c;

	if (!quick_may_call(s, L) ||
	    unlikely(!layout_is_called_by(L, id, s->top[-1].ret)))
		return false;
	c = function_cached(s->lua, L, id, FUNCTION_QUICK);
	if (unlikely(!c || c->epoch != s->epoch))
		return false;
#if WEFT_LUA_ABI == 51
	if (c->flags == FRAME_LUA_SETTLED && (s->top[-1].key & KEY_LUA) &&
	    unlikely(layout_tail_calls(L, s->top[-1].ret)))
		return false;
#endif
	return quick_enter(s, L, id, c);
}

/* --------------------------------------------------------- what is left out
 * The common case has given up on it. */

/* Are all of L's frames in the topmost segment those of callers of the call in
 * this event, and is it no frame itself? Then nothing has ended. false, too, if
 * more than a few looks would tell. */
INLINE bool is_callee(const struct thread_state *s, uint64_t L, uint64_t id)
{
	enum { NATIVE = 32, CALLERS = 16 };
	const struct frame *f = s->top;
	const struct frame *const base =
		s->frames + s->segment[s->segments - 1].base;

	for (int i = 0; f > base && f[-1].site != L; i++, f--) {
		if (i == NATIVE)
			return false;
	}
	if (f == base)
		return true;
	if (IS_JIT || WEFT_LUA_ABI == 51)
		return f[-1].ret < id; /* deeper calls have higher ids */
	for (int i = 0; i < CALLERS && layout_is_call(L, id); i++) {
		id = layout_caller(L, id);
		if (id == f[-1].ret)
			return true;
	}
	return false;
}

/* A return of a call that has no frame. In LuaJIT one that has may lie further
 * up by now, so that the function must tell. */
INLINE bool quick_left_return(const struct thread_state *s, uint64_t L,
			      uint64_t id)
{
	const struct lua_cached *const c = !IS_JIT ? NULL :
		function_cached(s->lua, L, id, FUNCTION_OPEN);

	if (IS_JIT && (!c || c->epoch != ~s->epoch ||
		       c->key == s->top[-1].key))
		return false;
	return s->too_deep == 0 && is_callee(s, L, id);
}

/* A call of a function whose calls are left out. What begins a coroutine is
 * recorded, and what may take over the frame of its caller takes a look. */
INLINE bool quick_left_call(const struct thread_state *s, uint64_t L,
			    uint64_t id, const struct lua_cached *c)
{
	if (!c || c->epoch != ~s->epoch || !is_callee(s, L, id) ||
	    (s->segments > 1 && shadow_depth(s) == 0))
		return false;
#if WEFT_LUA_ABI == 51
	return s->top[-1].site != L || !(s->top[-1].key & KEY_LUA) ||
	       !layout_tail_calls(L, s->top[-1].ret);
#else
	return true;
#endif
}

/* An event that the common case has given up on. asks: the layout is not
 * trusted. The state is busy. */
static NOINLINE void give_up_unless_skipped(lua_State *L, lua_Debug *ar,
					    bool asks)
{
	struct thread_state *const s = thread_hot;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	bool skipped = false;

	if (unlikely(mapped_view.verdicts && !asks && s->lua_plain == L)) {
		if (ar->event == LUA_HOOKRET)
			skipped = quick_left_return(s, at, id);
		else if (ar->event == LUA_HOOKCALL)
			skipped = quick_left_call(s, at, id,
				function_cached(s->lua, at, id,
						FUNCTION_QUICK));
	}
	if (skipped)
		thread_release_hot(s);
	else
		give_up(L, ar);
}

/* --------------------------------------------- where calls are only counted */

INLINE bool count_return(struct thread_state *s, uint64_t L, uint64_t id)
{
	struct frame *const f = s->top - 1;

	if (unlikely(f >= s->count_limit || f->ret != id || f->site != L))
		return false;
	s->top = f;
	return true;
}

/* As quick_end_untold does. */
INLINE bool count_end_untold(struct thread_state *s, uint64_t L, uint64_t id)
{
	while (frame_is_untold(s->top - 1) && s->top[-1].site == L &&
	       s->top[-1].ret > id) {
		if (!count_return(s, L, s->top[-1].ret))
			return false;
	}
	return true;
}

/* As quick_call does. */
INLINE bool count_call(struct thread_state *s, uint64_t L, uint64_t id)
{
	struct frame *const f = s->top;
	const struct lua_cached *c;

	if (unlikely(f[-1].site != L || !layout_is_called_by(L, id, f[-1].ret)))
		return false;
	c = function_cached(s->lua, L, id, FUNCTION_QUICK);
	if (unlikely(!c || c->epoch != s->epoch))
		return false;
#if WEFT_LUA_ABI == 51
	if (c->flags == FRAME_LUA_SETTLED && (f[-1].key & KEY_LUA) &&
	    unlikely(layout_tail_calls(L, f[-1].ret)))
		return false;
#endif
	if (!counted_call(s, c->key))
		return false;
	f->key = c->key;
	f->flags = c->flags;
	f->site = L;
	f->ret = id;
	f->absorbed = FRAME_NONE_ABSORBED;
	barrier();
	s->top++;
	return true;
}

/* false: nothing was done. */
INLINE bool counted_event(lua_State *L, lua_Debug *ar, uint64_t sp)
{
	struct thread_state *const s = thread_counting;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	bool done = false;

	if (s->busy != 0 || s->lua_plain != L ||
	    s->generation !=
	    atomic_load_explicit(&mapped_pool->generation,
				 memory_order_relaxed))
		return false;
	s->busy = sp;
	barrier();
	if (ar->event == LUA_HOOKRET)
		done = count_return(s, at, id) ||
		       (IS_JIT && count_end_untold(s, at, id) &&
			count_return(s, at, id));
	else if (ar->event == LUA_HOOKCALL)
		done = count_call(s, at, id) ||
		       (IS_JIT &&
			count_end_untold(s, at, layout_caller(at, id)) &&
			count_call(s, at, id));
	thread_release_hot(s);
	return done;
}

/* Not inlined, so that the common case of recording saves no registers. */
static NOINLINE void count_event(lua_State *L, lua_Debug *ar, uint64_t sp)
{
	if (!counted_event(L, ar, sp))
		hook_shared(L, ar);
}

/* --------------------------------------------------- without a trusted layout
 * The public API tells functions apart, which costs more. It is asked while not
 * busy: its code may be instrumented. */

/* The id of the caller of the call in this event; 0: none. */
static uint64_t caller_of(const struct weft_lua_api *api, lua_State *L,
			  uint64_t id)
{
	lua_Debug d;

	if (WEFT_LUA_ABI == 51)
		return id - 1; /* frames are numbered */
	return API(api, lua_getstack)(L, 1, &d) ? layout_id(&d) : 0;
}

/* The VM of L, whose events need no look. me->co is another coroutine where
 * this is the first event of L's since it was resumed. */
static const struct lua_vm *vm_of(const struct lua_local *me, lua_State *L)
{
	return likely(me->co && me->co->L == L) ? me->co->vm :
	       lua_co_find(L)->vm;
}

static __attribute__((noinline)) void
asking_call(struct thread_state *s, lua_State *L, lua_Debug *ar, uint64_t sp)
{
	struct lua_local *const me = s->lua;
	const struct lua_vm *const vm = vm_of(me, L);
	const struct weft_lua_api *const api = &vm->lib->api;
	const uint64_t at = (uint64_t)L;
	const uint64_t caller = caller_of(api, L, layout_id(ar));
	const struct lua_cached *c;
	uint64_t object;
	bool known;

	API(api, lua_getinfo)(L, "f", ar);
	object = (uint64_t)API(api, lua_topointer)(L, -1);
	c = function_object_place(me, object);
	known = function_none_freed(vm) &&
		function_is_object(c, object, vm->watched);
	/* All but LuaJIT put the stack's top back when a hook returns. */
	if (IS_JIT || unlikely(!known))
		API(api, lua_settop)(L, -2);
	s->busy = sp;
	barrier();
	if (likely(known && quick_end_untold(s, at, caller) &&
		   quick_may_call(s, at) && s->top[-1].ret == caller &&
		   c->epoch == s->epoch &&
		   quick_enter(s, at, layout_id(ar), c)))
		thread_release_hot(s);
	else
		give_up(L, ar);
}

/* -------------------------------------------------------- LuaJIT's own case */

/* The common case gave up on an event, perhaps since C functions have returned
 * untold. The state is busy. */
static __attribute__((noinline)) void untold_event(lua_State *L, lua_Debug *ar,
						   bool asks)
{
	struct thread_state *const s = thread_self;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	bool done = false;

	if (s->lua_plain != L)
		done = false;
	else if (ar->event == LUA_HOOKRET)
		done = quick_end_untold(s, at, id) && quick_return(s, at, id);
	else if (!asks && ar->event == LUA_HOOKCALL)
		done = quick_end_untold(s, at, layout_caller(at, id)) &&
		       quick_call(s, at, id);
	if (likely(done))
		thread_release_hot(s);
	else
		give_up_unless_skipped(L, ar, asks);
}

/* --------------------------------------------------------------- our hooks */

/* asks: the layout is not trusted. */
INLINE void quick_event(lua_State *L, lua_Debug *ar, uint64_t sp, bool asks)
{
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	struct thread_state *const s = thread_hot;
	bool done = false;

	/* Off, just gone on, or a handler that interrupted a hook. */
	if (unlikely(s->busy != 0 ||
		     s->generation !=
		     atomic_load_explicit(&mapped_pool->generation,
					  memory_order_relaxed))) {
		if (asks)
			hook_shared(L, ar);
		else
			count_event(L, ar, sp);
		return;
	}
	if (asks && likely(s->lua_plain == L) && ar->event == LUA_HOOKCALL &&
	    function_may_ask(&vm_of(s->lua, L)->lib->api, L)) {
		asking_call(s, L, ar, sp);
		return;
	}
	s->busy = sp;
	barrier();
	if (likely(s->lua_plain == L)) {
		if (ar->event == LUA_HOOKRET)
			done = quick_return(s, at, id);
		else if (!asks && ar->event == LUA_HOOKCALL)
			done = quick_call(s, at, id);
	}
	if (likely(done))
		thread_release_hot(s);
	else if (IS_JIT)
		untold_event(L, ar, asks);
	else
		give_up_unless_skipped(L, ar, asks);
}

static void hook_event(lua_State *L, lua_Debug *ar)
{
	quick_event(L, ar, HERE, false);
}

static void hook_asking(lua_State *L, lua_Debug *ar)
{
	quick_event(L, ar, HERE, true);
}

/* --------------------------------------------------- what others see of it */

/* The number is the library's, not the header's: 5.5 says 505. */
static bool accepts(const struct weft_lua_api *api)
{
#if LUA_VERSION_NUM >= 504
	return api->lua_toclose && api->lua_version &&
	       (int)API(api, lua_version)(NULL) == LUA_VERSION_NUM;
#elif LUA_VERSION_NUM >= 502
	return !api->lua_toclose && api->lua_callk && api->lua_version &&
	       (int)*API(api, lua_version)(NULL) == LUA_VERSION_NUM;
#else
	return !api->lua_callk && api->lua_pcall &&
	       !api->luaJIT_setmode == !IS_JIT;
#endif
}

const struct lua_abi lua_abi = {
	.number = (enum vm_abi)WEFT_LUA_ABI,
	.accepts = accepts,
	.check = layout_check,
	.hook = (weft_lua_function)hook_event,
	.shared_hook = (weft_lua_function)hook_shared,
	.asking_hook = (weft_lua_function)hook_asking,
	.family = frames_family,
	.main_of = frames_main_of,
	.innermost = frames_innermost,
	.resumable = frames_resumable,
	.walk = frames_walk,
	.name_all = function_name_all,
	.is_jit = IS_JIT,
#if WEFT_LUA_ABI == 21
	.wrap = luajit_wrap,
#endif
};
