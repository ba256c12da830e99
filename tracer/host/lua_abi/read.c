/* read.c - what an event says: kind, function, caller, whatever the
 * version of Lua makes of tail calls. Compiled once per version of Lua.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/lua_abi/hook.h"
#include "tracer/host/lua/library.h"

/* Nothing but the code of the caller tells of 5.1's tail calls when they are
 * made: without the layout they look like calls that end together. */
static int tails_unseen(const struct coroutine *co)
{
	return WEFT_LUA_ABI == 51 && co && !co->vm->peek;
}

int lua_hook_records(const struct coroutine *co, const lua_Debug *ar)
{
	enum { TAIL = 4 }; /* the same number for two things */

	switch (ar->event) {
	case LUA_HOOKCALL:
	case LUA_HOOKRET:
		return 1;
	case TAIL:
		return LUA_VERSION_NUM >= 502 || tails_unseen(co);
	default:
		return 0;
	}
}

static enum lua_event_kind kind_of(const lua_Debug *ar)
{
	switch (ar->event) {
	case LUA_HOOKRET:
		return EVENT_RETURN;
#if LUA_VERSION_NUM >= 502
	case LUA_HOOKTAILCALL:
		return EVENT_TAIL;
#else
	case LUA_HOOKTAILRET:
		return EVENT_TAIL_END;
#endif
	default:
		return EVENT_CALL;
	}
}

/* Before 5.4 what is tail-called has a frame of its own at first, which is gone
 * once it runs: it then has its caller's. */
static void settle_tail(struct lua_event *e, const struct coroutine *co)
{
	if (co->vm->peek && e->kind == EVENT_CALL &&
	    lua_hook_is_tail((uint64_t)co->L, e->id, e->is_c))
		e->kind = EVENT_TAIL;
	if (LUA_VERSION_NUM >= 504 || e->kind != EVENT_TAIL)
		return;
	e->id = e->caller.id;
	e->caller.id = !e->caller.above ? 0 :
		       e->caller.above((uint64_t)co->L, e->id);
}

static void read_caller(struct lua_event *e, const struct coroutine *co)
{
	e->caller.id = lua_hook_above((uint64_t)co->L, e->id);
	e->caller.above = lua_hook_above;
	e->caller.callee = e->id;
}

/* LuaJIT's frames are told by their functions, too. 0: this thread has not seen
 * it. */
static uint64_t key_at(struct lua_local *me, const struct coroutine *co,
		       uint64_t id)
{
	const struct lua_cached *c;

	if (WEFT_LUA_ABI != VM_LUAJIT || id == 0)
		return 0;
	c = lua_hook_cached(me, (uint64_t)co->L, id, HOOK_OPEN);
	return !c ? 0 : c->key;
}

int lua_hook_glance(struct lua_event *e, struct lua_local *me,
		    const struct coroutine *co, const lua_Debug *ar)
{
	struct lua_cached *c;

	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	if (!co->vm->peek)
		return e->kind == EVENT_RETURN && WEFT_LUA_ABI != VM_LUAJIT;
	if (e->kind == EVENT_RETURN) {
		e->key = key_at(me, co, e->id);
		return 1;
	}
	c = lua_hook_cached(me, (uint64_t)co->L, e->id, HOOK_CALLED);
	e->cached = c;
	if (!c)
		return 0;
	e->key = c->key;
	e->is_c = c->flags == LUA_FRAME_C;
	read_caller(e, co);
	e->caller.key = key_at(me, co, e->caller.id);
	settle_tail(e, co);
	return 1;
}

static int keys_needed(const struct coroutine *co)
{
	return WEFT_LUA_ABI == VM_LUAJIT || tails_unseen(co);
}

static void ask_caller(struct lua_event *e, struct lua_local *me,
		       const struct coroutine *co)
{
	struct lua_cached *c;
	lua_Debug d;
	int is_c;

	if (!API(&co->vm->lib->api, lua_getstack)(co->L, 1, &d))
		return;
	e->caller.id = layout_id(&d);
	e->caller.above = lua_hook_asked_above;
	e->caller.callee = e->id;
	if (keys_needed(co))
		e->caller.key = lua_hook_asked(me, co, e->caller.id, &is_c, &c);
}

static uint64_t return_key(struct lua_local *me, const struct coroutine *co,
			   uint64_t id)
{
	struct lua_cached *c;
	int is_c;

	return co->vm->peek ? lua_hook_ask(co, id, &is_c) :
	       lua_hook_asked(me, co, id, &is_c, &c);
}

int lua_hook_read(struct lua_event *e, struct lua_local *me,
		  const struct coroutine *co, const lua_Debug *ar)
{
	*e = (struct lua_event){ .kind = kind_of(ar), .id = layout_id(ar) };
	if (e->kind == EVENT_RETURN && keys_needed(co))
		e->key = return_key(me, co, e->id);
	if (e->kind == EVENT_RETURN || e->kind == EVENT_TAIL_END)
		return 1;
	if (co->vm->peek) {
		read_caller(e, co);
		e->caller.key = key_at(me, co, e->caller.id);
		e->key = lua_hook_key(me, co, e->id, &e->is_c);
	} else {
		ask_caller(e, me, co);
		e->key = lua_hook_asked(me, co, e->id, &e->is_c, &e->cached);
	}
	settle_tail(e, co);
	return e->key != 0;
}

struct coroutine *lua_hook_meet(const struct lua_local *me, lua_State *L)
{
	const struct lua_lib *const lib = lua_lib_running(me->co,
							  &lua_abi);
	const struct coroutine *main;

	if (!lib)
		return NULL;
	main = lua_vm_find(lua_abi.main_of(lib, L));
	return !main ? NULL : lua_vm_thread_met(L, main);
}
