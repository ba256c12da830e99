/* ask.c - what is asked of Lua itself, seldom: which function this is,
 * what it is called, which calls are open. Never while busy; never anything
 * that allocates, runs a metamethod or raises an error. Compiled once per
 * version of Lua. SPDX-License-Identifier: MIT */
#include "tracer/host/lua/function.h"
#include "tracer/host/lua_abi/hook.h"
#include "tracer/host/lua/hide.h"
#include "tracer/host/lua/jit.h"
#include "tracer/host/lua_abi/compat.h"

/* ------------------------------------------------------------- functions */

#if WEFT_LUA_ABI == 21
/* Do its returns go untold? */
static int is_late(const struct coroutine *co, uint64_t id)
{
	return co->vm->own_wrapper || !co->vm->peek ||
	       layout_byte(layout_function((uint64_t)co->L, id) +
			   FUNC_FFID) != FFID_C;
}
#else
#define is_late(co, id) ((void)(id), 0)
#endif

/* Of the functions that may be given C data, the one that has no name of its
 * own, is called by no event, and so by whatever name. */
static int is_ffi_call(const struct coroutine *co, uint64_t id, uint64_t place)
{
	if (!lua_hook_ffi(co, id) || lua_func_is_named(place))
		return 0;
	if (lua_func_is_ffi(place))
		return 1;
	lua_hook_look(co->vm, co->L);
	if (lua_func_is_named(place))
		return 0;
	lua_func_ffi(place);
	return 1;
}

static uint64_t c_key(const struct coroutine *co, uint64_t id, lua_Debug *d,
		      int *is_c)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	const int is_event = d->namewhat &&
			     strcmp(d->namewhat, "metamethod") == 0;
	uint64_t place;
	int is_builtin;

	API(api, lua_getinfo)(co->L, "f", d);
	place = lua_hook_c_place(api, co->L, &is_builtin);
	API(api, lua_settop)(co->L, -2);
	if (place == 0 || lua_hide_c(place))
		return 0;
	if (!is_builtin && !is_event && is_ffi_call(co, id, place)) {
		*is_c = LUA_HOOK_ANEW;
		return lua_hook_ffi_callee(co, id);
	}
	if (WEFT_LUA_ABI == VM_LUAJIT)
		lua_jit_hold(co->vm);
	/* Its name is no variable's: many of its kind may live there. */
	lua_hook_name_c(co, place, is_builtin ? NULL : d);
	if (is_builtin)
		return lua_func_builtin(place, is_event ? d->name : NULL);
	if (is_late(co, id))
		lua_func_late(place);
	return place;
}

#if WEFT_LUA_ABI == 21
/* Was the function of this frame called in the place of another, which nobody
 * tells has ended? Then what Lua takes for its name is the other's. */
static int has_taken_over(const struct coroutine *co, uint64_t id)
{
	const struct thread_state *const s = thread_self;
	const struct frame *f = !s ? NULL : s->top - 1;

	while (f && frame_is_untold(f) && f->site == (uint64_t)co->L &&
	       f->ret > id)
		f--;
	return f && frame_is_plain_lua(f) && f->site == (uint64_t)co->L &&
	       f->ret >= id;
}
#else
#define has_taken_over(co, id) 0
#endif

static uint32_t ordinal(const struct coroutine *co, uint64_t id)
{
	int is_c;

	return co->vm->peek ? lua_hook_ordinal(layout_callee((uint64_t)co->L,
							     id, &is_c)) : 0;
}

uint64_t lua_hook_ask(const struct coroutine *co, uint64_t id, int *is_c)
{
	const struct weft_lua_api *const api = &co->vm->lib->api;
	lua_Debug d = ways_frame(id);

	if (!API(api, lua_getinfo)(co->L, "nS", &d))
		return 0;
	if (has_taken_over(co, id))
		d.name = d.namewhat = NULL;
	*is_c = d.what && d.what[0] == 'C';
	if (!*is_c && lua_hide_source(d.source))
		return 0;
	if (!*is_c)
		return lua_func_key(d.source, ways_source_length(&d),
				    d.linedefined, d.lastlinedefined,
				    ordinal(co, id), d.name);
	return c_key(co, id, &d, is_c);
}

uint64_t lua_hook_main_runs(uint64_t at, int began)
{
	const uint64_t source = layout_word(at + PROTO_SOURCE);
	/* A hash is no counter: lua_func_current never comes that far. */
	const uint64_t text = source == 0 ? 0 :
		UINT64_C(1) << 63 | lua_func_main_runs(source,
			(const char *)source + STRING_TEXT,
			layout_length(source));

	if (began && layout_holds(at) != 0)
		lua_hook_number_main(at, text);
	return text;
}

static void remember(struct lua_local *me, uint64_t at, uint64_t key, int is_c)
{
	struct lua_cached *const c = lua_hook_place(me, at);

	*c = (struct lua_cached){
		.at = at, .key = key, .flags = is_c ? LUA_FRAME_C :
		FRAME_LUA_SETTLED,
	};
	if (!is_c) {
		c->lines = layout_word(at + PROTO_LINES);
		c->source = layout_word(at + PROTO_SOURCE);
		if ((uint32_t)c->lines == 0) {
			c->current = &lua_func_never;
			c->text = lua_hook_main_runs(at, 1);
		} else {
			c->current = lua_func_current(c->source);
			c->text = atomic_load(c->current);
		}
	}
}

uint64_t lua_hook_key(struct lua_local *me, const struct coroutine *co,
		      uint64_t id, int *is_c)
{
	const uint64_t L = (uint64_t)co->L;
	const struct lua_cached *const c = lua_hook_cached(me, L, id,
							 HOOK_CALLED);
	uint64_t key;

	if (c) {
		*is_c = c->flags == LUA_FRAME_C;
		return c->key;
	}
	key = lua_hook_ask(co, id, is_c);
	if (key != 0 && *is_c != LUA_HOOK_ANEW)
		remember(me, layout_callee(L, id, is_c), key, *is_c);
	return key;
}

/* ------------------------------------------------------------- open calls */

static void put_frame(const struct coroutine *co, struct frame *to,
		      struct lua_local *me, uint64_t id)
{
	int is_c = 0;
	const uint64_t key = co->vm->peek ? lua_hook_key(me, co, id, &is_c) :
			     lua_hook_ask(co, id, &is_c);

	*to = (struct frame){
		.key = key, .site = (uint64_t)co->L, .ret = id,
		.flags = FRAME_LUA_SETTLED |
			 (is_c && WEFT_LUA_ABI == VM_LUAJIT ? FRAME_UNTOLD : 0),
		.absorbed = FRAME_NONE_ABSORBED,
		.tick = clock_now() - REC_AGE_UNKNOWN,
	};
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
static uint64_t outer(const struct coroutine *co, uint64_t id, int *level)
{
	if (co->vm->peek)
		return lua_hook_above((uint64_t)co->L, id);
	/* Costs the square of the depth: not the whole of a deep stack. */
	++*level;
	return *level > 1000 ? 0 : frame_at(co, level);
}

static void turn_round(struct frame *f, uint32_t count)
{
	for (uint32_t i = 0; i < count / 2; i++) {
		const struct frame other = f[i];

		f[i] = f[count - 1 - i];
		f[count - 1 - i] = other;
	}
}

uint32_t lua_hook_walk(struct lua_local *me, const struct coroutine *co,
		       int level, struct frame *to, uint32_t room)
{
	uint64_t id = frame_at(co, &level);
	uint32_t count = 0;

	lua_hook_number_open(co, 1);
	for (; id != 0 && count < room; count++) {
		put_frame(co, &to[count], me, id);
		id = outer(co, id, &level);
	}
	turn_round(to, count);
	return count;
}

/* ---------------------------------------------------------------- the rest */

static uint64_t family(const struct weft_lua_api *api, lua_State *L)
{
	return (uint64_t)API(api, lua_topointer)(L, LUA_REGISTRYINDEX);
}

#if LUA_VERSION_NUM >= 502
static lua_State *main_of(const struct lua_lib *lib, lua_State *L)
{
	const struct weft_lua_api *const api = &lib->api;
	lua_State *main;

	API(api, lua_rawgeti)(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	main = API(api, lua_tothread)(L, -1);
	API(api, lua_settop)(L, -2);
	return main;
}
#else
/* Nothing in the API leads there: one of those known, the youngest first. */
static lua_State *main_of(const struct lua_lib *lib, lua_State *L)
{
	const uint64_t its = family(&lib->api, L);
	struct lua_vm *vm = lua_vm_each(lib, NULL);

	while (vm && vm->family != its)
		vm = lua_vm_each(lib, vm);
	return !vm ? NULL : vm->main;
}
#endif

static struct lua_caller innermost(const struct weft_lua_api *api,
				   lua_State *L, int peek)
{
	struct lua_caller c = { .above = peek ? lua_hook_above :
					 lua_hook_asked_above };
	lua_Debug d;

	if (API(api, lua_getstack)(L, 0, &d))
		c.id = layout_id(&d);
	return c;
}

/* lua_resume(L, from, narg, ...), of 5.1 (L, narg) */
static int resumable(const struct weft_lua_api *api, lua_State *L, long b,
		     long c)
{
	const int args = (int)(LUA_VERSION_NUM >= 502 ? c : b);
	lua_Debug d;

	switch (API(api, lua_status)(L)) {
	case LUA_YIELD:
		return 1;
	case 0:
		return API(api, lua_gettop)(L) > args &&
		       !API(api, lua_getstack)(L, 0, &d);
	default:
		return 0;
	}
}

/* The library's number, not the header's: 5.5 is 505. */
static int accepts(const struct weft_lua_api *api)
{
#if LUA_VERSION_NUM >= 504
	return api->lua_toclose && api->lua_version &&
	       (int)API(api, lua_version)(NULL) == LUA_VERSION_NUM;
#elif LUA_VERSION_NUM >= 502
	return !api->lua_toclose && api->lua_callk &&
	       api->lua_version &&
	       (int)*API(api, lua_version)(NULL) == LUA_VERSION_NUM;
#else
	return !api->lua_callk && api->lua_pcall &&
	       (api->luaJIT_setmode != NULL) == (WEFT_LUA_ABI == VM_LUAJIT);
#endif
}

const struct lua_abi lua_abi = {
	.number = (enum vm_abi)WEFT_LUA_ABI,
	.accepts = accepts,
	.check = lua_hook_check,
	.hook = (weft_lua_function)lua_hook_event,
	.shared_hook = (weft_lua_function)lua_hook_shared,
	.asking_hook = (weft_lua_function)lua_hook_asks,
	.family = family,
	.main_of = main_of,
	.innermost = innermost,
	.resumable = resumable,
	.walk = lua_hook_walk,
	.wrap = WEFT_LUA_ABI == VM_LUAJIT ? lua_hook_wrap : NULL,
	.is_jit = WEFT_LUA_ABI == VM_LUAJIT,
};
