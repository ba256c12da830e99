/* vm.h - Lua as the tracer knows it: versions, libraries and VMs. This folder
 * follows the Lua states of the program and their coroutines. It may use
 * fiber/, native/ and the folders below; it must not know lua.h, which lua_abi/
 * does. A file uses those before it: vm, coroutine, unwind, switch. The folder
 * lua/ sees states being made, because it takes the place of Lua's functions,
 * and samples Lua. It may use lua_func/, too, and is in this order: library,
 * running, ask, ticks, sample, alloc, attach, call_scope, turn, interpose.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/weft.h"
#include "tracer/host/base/break.h"
#include "tracer/host/fiber/fiber.h"
#include "tracer/host/lua_vm/linked.h"
#include "tracer/host/native/heap.h"

typedef struct lua_State lua_State;
struct lua_local;
struct link_map;
struct lua_lib;
struct lua_vm;
struct coroutine;

/* The caller's frame of an event. */
struct lua_caller {
	uint64_t id;     /* 0: none */
	uint64_t key;    /* its function, where that must be compared, or 0; */
	uint64_t (*key_at)(struct lua_local *me, const struct coroutine *co,
			   uint64_t id); /* or who finds it, or NULL */
	uint64_t callee; /* id of the frame that it calls, 0: none */
	/* The id of the frame above one, 0: none. NULL: not known. */
	uint64_t (*above)(uint64_t L, uint64_t id);
};

/* What one version of Lua's C API means. busy must not be set when these are
 * called, but for innermost. */
struct lua_abi {
	enum vm_abi number;
	/* LuaJIT: a frame is identified by its place, which may move up once;
	 * returns of C functions are not told; a hook is the whole VM's. */
	bool is_jit;
	/* Is this library of that version? */
	bool (*accepts)(const struct weft_lua_api *api);
	/* Can frames be read by this version's layout? Tries it on a Lua state
	 * that nobody else sees. L: one of the program's. */
	bool (*check)(struct lua_lib *lib, lua_State *L);
	/* Our hook, a lua_Hook; the one for lua_States whose program wants to
	 * see calls or returns, too; the one in place of hook where the layout
	 * is not trusted. */
	weft_lua_function hook, shared_hook, asking_hook;
	/* Where Lua is sampled: our hook, and what LuaJIT's profiler calls; has
	 * lua_sample_closing called when the VM is closed, if nothing else
	 * tells of that. false: it cannot be. */
	weft_lua_function sampled_hook, profiled;
	bool (*watch_end)(struct lua_vm *vm, lua_State *L);
	/* co, which is sampled and runs, is about to call fn, which is native,
	 * or, if fn is 0, to take memory: its calls that are open, but those
	 * up to the frame base, are said. Needs the layout. Hook-safe. */
	void (*calls)(const struct coroutine *co, uint64_t base, uint64_t fn,
		      uint64_t sp);
	/* What all lua_States of one VM have in common, and with no other that
	 * lives: the address of the registry. */
	uint64_t (*family)(const struct weft_lua_api *api, lua_State *L);
	/* The main state of the VM that L belongs to, NULL: not known. The
	 * library's layout must have been tried. */
	lua_State *(*main_of)(const struct lua_lib *lib, lua_State *L);
	/* The innermost call on L, as if it called something now. */
	struct lua_caller (*innermost)(const struct weft_lua_api *api,
				       lua_State *L, bool by_layout);
	/* Would lua_resume(L, b, c) run something? */
	bool (*resumable)(const struct weft_lua_api *api, lua_State *L, long b,
			  long c);
	/* May co live? No: its memory does not look like a lua_State of its
	 * VM, which does. Hook-safe. */
	bool (*lives)(const struct coroutine *co);
	/* LuaJIT, in which lua_status tells of an error while its handler runs:
	 * does co run? NULL: not needed. */
	bool (*goes_on)(const struct coroutine *co);
	/* Name functions by the tables that they are in. */
	void (*name_all)(const struct lua_vm *vm, lua_State *L);
	/* Record that a zone with this key begins in a call of co's which runs:
	 * at level 0 the innermost one, at level 1 its caller. It stands on
	 * that call, as if it were made by it. Returns the call's id; 0: it was
	 * not recorded. sp: of the function of ours that the program calls. */
	uint64_t (*zone_begin)(struct coroutine *co, uint64_t key, int level,
			       uint64_t sp);
	/* LuaJIT: where its stack is. NULL: its memory is malloc's. Hook-safe;
	 * needs the layout. */
	uint64_t (*stack_of)(uint64_t L);
	/* The bytes that a VM has in use, at the library's memory_at. */
	uint64_t (*memory)(uint64_t at);
	/* The same of white_at: changes, between two of a single bit, once in
	 * each cycle of the collector. Hook-safe. */
	uint8_t (*white)(uint64_t at);
	/* LuaJIT: have a C function's returns told, where that can be; stop
	 * it. NULL: not needed. */
	void (*wrap)(const struct lua_vm *vm, bool on);
	/* The open calls of co from that level on (LUA_WALK_ASLEEP: all, and
	 * nothing runs on co; LUA_WALK_NO_EVENT: all, and it is no event of
	 * co's; LUA_WALK_TICK: all, at a tick; LUA_WALK_CALL: all, in a call
	 * that it makes, where it must not be used), outermost first, as
	 * frames of
	 * unknown age: the innermost ones, at most room. */
	uint32_t (*walk)(struct lua_local *me, const struct coroutine *co,
			 int level, struct frame *to, uint32_t room);
};

/* Can the frames of a library be read by the layout? */
enum lua_layout { LAYOUT_UNTRIED, LAYOUT_RIGHT, LAYOUT_WRONG };

/* A Lua library, or a program's own table of functions. Never freed. */
struct lua_lib {
	struct weft_lua_api api;
	weft_lua_function resetthread, closethread, lnewstate, openjit,
			  setlevel; /* or NULL */
	weft_lua_function profile_start, profile_stop; /* luaJIT_*, or NULL */
	weft_lua_function open[WEFT_LUA_OPENS]; /* or NULL */
	const struct lua_abi *abi; /* NULL: calls are only passed on */
	const void *map;           /* link_map; NULL: a program's own table */
	/* The module that its functions lie in; NULL: none, or it is gone. */
	const struct link_map *home;
	int number;                /* of the functions that links lead to */
	bool interposed;           /* resumes and protected calls are seen */
	bool linked;               /* statically, and led here (linked.h) */
	_Atomic enum lua_layout layout;
	uint64_t main_at;          /* with a trusted layout: where a VM's main
	                            * state lies, counted from what all its
	                            * states share */
	uint32_t memory_at;        /* with a trusted layout: where that has
	                            * abi->memory; 0: not known */
	uint32_t white_at;         /* the same of abi->white */
	uint32_t running_at;       /* LuaJIT, which switches coroutines itself:
	                            * where that has the lua_State that runs;
	                            * 0: not known */
	uint32_t state_at;         /* LuaJIT: where that has what it does, as
	                            * 32 bits; 0: not known */
	/* With a trusted layout: changes only while the VM of this lua_State
	 * collects garbage. NULL: nothing tells. Hook-safe. */
	uint64_t (*collector)(uint64_t L);
	bool excluded;             /* its own native calls are left out */
	bool alloc_led;            /* of a VM, though nobody tells of its end */
};

/* A call of Lua on a main state that has not returned. */
struct lua_noted_call {
	uint64_t sp;         /* its caller's frame address */
	const void *stack;   /* lua_vm_stack */
	struct shadow_mark mark;
};

enum { LUA_CALLS_NOTED = 8 };

/* Never freed: whoever comes to live at its main state's address gets it, with
 * a new serial. */
struct lua_vm {
	struct lua_lib *lib;
	lua_State *main;
	uint64_t family;
	uint32_t serial;      /* 0: of a version that is only passed on */
	uint32_t slot;        /* in the pool, if it has that one still */
	uint32_t seen;        /* a thread's window, in which it was noted */
	bool by_layout;       /* its frames are read by the layout */
	bool interposed;      /* its resumes and protected calls are seen */
	bool born_told;       /* coroutines' births are told (weft_lua_made) */
	bool detached;
	uint32_t unknown_names; /* calls of C functions that had no name */
	uint32_t scans;       /* at how many of them names are looked for */
	uint32_t nameless;    /* calls that were a reason to look for the name
	                       * of a Lua function */
	uint32_t numbered;    /* lua_func_times_unseen when functions of its
	                       * open calls were numbered */
	struct lua_vm *next;  /* made before it */
	struct coroutine *holder; /* of main */
	uint64_t fiber;       /* the native coroutine's number that it is bound
	                       * to; 0: none */
	bool jit_on;          /* as the program wants it */
	bool jit_stopped;     /* turned off by us */
	bool own_wrapper;     /* the program has a wrapper for C functions */
	bool sampled;         /* it is noted at ticks (sample.h) */
	bool turned;          /* as a budget asks */
	bool wanted;          /* so a budget asks, */
	uint32_t asked;       /* of this generation of the pool */
	bool closing;         /* lua_close runs, or has */
	bool end_watched;     /* it will be told of (lua_abi.watch_end) */
	struct heap_alloc alloc; /* its own, which ours calls (alloc.h), as it
	                       * may do longer than we know the VM */
	uint8_t white;        /* abi->white, lately; 0: not looked at */
	lua_State *watch;     /* ours (lua_abi/function.c), or NULL */
	uint64_t watched;     /* counts, over all VMs; 0: not watched */
	uint32_t unwatched;   /* failures in a row */
	uint32_t open;        /* noted calls, each in the one before it; those
	                       * that are nested deeper are not noted */
	struct lua_noted_call call[LUA_CALLS_NOTED];
};

/* A lua_State. An object is never freed: whoever comes to live at its address
 * gets it, with a new serial; or, where many are dead, one that is made
 * elsewhere.
 * A coroutine that is off every thread belongs to whoever resumes it next; the
 * program itself sees to it that this is one thread after the other. */
struct coroutine {
	lua_State *L;
	lua_State *at;        /* L, or NULL: forgotten */
	uint64_t serial;      /* 0: a VM's main state; LUA_UNBORN */
	struct lua_vm *vm;    /* NULL: nothing lives here that we know */
	struct lua_vm *own;   /* the one whose main state it is or was, NULL:
	                       * of none */
	weft_lua_function app_hook; /* the program's own hook */
	int app_mask, app_count;
	bool held;            /* a thread gives it to another lua_State */
	bool hooked;          /* our hook is in place */
	bool ended;           /* what it runs next is a new coroutine */
	bool closing;         /* what it runs is called by who closes it */
	uint32_t window;      /* for which its frames, or kept, are right */
	bool keeps;           /* kept holds its stack while it is off */
	bool gapped;          /* kept lacks native frames the reader knows */
	struct frame *kept;   /* outermost first */
	uint32_t count, room;
	struct body body;     /* under what is kept */
	const struct thread_state *by; /* whose chunk its SUSPEND stands in, */
	uint32_t epoch;       /* of that epoch, which no other chunk has */
	uint64_t since;       /* tick of its SUSPEND */
	/* It was called although it had yielded: its frames then, 0: it was
	 * not; the id and the key of the last of them. */
	uint32_t asleep;
	uint64_t asleep_id, asleep_key;
	uint32_t regions;     /* chosen calls (weft_inside_only) it sleeps in */
	uint32_t known_at;    /* lua_vm_made when it was seen to be vm's */
	uint64_t called;      /* stack pointer of a call of Lua on it, the last
	                       * that has begun; 0: that has returned */
};

#define LUA_UNBORN UINT64_MAX /* has no serial yet */

enum { LUA_STATUS_OK = 0, LUA_STATUS_YIELD = 1 }; /* the same in every Lua */

/* ----------------------------------------------------- a thread's Lua part */

/* An entry of a thread's cache of functions: a Lua function by its prototype's
 * address, or a C function, whose name has been looked for. A Lua function's is
 * valid while *current is equal to text. A main function's *current never is;
 * its text is the hash of the whole source.
 * Without a trusted layout: by the complement of the function object's address;
 * source is the VM's watched. */
struct lua_cached {
	uint64_t at, source, lines, text;
	uint64_t key, flags;   /* of its frames */
	uint32_t epoch, enter; /* the chunk that named it last; its ENTER
	                        * there, without the gap. Or the complement of
	                        * that in which its calls have no records; 1:
	                        * they are counted */
	const _Atomic uint64_t *current;
};

enum { LUA_CACHE_BITS = 9, LUA_VMS_NAMED = 4, LUA_WALK_ROOM = 1 << 16,
       LUA_WALK_ASLEEP = -1, LUA_WALK_NO_EVENT = -2, LUA_WALK_TICK = -3,
       LUA_WALK_CALL = -4 };

/* The Lua part of a thread's state. */
struct lua_local {
	struct lua_cached cache[1 << LUA_CACHE_BITS]; /* first: found fast */
	struct coroutine *co;    /* of the last event that needed a look */
	uint32_t window;         /* of the cache */
	struct frame *walk;      /* LUA_WALK_ROOM frames, or NULL */
	/* The open calls that were said to call a function last, on which
	 * lua_State and in which chunk; innermost first. */
	struct lua_said {
		uint64_t L, fn;
		uint32_t open, epoch, count; /* so many have a name */
		struct lua_said_call {
			uint64_t id, at, source, lines, text;
		} call[NOTED_FRAMES];
	} said;
	struct lua_running *outer; /* what called Lua (sample.c), or NULL */
	struct { const struct lua_vm *vm; uint32_t serial, epoch; }
		named[LUA_VMS_NAMED]; /* in which chunk each was named last */
};

/* It, made if need be; NULL: no memory. Hook-safe. */
struct lua_local *lua_vm_local(struct thread_state *s);

/* Room for the frames of a walk, LUA_WALK_ROOM of them, or NULL. Hook-safe. */
struct frame *lua_vm_walk_room(struct lua_local *me);

/* --------------------------------------------------------------------- VMs */

/* Are Lua states of this program to be recorded? */
bool lua_vm_wanted(void);

/* Are frames of this library's states, of which L is one, read by the layout?
 * Tries it at first. Not hook-safe. */
bool lua_vm_try_layout(struct lua_lib *lib, lua_State *L);

/* A VM that was not known, with its main state. NULL: no memory. Not
 * hook-safe. */
struct lua_vm *lua_vm_new(lua_State *main, struct coroutine *holder,
			  struct lua_lib *lib);

/* How many VMs were made known. While it stays, no other lua_State comes to
 * lie where one lay that we hooked. */
extern HIDDEN _Atomic uint32_t lua_vm_made;

/* The invariants of a VM, but for the time until its holder has it. */
bool lua_vm_valid(const struct lua_vm *vm);

/* The living VMs of a library, one after the other; NULL begins, and ends. */
struct lua_vm *lua_vm_each(const struct lua_lib *lib, struct lua_vm *before);

/* It runs in the window of this thread's stack, for the first time: that is
 * noted in the pool. Hook-safe. */
void lua_vm_note_seen(const struct thread_state *s, struct lua_vm *vm);

INLINE void lua_vm_seen(const struct thread_state *s, struct lua_vm *vm)
{
	if (unlikely(vm->seen != s->window))
		lua_vm_note_seen(s, vm);
}

/* It has ended. */
void lua_vm_end(struct lua_vm *vm);

/* Name the VM in the open chunk, once; may switch chunks. Busy. */
void lua_vm_name(struct thread_state *s, const struct lua_vm *vm);
/* Once more: something about it is new. */
void lua_vm_name_again(struct thread_state *s, const struct lua_vm *vm);
/* A chunk was opened: name the VMs this thread works with. */
void lua_vm_name_all(struct thread_state *s);

/* The VM runs in a native coroutine in which none ran before: the two belong
 * together. May switch chunks. Busy. */
void lua_vm_bind(struct thread_state *s, struct lua_vm *vm);

/* Does a native coroutine run in which no VM ran yet? */
INLINE bool lua_vm_is_unbound(const struct thread_state *s)
{
	return s->fiber != 0 && ((const struct fiber *)s->fiber_on)->vm == 0;
}

/* What tells the stack that runs from all others. */
INLINE const void *lua_vm_stack(const struct thread_state *s)
{
	return s->fiber_on ? s->fiber_on : (const void *)s;
}

/* Events of a coroutine whose calls go to the topmost segment need no closer
 * look each. */
INLINE bool lua_vm_is_plain(const struct thread_state *s)
{
	return clock_is_tsc && !s->segment[s->segments - 1].inferred;
}

/* Is its Lua sampled, instead of each call being recorded? */
INLINE bool lua_vm_is_sampled(const struct lua_vm *vm)
{
	return unlikely(mapped_view.lua_sampled ||
			(mapped_view.lua_budget && vm->turned));
}

/* Is it to become so, or no longer? It does at a place of its own choice. */
bool lua_vm_look(struct lua_vm *vm);
INLINE bool lua_vm_is_to_turn(struct lua_vm *vm)
{
	return unlikely(mapped_view.lua_budget) && lua_vm_look(vm);
}

/* Is recording on at this moment? */
INLINE bool lua_vm_on(void)
{
	return mapped_pool &&
	       (atomic_load_explicit(&mapped_pool->generation,
				     memory_order_relaxed) & POOL_ON) != 0;
}
