/* hook.h - what the files compiled once per version of Lua share.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_ABI_HOOK_H
#define WEFT_TRACER_HOST_LUA_ABI_HOOK_H

#include "tracer/host/lua_abi/layout.h"
#include "tracer/host/lua/unwind.h"

/* Of the frame of a C function that Lua calls. */
#define LUA_FRAME_C (FRAME_LUA | FRAME_ABSORBS |                               \
		     (WEFT_LUA_ABI == VM_LUAJIT ? FRAME_UNTOLD : 0))

/* The library's own function of that name. */
#define API(api, name) ((__typeof__(&name))(api)->name)

INLINE struct lua_cached *lua_hook_place(struct lua_local *me, uint64_t at)
{
	return &me->cache[(at * GOLDEN) >> (64 - LUA_CACHE_BITS)];
}

/* The main function with this prototype is called, or (began 0) was before;
 * what tells it from others. */
uint64_t lua_hook_main_runs(uint64_t at, int began);

/* What is known of the frame's function, by its layout; NULL: this thread has
 * not seen it. Main functions are not known to the quick path. */
enum lua_hook_moment { HOOK_CALLED, HOOK_CALLED_QUICK, HOOK_OPEN };
INLINE struct lua_cached *lua_hook_cached(struct lua_local *me, uint64_t L,
					  uint64_t id,
					  enum lua_hook_moment moment)
{
	int is_c;
	const uint64_t at = layout_callee(L, id, &is_c);
	struct lua_cached *const c = lua_hook_place(me, at);

	if (unlikely(c->at != at))
		return NULL;
	if (is_c)
		return c;
	if (unlikely(c->lines != layout_word(at + PROTO_LINES) ||
		     c->source != layout_word(at + PROTO_SOURCE)))
		return NULL;
	if (likely(c->text == atomic_load_explicit(c->current,
						   memory_order_relaxed)))
		return c;
	return moment == HOOK_CALLED_QUICK || (uint32_t)c->lines != 0 ||
	       c->text != lua_hook_main_runs(at, moment == HOOK_CALLED) ?
	       NULL : c;
}

/* The caller of the frame with this id, 0: none. */
INLINE uint64_t lua_hook_above(uint64_t L, uint64_t id)
{
	const uint64_t caller = layout_caller(L, id);

	return layout_is_call(L, caller) ? caller : 0;
}

/* Our hooks; each a lua_Hook. */
void lua_hook_event(lua_State *L, lua_Debug *ar);
void lua_hook_shared(lua_State *L, lua_Debug *ar);
void lua_hook_asks(lua_State *L, lua_Debug *ar);

/* An event the quick ways gave up on. Busy; ends that. */
void lua_hook_turned_down(lua_State *L, lua_Debug *ar);

/* What an event says. */
enum lua_event_kind {
	EVENT_CALL, EVENT_TAIL, EVENT_RETURN,
	EVENT_TAIL_END, /* 5.1: after the return of what was tail-called, once
	                 * for each call whose frame that took over */
};
struct lua_event {
	enum lua_event_kind kind;
	int is_c;
	uint64_t id, key;
	struct lua_caller caller;
	struct lua_cached *cached; /* of a call's function, or NULL */
};

/* Is it an event that is recorded? co may be NULL. */
int lua_hook_records(const struct coroutine *co, const lua_Debug *ar);

/* By the layout alone; 0: something must be asked of Lua. */
int lua_hook_glance(struct lua_event *e, struct lua_local *me,
		    const struct coroutine *co, const lua_Debug *ar);

/* Asking Lua where the layout is silent; 0: cannot be told. Not busy. */
int lua_hook_read(struct lua_event *e, struct lua_local *me,
		  const struct coroutine *co, const lua_Debug *ar);

/* A coroutine whose making was not seen; NULL: of an unknown VM. Not busy. */
struct coroutine *lua_hook_meet(const struct lua_local *me, lua_State *L);

/* Is the call of a function with this frame id a tail call, where no event of
 * its own tells? */
INLINE int lua_hook_is_tail(uint64_t L, uint64_t id, int is_c)
{
#if WEFT_LUA_ABI == 51
	const uint64_t caller = layout_caller(L, id);
	int by_c = 1;

	if (!is_c && layout_is_call(L, caller))
		layout_callee(L, caller, &by_c);
	return !by_c && layout_tail_calls(L, caller);
#else
	(void)L;
	(void)id;
	(void)is_c;
	return 0;
#endif
}

/* The function of the frame with this id; asks Lua, and remembers, if it is not
 * known. Not busy. */
uint64_t lua_hook_key(struct lua_local *me, const struct coroutine *co,
		      uint64_t id, int *is_c);

/* By the public API alone. *is_c: LUA_HOOK_ANEW if the next call of that place
 * may be of another function. Not busy. */
enum { LUA_HOOK_ANEW = 2 };
uint64_t lua_hook_ask(const struct coroutine *co, uint64_t id, int *is_c);

/* The same, cached by the function object as long as no object is freed.
 * *known: its entry, or NULL. May allocate in Lua. Not busy. */
uint64_t lua_hook_asked(struct lua_local *me, const struct coroutine *co,
			uint64_t id, int *is_c, struct lua_cached **known);

/* lua_hook_above by the public API; takes as long as the frame is deep. */
uint64_t lua_hook_asked_above(uint64_t L, uint64_t id);

/* The length of a table, or NULL. */
#if LUA_VERSION_NUM >= 502
#define WATCH_LENGTH(api) API(api, lua_rawlen)
#else
#define WATCH_LENGTH(api) API(api, lua_objlen)
#endif

/* Has no object of this VM been freed that was alive when vm->watched changed,
 * or came to life since? */
INLINE int lua_hook_unfreed(const struct lua_vm *vm)
{
	return vm->watch &&
	       WATCH_LENGTH(&vm->lib->api)(vm->watch, 1) != 0;
}

/* vm->watched, changed if need be; 0: it cannot be told. L: where we are. May
 * allocate in Lua. Not busy. */
uint64_t lua_hook_watch_anew(struct lua_vm *vm, lua_State *L);
INLINE uint64_t lua_hook_watch(struct lua_vm *vm, lua_State *L)
{
	return lua_hook_unfreed(vm) && vm->watched != 0 ? vm->watched :
	       lua_hook_watch_anew(vm, L);
}

/* What the C function at the top of the stack is known by. Is it one of LuaJIT's
 * own, which share their code? */
uint64_t lua_hook_c_place(const struct weft_lua_api *api, lua_State *L,
			  int *is_builtin);

/* Look for its name where none is known, and otherwise take what the caller calls
 * it; d may be NULL. Look through all tables of libraries. Not busy. */
void lua_hook_name_c(const struct coroutine *co, uint64_t address,
		     const lua_Debug *d);
void lua_hook_look(const struct lua_vm *vm, lua_State *L);

/* May this frame, of a function of LuaJIT's libraries, be a call through the
 * FFI? What it then calls. Hook-safe. */
int lua_hook_ffi(const struct coroutine *co, uint64_t id);
uint64_t lua_hook_ffi_callee(const struct coroutine *co, uint64_t id);

/* Say which is which of the functions with the same lines of a source: in the
 * main function with this prototype, which has some (text: of its source); in
 * this frame's, if that is one; in those of co's open calls (if own is not set,
 * only where some may have run unseen) and, where that may be, of its VM's main
 * state's. Hook-safe. */
void lua_hook_number_main(uint64_t at, uint64_t text);
void lua_hook_number(uint64_t L, uint64_t id);
void lua_hook_number_open(const struct coroutine *co, int own);
/* The number of the prototype there. */
uint32_t lua_hook_ordinal(uint64_t at);

uint32_t lua_hook_walk(struct lua_local *me, const struct coroutine *co,
		       int level, struct frame *to, uint32_t room);
int lua_hook_check(const struct weft_lua_api *api);
/* Have Lua call what is at work around events. L: nobody's. */
void lua_hook_learn(const struct weft_lua_api *api, lua_State *L);
void lua_hook_wrap(const struct lua_vm *vm, int on);

extern const struct lua_abi lua_abi;

#endif
