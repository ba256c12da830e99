/* asked.c - call and return events of a Lua whose layout the check
 * does not know: functions are told apart by the public API, which costs more.
 * It is asked while not busy: its code may be instrumented. Compiled once per
 * version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/quick.h"
#include "tracer/host/lua_abi/compat.h"

/* The function of the call d is about: its object's address. It stays on the
 * stack. */
static uint64_t push_function(const struct weft_lua_api *api, lua_State *L,
			      lua_Debug *d)
{
	API(api, lua_getinfo)(L, "f", d);
	return (uint64_t)API(api, lua_topointer)(L, -1);
}

static uint64_t function_of(const struct weft_lua_api *api, lua_State *L,
			    lua_Debug *d)
{
	const uint64_t at = push_function(api, L, d);

	API(api, lua_settop)(L, -2);
	return at;
}

/* Apart from those of prototypes and C functions. */
static struct lua_cached *place_of(struct lua_local *me, uint64_t function)
{
	return lua_hook_place(me, ~function);
}

static int is_at(const struct lua_cached *c, uint64_t function,
		 uint64_t watched)
{
	return c->at == ~function && c->source == watched;
}

uint64_t lua_hook_asked(struct lua_local *me, const struct coroutine *co,
			uint64_t id, int *is_c, struct lua_cached **known)
{
	lua_Debug d = ways_frame(id);
	const uint64_t at = function_of(&co->vm->lib->api, co->L, &d);
	const uint64_t watched = lua_hook_watch(co->vm, co->L);
	struct lua_cached *const c = place_of(me, at);
	uint64_t key;

	*known = c;
	if (watched != 0 && is_at(c, at, watched)) {
		*is_c = c->flags == LUA_FRAME_C;
		return c->key;
	}
	key = lua_hook_ask(co, id, is_c);
	if (key == 0 || *is_c == LUA_HOOK_ANEW || watched == 0) {
		*known = NULL;
		return key;
	}
	*c = (struct lua_cached){
		.at = ~at, .source = watched, .key = key,
		.flags = *is_c ? LUA_FRAME_C : FRAME_LUA_SETTLED,
		.current = &lua_func_never,
	};
	return key;
}

/* The caller of the call d is about, as its id; 0: none. */
static uint64_t caller_of(const struct weft_lua_api *api, lua_State *L,
			  uint64_t id)
{
#if WEFT_LUA_ABI == 51
	(void)api;
	(void)L;
	return id - 1; /* frames are numbered */
#else
	lua_Debug d;

	(void)id;
	return API(api, lua_getstack)(L, 1, &d) ? layout_id(&d) : 0;
#endif
}

uint64_t lua_hook_asked_above(uint64_t at, uint64_t id)
{
	lua_State *const L = (lua_State *)at;
	const struct coroutine *const co = lua_vm_find(L);
	lua_Debug d;
	int found = 0;

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

/* A coroutine whose first event this is was not me->co as yet. */
static const struct lua_vm *vm_of(const struct lua_local *me, lua_State *L)
{
	return likely(me->co && me->co->L == L) ? me->co->vm :
	       lua_vm_find(L)->vm;
}

/* A call on the lua_State whose events need no look. */
static __attribute__((noinline)) void
called(struct thread_state *s, lua_State *L, lua_Debug *ar, uint64_t sp)
{
	struct lua_local *const me = s->lua;
	const struct lua_vm *const vm = vm_of(me, L);
	const struct weft_lua_api *const api = &vm->lib->api;
	const uint64_t caller = caller_of(api, L, layout_id(ar));
	const uint64_t at = push_function(api, L, ar);
	const struct lua_cached *const c = place_of(me, at);
	const int known = lua_hook_unfreed(vm) && is_at(c, at, vm->watched);

	/* All but LuaJIT put the stack's top back when a hook returns. */
	if (WEFT_LUA_ABI == VM_LUAJIT || unlikely(!known))
		API(api, lua_settop)(L, -2);
	s->busy = sp;
	barrier();
	if (likely(known && quick_ended_late(s, (uint64_t)L, caller) &&
		   quick_calls(s, (uint64_t)L, caller) &&
		   c->epoch == s->epoch &&
		   quick_entered(s, (uint64_t)L, layout_id(ar), c)))
		thread_release(s);
	else
		lua_hook_turned_down(L, ar);
}

void lua_hook_asks(lua_State *L, lua_Debug *ar)
{
	const uint64_t sp = HERE;
	const uint64_t at = (uint64_t)L, id = layout_id(ar);
	struct thread_state *const s = thread_self;

	if (unlikely(!s || s->busy != 0 ||
		     s->generation !=
			     atomic_load_explicit(&process_pool->generation,
						  memory_order_relaxed))) {
		lua_hook_shared(L, ar);
		return;
	}
	if (likely(s->lua_plain == L) && ar->event == LUA_HOOKCALL) {
		called(s, L, ar, sp);
		return;
	}
	s->busy = sp;
	barrier();
	if (likely(s->lua_plain == L) && ar->event == LUA_HOOKRET &&
	    quick_ended_late(s, at, id) && quick_returned(s, at, id))
		thread_release(s);
	else
		lua_hook_turned_down(L, ar);
}
