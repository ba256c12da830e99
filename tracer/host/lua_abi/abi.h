/* abi.h - Lua as one version of its C API knows it. This folder alone includes
 * lua.h, and is compiled once for each version; the rest of the tracer sees one
 * symbol of each, lua_abi (struct lua_abi in vm.h). It may use lua/ and what
 * lua/ may use, and knows nothing of other versions. A file uses those before
 * it: luajit, names, function, event, check, uncommon, hook.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua_vm/unwind.h"
#include "tracer/host/lua_abi/compat.h"

enum { IS_JIT = WEFT_LUA_ABI == VM_LUAJIT };

/* The flags of the frame of a function that Lua calls. */
INLINE uint64_t frame_flags(bool is_c)
{
	return !is_c ? FRAME_LUA_SETTLED :
	       FRAME_LUA | FRAME_ABSORBS | (IS_JIT ? FRAME_UNTOLD : 0);
}

/* ------------------------------------------------------------------- luajit.c
 * What LuaJIT alone has; called under IS_JIT only. */

/* Does nothing tell of the return of this frame's C function? Needs the layout
 * unless the VM is read without it. */
bool luajit_is_untold(const struct coroutine *co, uint64_t id);

/* Was this frame's function called in the place of another one, whose end
 * nothing told? What Lua takes for its name is then the other's. */
bool luajit_has_taken_over(const struct coroutine *co, uint64_t id);

/* What stands for the function of LuaJIT's libraries on top of L's stack, which
 * shares its code with others: the same number as layout_callee gives, if the
 * layout is trusted. 0: it is no such function. */
uint64_t luajit_library_function(const struct weft_lua_api *api, lua_State *L);

/* The lua_State that the C function which is called now is given, or is made
 * for; 0: none. Needs the layout. */
uint64_t luajit_held(const struct coroutine *co, uint64_t id);

/* May this frame, of a library function, be a call through the FFI? The key of
 * what it then calls. */
bool luajit_may_be_ffi(const struct coroutine *co, uint64_t id);
uint64_t luajit_ffi_callee(const struct coroutine *co, uint64_t id);

/* Does co run, whatever its status is? Without the layout: no. */
bool luajit_goes_on(const struct coroutine *co);

/* Where L's stack is. Needs the layout. */
uint64_t luajit_stack(uint64_t L);

/* Have the returns of the program's C functions told, or no longer. */
void luajit_wrap(const struct lua_vm *vm, bool on);

/* -------------------------------------------------------------------- names.c
 * What functions are called by the tables that they are in. */

/* The key of the Lua function on top of L's stack; 0: it gets no name. called:
 * the one that is called, which may not be in the cache; or NULL. */
typedef uint64_t names_key_fn(const struct lua_vm *vm, lua_State *L,
			      const struct lua_cached *called);

/* Name the functions in package.loaded, in the metatables of types, in global
 * tables and in tables that are in the registry. Not busy. */
void names_look(const struct lua_vm *vm, lua_State *L, names_key_fn *key_of,
		const struct lua_cached *called);

/* Is the call with this id, which L has just begun, that of a message handler,
 * made since an instruction of its caller failed? Lua names such a call by that
 * instruction. Told by the message, its argument. */
bool names_an_error(const struct weft_lua_api *api, lua_State *L, uint64_t id);

/* What the C function on top of the stack is known by; 0: by nothing.
 * *is_library: it is one of LuaJIT's own. */
uint64_t names_c_address(const struct weft_lua_api *api, lua_State *L,
			 bool *is_library);

/* ----------------------------------------------------------------- function.c
 * Which function a frame runs. */

struct identity {
	uint64_t key; /* 0: it is not to be recorded, or not known */
	bool is_c;
	bool is_passing; /* the next call of this place is asked about, too: it
			  * may be of another function, or have a name */
};

/* May lua_getinfo be asked about a call that runs on L? Where L has yielded and
 * is called all the same, 5.2 and 5.3 take the innermost call for the one that
 * has yielded, and answer with what is no function. */
INLINE bool function_may_ask(const struct weft_lua_api *api, lua_State *L)
{
	return (WEFT_LUA_ABI != 52 && WEFT_LUA_ABI != 53) ||
	       API(api, lua_status)(L) != LUA_YIELD;
}

/* Ask Lua, if it may be asked. asleep: co has yielded, and nothing runs on it.
 * Not busy. */
struct identity function_ask(const struct coroutine *co, uint64_t id,
			     bool asleep);

/* When a function is looked for. FUNCTION_QUICK: it is called, and main
 * functions need not be found; FUNCTION_OPEN: the call has begun before;
 * FUNCTION_STANDS: the same, asked so often that the text of a main function is
 * not looked at: the one at its address may have been collected. */
enum function_moment { FUNCTION_CALLED, FUNCTION_QUICK, FUNCTION_OPEN,
		       FUNCTION_STANDS };

/* The same by the layout, asking only what this thread does not know yet. Not
 * busy. */
struct identity function_at(struct lua_local *me, const struct coroutine *co,
			    uint64_t id, enum function_moment moment,
			    bool asleep);

/* The same without the layout: known by the address of the function object, as
 * long as Lua frees none. *known: its entry in the cache, or NULL. May allocate
 * in Lua. Not busy. */
struct identity function_by_object(struct lua_local *me,
				   const struct coroutine *co, uint64_t id,
				   struct lua_cached **known);

/* Name functions by the tables that they are in: C functions, and the Lua
 * functions that this thread has called lately. Not busy. */
void function_name_all(const struct lua_vm *vm, lua_State *L);

/* Use no names from code: that of a library is not as expected. */
void function_leave_code(void);

/* Number the functions written in the main function that this frame runs, if it
 * runs one: those with the same lines are told apart by that. Hook-safe; needs
 * the layout. */
void function_number_frame(uint64_t L, uint64_t id);
/* The same for co's open calls and, if main functions may have run unseen, for
 * those of its VM's main state. always false: only if they may have. */
void function_number_open(const struct coroutine *co, bool always);

/* The place in the cache for the function with this address. */
INLINE struct lua_cached *function_place(struct lua_local *me, uint64_t at)
{
	uint64_t bytes = hash_low(at, LUA_CACHE_BITS) * sizeof(me->cache[0]);

	PIN(bytes);
	return (struct lua_cached *)((char *)me->cache + bytes);
}

/* The same for a function object: apart from prototypes and C functions. */
INLINE struct lua_cached *function_object_place(struct lua_local *me,
						uint64_t object)
{
	return function_place(me, ~object);
}

INLINE bool function_is_object(const struct lua_cached *c, uint64_t object,
			       uint64_t watched)
{
	return c->at == ~object && c->source == watched;
}

/* No object of this VM has been freed that was alive when vm->watched changed,
 * or came to life since. */
INLINE bool function_none_freed(const struct lua_vm *vm)
{
	return vm->watch && API_LENGTH(&vm->lib->api)(vm->watch, 1) != 0;
}

/* The main function with this prototype is called, or (begins false) was
 * before. Returns the hash of its text, which tells it from others at its
 * address. */
uint64_t function_main_runs(uint64_t at, bool begins);

/* The entry of the function at this address, by the layout; NULL: this thread
 * has not seen it. */
INLINE struct lua_cached *function_entry(struct lua_local *me, uint64_t at,
					 bool is_c,
					 enum function_moment moment)
{
	struct lua_cached *const c = function_place(me, at);

	if (unlikely(c->at != at))
		return NULL;
	CHECKED(c->key != 0 && (c->flags == frame_flags(true)) == is_c);
	if (is_c)
		return c;
	if (unlikely(c->lines != layout_word(at + PROTO_LINES) ||
		     c->source != layout_word(at + PROTO_SOURCE)))
		return NULL;
	if (likely(c->text == atomic_load_explicit(c->current,
						   memory_order_relaxed)))
		return c;
	if (moment == FUNCTION_STANDS && (uint32_t)c->lines == 0)
		return c;
	return moment == FUNCTION_QUICK || (uint32_t)c->lines != 0 ||
	       c->text != function_main_runs(at, moment == FUNCTION_CALLED) ?
	       NULL : c;
}

/* The same for the function of a frame. */
INLINE struct lua_cached *function_cached(struct lua_local *me, uint64_t L,
					  uint64_t id,
					  enum function_moment moment)
{
	bool is_c;
	uint64_t at = layout_callee(L, id, &is_c);

	if (IS_JIT)
		PIN(at);
	return unlikely(is_c) ? function_entry(me, at, true, moment) :
	       function_entry(me, at, false, moment);
}

/* -------------------------------------------------------------------- event.c
 * What an event says, and its record. */

enum lua_event_kind {
	EVENT_CALL, EVENT_TAIL, EVENT_RETURN,
	EVENT_TAIL_END, /* 5.1: comes after the return of what was tail-called,
	                 * once for each call whose frame that took over */
};
struct lua_event {
	enum lua_event_kind kind;
	bool is_c;
	uint64_t id, key;
	struct lua_caller caller;
	struct lua_cached *cached; /* the entry of a call's function, or NULL */
	bool was_asked;            /* Lua may have been asked about it */
};

/* Is it an event that is recorded? co may be NULL. */
bool event_is_recorded(const struct coroutine *co, const lua_Debug *ar);

/* Read it by the layout alone. false: something must be asked of Lua. */
bool event_by_layout(struct lua_event *e, struct lua_local *me,
		     const struct coroutine *co, const lua_Debug *ar);

/* Read it and ask Lua what the layout does not say. false: the function is not
 * to be recorded. Not busy. */
bool event_by_asking(struct lua_event *e, struct lua_local *me,
		     const struct coroutine *co, const lua_Debug *ar);

/* Write its record. Busy. */
void event_record(struct thread_state *s, const struct coroutine *co,
		  const struct lua_event *e, uint64_t now);

/* See struct lua_abi, which these are part of. */
uint32_t frames_walk(struct lua_local *me, const struct coroutine *co,
		     int level, struct frame *to, uint32_t room);
struct lua_caller frames_innermost(const struct weft_lua_api *api,
				   lua_State *L, bool by_layout);
uint64_t frames_family(const struct weft_lua_api *api, lua_State *L);
lua_State *frames_main_of(const struct lua_lib *lib, lua_State *L);
bool frames_lives(const struct coroutine *co);
bool frames_resumable(const struct weft_lua_api *api, lua_State *L, long b,
		      long c);

/* ----------------------------------------------------------------- check.c */

/* Is the layout right for this library, of which the program has L? Tries it on
 * a Lua state of its own. Finds lib->main_at. */
bool layout_check(struct lua_lib *lib, lua_State *L);

/* ----------------------------------------------------------------- uncommon.c
 * Events that are not taken in the common way. */

/* Call the program's own hook, if it wants the event. co may be NULL. It may
 * raise an error or yield: nothing of ours may be left to do. */
SLOW void uncommon_pass_on(struct coroutine *co, lua_State *L, lua_Debug *ar);

/* s is busy when this is called, and no longer when it returns. */
SLOW void uncommon_record(struct thread_state *s, lua_State *L, lua_Debug *ar,
			  uint64_t sp);

/* An event that the common case gave up on. The thread's own state, which is
 * busy, is looked up anew, so that the common case need not keep what only this
 * one needs. */
SLOW void uncommon_give_up(lua_State *L, lua_Debug *ar);

/* See struct lua_abi. */
uint64_t uncommon_zone_begin(struct coroutine *co, uint64_t key, int level,
			     uint64_t sp);

/* ---------------------------------------------------------------- sample.c */

/* The hook of a state that a tick has asked for its stack, or whose program
 * wants to be told of lines or of so many instructions: all but what the
 * program is told. co may be NULL. */
void sample_hook(struct coroutine *co, lua_State *L);
/* Where each call is recorded: an event of a line or an instruction, which may
 * be the one that a tick has asked for. co may be NULL. Not busy. */
SLOW void sample_line(struct coroutine *co, lua_State *L, bool is_count,
		      uint64_t sp);
/* See struct lua_abi. */
bool sample_watch_end(struct lua_vm *vm, lua_State *L);
void sample_calls(const struct coroutine *co, uint64_t base, uint64_t fn,
		  uint64_t sp);
/* LuaJIT's profiler calls it. */
void sample_profiled(void *vm, lua_State *L, int samples, int letter);

/* ------------------------------------------------------------------ hook.c */

extern const struct lua_abi lua_abi;
