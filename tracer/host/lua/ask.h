/* ask.h - a lua_State is asked to note its stack as soon as that is safe, and
 * does so: PUC Lua in a hook that a signal handler sets, as lua.c's does for
 * Ctrl-C, LuaJIT by its profiler.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/lua/running.h"

/* The call of a Lua function that was the innermost one at the last tick, where
 * each is recorded: its frame, and which of the thread's frames that was. */
struct lua_ticked {
	struct frame frame;
	uint32_t index;
};

/* Of a thread. Its signal handler changes all but held and home; others do so
 * only while held is set. */
struct lua_ticks {
	uint32_t process;    /* serial of the one whose timer it is, 0: none */
	uint32_t without;    /* signals that the program had taken then */
	int signal;
	int timer;           /* negative: there is none for this process */
	bool held;
	lua_State *asked;    /* which is to note its stack; NULL: none */
	uint64_t cpu;        /* ns at the last tick */
	uint64_t due;        /* ns, to be noted by it */
	uint64_t collector;  /* lib->collector of it then */
	uint64_t missed;     /* that Lua may have run, and could not note */
	struct lua_ticked in;
	struct lua_vm *home; /* whose calls by the program are not seen, but
	                      * whose end is, and that this thread has, or
	                      * NULL */
};
extern HIDDEN THREAD_LOCAL struct lua_ticks lua_ticks;

INLINE void lua_ask_hold(bool holds)
{
	barrier();
	lua_ticks.held = holds;
	barrier();
}

/* It did not come to it. */
void lua_ask_drop(void);
/* Once: what is written at each tick would be another thread's cost. */
void lua_ask_tell_unnoted(void);
/* Have ticks come to their end? As a hook that nothing would put back stays
 * while recording is off, they go on for a VM whose calls are not seen. */
bool lua_ask_is_over(void);

enum lua_answer { NOT_LUA, ASKED, MISSED };

/* In the handler: co, which runs here, is to note. */
enum lua_answer lua_ask_state(struct coroutine *co);

/* PUC Lua, whose hooks are the program's but for a moment at each tick: find
 * out what its hook is; it has set another one; put it back after a tick. */
void lua_ask_look(struct coroutine *co);
void lua_ask_set_hook(struct coroutine *co);
void lua_ask_hook_back(struct coroutine *co);

/* PUC Lua: it has come to the instruction that was to be noted, or to one of
 * another's. */
void lua_ask_line_over(struct coroutine *co);
/* Is our hook in place? If not, what is there is the program's, but for one of
 * a time in which calls were recorded. */
bool lua_ask_is_in_place(struct coroutine *co);
/* It is to be so no longer. */
void lua_ask_hook_off(struct coroutine *co);

/* LuaJIT: which VM has the profiler; vm is to have it, or no longer. */
extern HIDDEN struct lua_vm *_Atomic lua_ask_profiled;
void lua_ask_claim(struct lua_vm *vm);
void lua_ask_stop(struct lua_vm *vm, lua_State *L);
bool lua_ask_is_ours(const struct lua_vm *vm);
/* In the handler: is it to be stopped, as soon as L notes? */
bool lua_ask_to_stop(void);
/* In LuaJIT's profiler, which is stopped if the recording has ended: true. */
bool lua_ask_ends(struct lua_vm *vm, lua_State *L);

/* For lua_abi/sample.c: L is at a place where its frames can be looked at.
 * Returns the ns that are to be noted there, 0: none were asked for. Ticks are
 * held until lua_ask_noted. */
uint64_t lua_ask_take(lua_State *L, bool any);
/* PUC Lua: has co's VM collected garbage since it was asked? Between two
 * instructions it does so rarely, and for longer than most of these take: then
 * the tick came meanwhile. */
bool lua_ask_collected(const struct coroutine *co);
/* What the last tick came in. Valid while ticks are held. */
const struct lua_ticked *lua_ask_ticked(void);
/* missed: ns that nobody could note; they are told. */
uint64_t lua_ask_take_missed(void);
void lua_ask_noted(void);
