/* frames.c - the open calls of a coroutine, and the VM that it belongs to.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/abi.h"

/* -------------------------------------------------------------- open calls */

uint64_t frames_above(uint64_t at, uint64_t id)
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

static void put_frame(const struct coroutine *co, struct frame *to,
		      struct lua_local *me, uint64_t id)
{
	const struct identity f = co->vm->peek ? function_at(me, co, id) :
				  function_ask(co, id);

	*to = (struct frame){
		.key = f.key, .site = (uint64_t)co->L, .ret = id,
		.flags = FRAME_LUA_SETTLED |
			 (f.is_c && IS_JIT ? FRAME_UNTOLD : 0),
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
static uint64_t next_frame(const struct coroutine *co, uint64_t id, int *level)
{
	enum { LEVELS_ASKED = 1000 };

	if (co->vm->peek)
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
	uint64_t id = frame_at(co, &level);
	uint32_t count = 0;

	ordinal_number_open(co, true);
	for (; id != 0 && count < room; count++) {
		put_frame(co, &to[count], me, id);
		id = next_frame(co, id, &level);
	}
	reverse(to, count);
	return count;
}

struct lua_caller frames_innermost(const struct weft_lua_api *api,
				   lua_State *L, bool peek)
{
	struct lua_caller c = { .above = peek ? layout_above : frames_above };
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

uint64_t frames_family(const struct weft_lua_api *api, lua_State *L)
{
	return (uint64_t)API(api, lua_topointer)(L, LUA_REGISTRYINDEX);
}

#if LUA_VERSION_NUM >= 502
lua_State *frames_main_of(const struct lua_lib *lib, lua_State *L)
{
	const struct weft_lua_api *const api = &lib->api;
	lua_State *main;

	API(api, lua_rawgeti)(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	main = API(api, lua_tothread)(L, -1);
	API(api, lua_settop)(L, -2);
	return main;
}
#else
/* The API has no way to it: one of the known VMs, the youngest first. */
lua_State *frames_main_of(const struct lua_lib *lib, lua_State *L)
{
	const uint64_t family = frames_family(&lib->api, L);
	struct lua_vm *vm = lua_vm_each(lib, NULL);

	while (vm && vm->family != family)
		vm = lua_vm_each(lib, vm);
	return !vm ? NULL : vm->main;
}
#endif
