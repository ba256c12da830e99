/* hook.c - our hooks: Lua's call and return events, as they come. The common
 * case calls nothing; the rest is left to uncommon.c.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua/attach.h"
#include "tracer/host/lua_func/function.h"
#include "tracer/host/lua/library.h"
#include "tracer/host/lua/sample.h"
#include "tracer/host/lua_vm/switch.h"
#include "tracer/host/lua_abi/abi.h"
#include "tracer/host/pool/process.h"
#include "tracer/host/thread/thread.h"

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
	if (ar->event == LUA_HOOKCOUNT)
		lua_ask_line_over(co);
	if (ar->event != LUA_HOOKRET && event_is_recorded(co, ar)) {
		thread_count_missed();
		if (co->vm->by_layout)
			function_number_frame((uint64_t)L, layout_id(ar));
	}
	/* A hook that nothing would put back stays where it is; in LuaJIT,
	 * whose compiler it keeps off, only if no call of Lua at all is seen.
	 * In the next recording, VMs are met anew; that the process has left
	 * this one looks as if the recorder had died. */
	if (co->vm->detached ||
	    (!lua_vm_on() &&
	     (co->vm->interposed || (IS_JIT && co->vm->lib->linked) ||
	      mapped_recorder_is_dead())))
		lua_hook_remove(co);
	/* No other function of ours may be called for long. */
	if (process_is_asked())
		process_ready();
	uncommon_pass_on(co, L, ar);
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
	uncommon_record(s, L, ar, sp);
}

/* ------------------------------------------------------------ the common case
 * It calls nothing, so that no registers need to be saved. Whatever is out of
 * the ordinary makes it give up before it has changed anything. */

/* To look at what is left out takes LuaJIT's common case too many registers. */
enum { LEFT_APART = IS_JIT };

/* Which calls have records: each; all but brief and deep ones; none. */
enum quick { QUICK_EACH, QUICK_CHOSEN, QUICK_COUNTED };

/* The innermost frame returns, which has no records, if it is below that
 * limit. */
INLINE bool quick_pop(struct thread_state *s, const struct frame *limit,
		      uint64_t L, uint64_t id)
{
	struct frame *const f = s->top - 1;

	if (unlikely(f >= limit || f->ret != id || f->site != L))
		return false;
	s->top = f;
	return true;
}

/* The innermost frame returns. */
INLINE bool quick_return(struct thread_state *s, uint64_t L, uint64_t id,
			 enum quick which)
{
	const bool chosen = which == QUICK_CHOSEN;
	struct frame *const f = s->top - 1;

	if (which == QUICK_COUNTED)
		return quick_pop(s, s->count_limit, L, id);
	if (chosen && f >= s->deep)
		return quick_pop(s, s->deep_limit, L, id);
	if (unlikely(s->at >= (chosen ? s->chosen_quick : s->quick) ||
		     f->ret != id || f->site != L))
		return false;
	if (!shadow_quick_leave(s, f, f->key, chosen))
		return false;
	barrier(); /* else gcc does it where calls and returns meet again */
	return true;
}

/* C functions above the frame with this id whose returns LuaJIT has not told
 * end now. */
INLINE bool quick_end_untold(struct thread_state *s, uint64_t L, uint64_t id,
			     enum quick which)
{
	while (IS_JIT && frame_is_untold(s->top - 1) &&
	       s->top[-1].site == L && s->top[-1].ret > id) {
		if (!quick_return(s, L, s->top[-1].ret, which))
			return false;
	}
	return true;
}

/* Is the innermost frame one of L's, and may one be put above it? */
INLINE bool quick_may_call(const struct thread_state *s, uint64_t L,
			   enum quick which)
{
	const bool chosen = which == QUICK_CHOSEN;

	if (chosen && s->top >= s->deep)
		return s->top < s->deep_limit && s->top[-1].site == L;
	return likely(s->at < (chosen ? s->chosen_quick : s->quick) &&
		      s->top[-1].site == L) != 0;
}

/* A frame without records: nobody asks when it began. */
INLINE bool quick_deep_enter(struct thread_state *s, uint64_t L, uint64_t id,
			     const struct lua_cached *c)
{
	*s->top = (struct frame){
		.key = c->key, .flags = c->flags, .site = L, .ret = id,
		.tick = FRAME_TICK_UNKNOWN(s->last),
		.absorbed = FRAME_NONE_ABSORBED,
	};
	barrier();
	s->top++;
	return true;
}

/* The innermost frame calls this function, which the open chunk has named. */
INLINE bool quick_enter(struct thread_state *s, uint64_t L, uint64_t id,
			const struct lua_cached *c)
{
	struct frame *const f = s->top;
	uint64_t gap;

	if (!chunk_quick_gap(s, &gap))
		return false;
	f->key = c->key;
	f->flags = c->flags;
	f->site = L;
	f->ret = id;
	f->tick = s->last;
	f->absorbed = FRAME_NONE_ABSORBED;
	chunk_put(s, gap | c->enter);
	s->top++;
	barrier();
	return true;
}

/* Is f, one of L's, the frame of a caller of the call in this event? false,
 * too, if more than a few looks would tell. In LuaJIT a dead frame may lie
 * between caller and callee. */
INLINE bool is_called_on(const struct frame *f, uint64_t L, uint64_t id)
{
	enum { CALLERS = 16 };

	if (IS_JIT)
		return f->ret < id && layout_caller(L, id) >= f->ret;
	if (WEFT_LUA_ABI == 51)
		return f->ret < id; /* deeper calls have higher ids */
	PIN(id);
	for (int i = 0; i < CALLERS && layout_is_call(L, id); i++) {
		id = layout_caller(L, id);
		if (id == f->ret)
			return true;
	}
	return false;
}

/* The same, with one look at LuaJIT's links. */
INLINE bool quick_is_called_on(const struct frame *f, uint64_t L, uint64_t id)
{
#if WEFT_LUA_ABI == 21
	return f->ret < id && layout_lua_caller(L, id) >= f->ret;
#else
	return is_called_on(f, L, id);
#endif
}

/* Is what the innermost frame, L's, calls by a tail call to take its place? */
INLINE bool is_taken_over(const struct thread_state *s, uint64_t L)
{
#if WEFT_LUA_ABI == 51
	return (s->top[-1].key & KEY_LUA) &&
	       unlikely(layout_tail_calls(L, s->top[-1].ret));
#else
	(void)s;
	(void)L;
	return false;
#endif
}

/* Is it a call that is left out, with the innermost frame below it? That is one
 * of L's. Nothing has ended then, but for C functions that LuaJIT has not told
 * of. */
INLINE bool quick_left_out(const struct thread_state *s, uint64_t L,
			   uint64_t id, const struct lua_cached *c)
{
	return c->epoch == ~s->epoch && c->enter == 0 &&
	       (!IS_JIT || !frame_is_untold(s->top - 1)) &&
	       likely(s->segments == 1 || shadow_depth(s) != 0) &&
	       quick_is_called_on(s->top - 1, L, id) && !is_taken_over(s, L);
}

/* The same of its return. In LuaJIT the frame of a call that has one may lie
 * further up by now, so that the function must tell. */
INLINE bool quick_left_back(struct thread_state *s, uint64_t L, uint64_t id)
{
	const struct lua_cached *const c = !IS_JIT ? NULL :
		function_cached(s->lua, L, id, FUNCTION_QUICK);

	if (IS_JIT && (!c || c->epoch != ~s->epoch ||
		       c->key == s->top[-1].key ||
		       frame_is_untold(s->top - 1)))
		return false;
	return s->top[-1].site == L && s->too_deep == 0 &&
	       quick_is_called_on(s->top - 1, L, id);
}

/* A call whose caller's frame is the innermost one: nothing has died, and L is
 * where it was. Or one that is left out. left: where it is put if that must be
 * seen apart. */
INLINE bool quick_call(struct thread_state *s, uint64_t L, uint64_t id,
		       enum quick which, const struct lua_cached **left)
{
	const struct lua_cached *c;
	bool is_deep;

	if (!quick_may_call(s, L, which))
		return false;
	c = function_cached(s->lua, L, id, FUNCTION_QUICK);
	is_deep = which == QUICK_CHOSEN && s->top >= s->deep;
	if (unlikely(!c))
		return false;
	if (unlikely(!is_deep && c->epoch != s->epoch)) {
		PIN(c);
		if (!LEFT_APART || !left)
			return quick_left_out(s, L, id, c);
		*left = c;
		return false;
	}
	if (unlikely(!layout_is_called_by(L, id, s->top[-1].ret)))
		return false;
	if (c->flags == FRAME_LUA_SETTLED && is_taken_over(s, L))
		return false;
	return is_deep ? quick_deep_enter(s, L, id, c) :
	       quick_enter(s, L, id, c);
}

/* --------------------------------------------------------- what is left out
 * The common case has given up on it. */

/* Are all of L's frames in the topmost segment those of callers of the call in
 * this event, and is it no frame itself? Then nothing has ended. false, too, if
 * more than a few looks would tell. */
INLINE bool is_callee(const struct thread_state *s, uint64_t L, uint64_t id)
{
	enum { NATIVE = 32 };
	const struct frame *f = s->top;
	const struct frame *const base =
		s->frames + s->segment[s->segments - 1].base;

	for (int i = 0; f > base && f[-1].site != L; i++, f--) {
		if (i == NATIVE)
			return false;
	}
	return f == base || is_called_on(f - 1, L, id);
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

/* A call of a function whose calls are left out or counted. What begins a
 * coroutine is recorded, and what may take over the frame of its caller takes a
 * look. */
INLINE bool quick_left_call(struct thread_state *s, uint64_t L, uint64_t id,
			    const struct lua_cached *c)
{
	if (!c || c->epoch != ~s->epoch || s->too_deep != 0 ||
	    !is_callee(s, L, id) ||
	    (s->segments > 1 && shadow_depth(s) == 0))
		return false;
	if (s->top[-1].site == L && is_taken_over(s, L))
		return false;
	if (c->enter == 0)
		return true;
	if (!counted_quick(s, c->key))
		return false;
	counted_await(s, c->key);
	return true;
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
		uncommon_give_up(L, ar);
}

/* ----------------------------------- where calls are counted, deep or brief */

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
	if (c->flags == FRAME_LUA_SETTLED && is_taken_over(s, L))
		return false;
	if (!counted_call(s, f, c->key))
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

INLINE bool counted_event(struct thread_state *s, uint64_t L,
			  const lua_Debug *ar)
{
	const uint64_t id = layout_id(ar);

	if (ar->event == LUA_HOOKRET)
		return quick_return(s, L, id, QUICK_COUNTED) ||
		       (IS_JIT && quick_end_untold(s, L, id, QUICK_COUNTED) &&
			quick_return(s, L, id, QUICK_COUNTED));
	return ar->event == LUA_HOOKCALL &&
	       (count_call(s, L, id) ||
		(IS_JIT && quick_end_untold(s, L, layout_caller(L, id),
					    QUICK_COUNTED) &&
		 count_call(s, L, id)));
}

/* The common case where brief or deep calls have no records. */
INLINE bool chosen_event(struct thread_state *s, uint64_t L,
			 const lua_Debug *ar)
{
	const uint64_t id = layout_id(ar);

	if (ar->event == LUA_HOOKRET)
		return quick_end_untold(s, L, id, QUICK_CHOSEN) &&
		       quick_return(s, L, id, QUICK_CHOSEN);
	return ar->event == LUA_HOOKCALL &&
	       (!IS_JIT || quick_end_untold(s, L, layout_caller(L, id),
					    QUICK_CHOSEN)) &&
	       quick_call(s, L, id, QUICK_CHOSEN, NULL);
}

/* Not inlined, so that the common case of recording saves no registers. */
static NOINLINE void event_apart(lua_State *L, lua_Debug *ar, uint64_t sp)
{
	struct thread_state *const s = thread_hot;
	const uint64_t at = (uint64_t)L;

	if (s->busy != 0 || s->lua_plain != L ||
	    s->generation !=
	    atomic_load_explicit(&mapped_pool->generation,
				 memory_order_relaxed)) {
		hook_shared(L, ar);
		return;
	}
	s->busy = sp;
	barrier();
	if ((s->counts && counted_event(s, at, ar)) ||
	    (s->chooses && chosen_event(s, at, ar)))
		thread_release_hot(s);
	else if (s->counts)
		uncommon_give_up(L, ar);
	else
		give_up_unless_skipped(L, ar, false);
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

/* The entry of the function that the event calls; NULL: it needs a look. */
INLINE const struct lua_cached *asked_callee(struct lua_local *me,
					     const struct lua_vm *vm,
					     lua_State *L, lua_Debug *ar)
{
	const struct weft_lua_api *const api = &vm->lib->api;
	const struct lua_cached *c;
	uint64_t object;
	bool known;

	if (!function_may_ask(api, L))
		return NULL;
	API(api, lua_getinfo)(L, "f", ar);
	object = (uint64_t)API(api, lua_topointer)(L, -1);
	c = function_object_place(me, object);
	known = function_none_freed(vm) &&
		function_is_object(c, object, vm->watched);
	/* All but LuaJIT put the stack's top back when a hook returns. */
	if (IS_JIT || unlikely(!known))
		API(api, lua_settop)(L, -2);
	return known ? c : NULL;
}

static NOINLINE void asking_call(lua_State *L, lua_Debug *ar)
{
	struct thread_state *const s = thread_hot;
	const struct lua_vm *const vm = vm_of(s->lua, L);
	const uint64_t at = (uint64_t)L;
	/* First: with the watch first and this last, a call took 3 to 5 ns
	 * more, in fewer instructions. */
	const uint64_t caller = caller_of(&vm->lib->api, L, layout_id(ar));
	const struct lua_cached *const c = asked_callee(s->lua, vm, L, ar);

	s->busy = HERE;
	barrier();
	if (likely(c && quick_end_untold(s, at, caller, QUICK_EACH) &&
		   quick_may_call(s, at, QUICK_EACH) &&
		   s->top[-1].ret == caller &&
		   c->epoch == s->epoch &&
		   quick_enter(s, at, layout_id(ar), c)))
		thread_release_hot(s);
	else
		uncommon_give_up(L, ar);
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
		done = quick_end_untold(s, at, id, QUICK_EACH) &&
		       quick_return(s, at, id, QUICK_EACH);
	else if (!asks && ar->event == LUA_HOOKCALL)
		done = quick_end_untold(s, at, layout_caller(at, id),
					QUICK_EACH) &&
		       quick_call(s, at, id, QUICK_EACH, NULL);
	if (likely(done))
		thread_release_hot(s);
	else
		give_up_unless_skipped(L, ar, asks);
}

/* A call, of c's function, or a return that the common case has given up on. It
 * may be left out. */
static NOINLINE void left_apart(lua_State *L, lua_Debug *ar,
				const struct lua_cached *c)
{
	struct thread_state *const s = thread_hot;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);

	if (c ? quick_left_out(s, at, id, c) : quick_left_back(s, at, id))
		thread_release_hot(s);
	else
		untold_event(L, ar, false);
}

/* --------------------------------------------------------------- our hooks */

INLINE void not_quick(lua_State *L, lua_Debug *ar, bool asks, bool may_be_left,
		      const struct lua_cached *left)
{
	if (LEFT_APART && may_be_left)
		left_apart(L, ar, left);
	else if (IS_JIT)
		untold_event(L, ar, asks);
	else
		give_up_unless_skipped(L, ar, asks);
}

/* asks: the layout is not trusted. */
INLINE void quick_event(lua_State *L, lua_Debug *ar, uint64_t sp, bool asks)
{
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	struct thread_state *const s = thread_hot;
	const struct lua_cached *left = NULL;
	bool done = false, back = false;

	/* Off, just gone on, or a handler that interrupted a hook. */
	if (unlikely(s->busy != 0 ||
		     s->each_generation !=
		     atomic_load_explicit(&mapped_pool->generation,
					  memory_order_relaxed))) {
		if (asks)
			hook_shared(L, ar);
		else
			event_apart(L, ar, sp);
		return;
	}
	if (asks && ar->event == LUA_HOOKCALL && likely(s->lua_plain == L)) {
		asking_call(L, ar);
		return;
	}
	s->busy = sp;
	barrier();
	if (likely(s->lua_plain == L)) {
		/* First: with calls first, 5.1 took 2 ns more. */
		if (ar->event == LUA_HOOKRET) {
			done = quick_return(s, at, id, QUICK_EACH);
			back = !done && !asks && mapped_view.verdicts;
			done |= back && !LEFT_APART &&
				quick_left_back(s, at, id);
		} else if (!asks && ar->event == LUA_HOOKCALL) {
			done = quick_call(s, at, id, QUICK_EACH, &left);
		}
	}
	if (likely(done))
		thread_release_hot(s);
	else
		not_quick(L, ar, asks, left || back, left);
}

static void hook_event(lua_State *L, lua_Debug *ar)
{
	quick_event(L, ar, HERE, false);
}

static void hook_asking(lua_State *L, lua_Debug *ar)
{
	quick_event(L, ar, HERE, true);
}

static void hook_sampled(lua_State *L, lua_Debug *ar)
{
	struct coroutine *const co = lua_co_find(L);

	sample_hook(co, L);
	uncommon_pass_on(co, L, ar);
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
	.sampled_hook = (weft_lua_function)hook_sampled,
	.watch_end = sample_watch_end,
	.calls = sample_calls,
	.family = frames_family,
	.main_of = frames_main_of,
	.lives = frames_lives,
	.innermost = frames_innermost,
	.resumable = frames_resumable,
	.walk = frames_walk,
	.memory = layout_memory,
	.white = layout_white,
	.name_all = function_name_all,
	.zone_begin = uncommon_zone_begin,
	.is_jit = IS_JIT,
#if WEFT_LUA_ABI == 21
	.wrap = luajit_wrap,
	.profiled = (weft_lua_function)sample_profiled,
	.goes_on = luajit_goes_on,
	.stack_of = luajit_stack,
#endif
};
