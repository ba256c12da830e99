/* vm.h - Lua states as the tracer knows them: libraries, VMs, coroutines.
 * Knows no version of Lua: what differs between them stands behind struct
 * lua_abi (lua_hook.c, compiled once per version).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_LUA_VM_H
#define WEFT_TRACER_HOST_LUA_VM_H

#include "tracer/host/fiber/fiber.h"
#include "tracer/host/api/weft.h"

typedef struct lua_State lua_State;
struct lua_local;
struct lua_lib;
struct lua_vm;
struct coroutine;

/* The caller's frame of an event: its id, and how to find the one above it, up
 * to 0; above may be NULL (not known). Its function, where that must be
 * compared; 0: need not. */
struct lua_caller {
	uint64_t id, key, callee; /* callee: the frame it calls, 0: none */
	uint64_t (*above)(uint64_t L, uint64_t id);
};

/* What one version of Lua's C API means. None of these is called with busy set
 * but innermost. */
struct lua_abi {
	enum vm_abi number;
	/* LuaJIT: frames are named by where they lie, which may move up once;
	 * C functions' returns are not told; a hook is the whole VM's. */
	int is_jit;
	/* Is this library of that version? */
	int (*accepts)(const struct weft_lua_api *api);
	/* Can frames be read by this version's layout? Tried on a Lua state
	 * that nobody sees. */
	int (*check)(const struct weft_lua_api *api);
	/* Our hook, a lua_Hook, and the one for lua_States whose program wants
	 * to see calls or returns, too. */
	weft_lua_function hook, shared_hook;
	/* In the place of hook where the layout is not to be trusted. */
	weft_lua_function asking_hook;
	/* What all lua_States of one VM have, and no others that live: the
	 * address of its registry. */
	uint64_t (*family)(const struct weft_lua_api *api, lua_State *L);
	/* The main state of the VM that L belongs to, NULL: not known. */
	lua_State *(*main_of)(const struct lua_lib *lib, lua_State *L);
	/* The innermost call on L, as if it called something now. */
	struct lua_caller (*innermost)(const struct weft_lua_api *api,
				       lua_State *L, int peek);
	/* Would lua_resume(L, b, c) run something? */
	int (*resumable)(const struct weft_lua_api *api, lua_State *L, long b,
			 long c);
	/* LuaJIT: have a C function's returns told, where that can be; stop
	 * it. NULL: not needed. */
	void (*wrap)(const struct lua_vm *vm, int on);
	/* The open calls of co from that level on, outermost first, as frames
	 * of unknown age; at most room of them, the innermost. */
	uint32_t (*walk)(struct lua_local *me, const struct coroutine *co,
			 int level, struct frame *to, uint32_t room);
};

/* One Lua library, or a program's own table: entries are never freed. */
struct lua_lib {
	struct weft_lua_api api;
	weft_lua_function resetthread, closethread, lnewstate, openjit;
	                           /* or NULL */
	const struct lua_abi *abi; /* NULL: calls are only passed on */
	const void *map;           /* link_map; NULL: a program's own table */
	int interposed;            /* resumes and protected calls are seen */
	int linked;                /* static, and led here (lua_linked.h) */
	_Atomic int peek;          /* 0: not tried, 1: frames can be read by
	                            * layout, 2: they cannot */
	int quiet;                 /* native calls of its own are left out */
};

struct lua_vm {
	const struct lua_lib *lib;
	lua_State *main;
	uint64_t family;
	uint32_t serial;      /* 0: of an abi that is only passed on */
	int peek;             /* frames are read by layout */
	int interposed;       /* its resumes and protected calls are seen */
	int detached;
	uint32_t scans, unknown_names;
	uint32_t numbered;    /* how often main functions had run unseen when
	                       * its open ones were numbered */
	struct lua_vm *next;  /* made before it */
	struct coroutine *holder; /* of main */
	uint64_t fiber;       /* coroutine of the native one that it is booked
	                       * to; 0: none */
	int jit_on;           /* as the program wants it */
	int jit_stopped;      /* turned off by us */
	int own_wrapper;      /* the program has a wrapper for C functions */
	lua_State *watch;     /* ours (lua_hook_watch.c); NULL: there is none */
	uint64_t watched;     /* counts, over all VMs; 0: not watched */
	uint32_t unwatched;   /* in vain so often */
};

/* A lua_State. Objects are made once for an address and never freed: whoever
 * comes to live there gets the object, with a new serial.
 * A coroutine that is off every thread belongs to whoever resumes it next; the
 * program itself sees to it that this is one thread, after the other. */
struct coroutine {
	lua_State *L;         /* never changes */
	uint64_t serial;      /* 0: a VM's main state; LUA_UNBORN */
	struct lua_vm *vm;    /* NULL: nothing lives here that we know */
	weft_lua_function app_hook; /* the program's own hook */
	int app_mask, app_count;
	int hooked;           /* our hook is in place */
	int ended;            /* what it runs next is a new coroutine */
	uint32_t window;      /* for which its frames, or kept, are right */
	int keeps;            /* kept holds its stack while it is off */
	int gapped;           /* kept lacks native frames the reader knows */
	struct frame *kept;   /* outermost first */
	uint32_t count, room;
	uint32_t thread, epoch, level; /* of the chunk its SUSPEND stands in */
	uint64_t since;       /* tick of its SUSPEND */
	uint32_t inside;      /* chosen calls (inside.h) it sleeps in */
};

/* A hook lies deeper than the frame of the interpreter that runs the call, and
 * less deep than that under whoever called into Lua, by several hundred bytes
 * each: native calls made by Lua lie below a hook's stack pointer plus this,
 * those after it has returned above. */
enum { LUA_HOOK_DEPTH = 512 };

enum { LUA_STATUS_OK = 0, LUA_STATUS_YIELD = 1 }; /* the same in every Lua */

#define LUA_UNBORN UINT64_MAX /* has no serial yet */

/* Lua function by the address of its prototype, for one thread; C functions
 * are entered too, once their name was looked for. Good while *current is what
 * it was (lua_func_current), which it never is for a main chunk's: of that the
 * text is the whole source's hash.
 * Where the layout is not to be trusted: by the function object's address, with
 * all bits turned round; source is the VM's count of the watch. */
struct lua_cached {
	uint64_t at, source, lines, text;
	uint64_t key, flags;   /* of its frames */
	uint32_t epoch, index; /* in the chunk that was named in last */
	const _Atomic uint64_t *current;
};

enum { LUA_CACHE_BITS = 9, LUA_VMS_NAMED = 4, LUA_WALK_ROOM = 1 << 16 };

/* A state's (thread and level) Lua part. */
struct lua_local {
	struct coroutine *co;    /* of the last event that needed a look */
	uint32_t window;         /* of the cache */
	struct frame *walk;      /* LUA_WALK_ROOM frames, or NULL */
	struct { const struct lua_vm *vm; uint32_t epoch; }
		named[LUA_VMS_NAMED]; /* in which chunk each was named last */
	struct lua_cached cache[1 << LUA_CACHE_BITS];
};

/* Are Lua states of this program to be recorded? */
int lua_vm_wanted(void);

/* The object of L, NULL if there is none. Hook-safe. */
struct coroutine *lua_vm_find(lua_State *L);

/* The same, made if need be; NULL: no memory. Hook-safe. */
struct coroutine *lua_vm_object(lua_State *L);

/* A VM has been made, or is seen for the first time: L is its main state. Its
 * object, NULL if there is no memory. Not hook-safe (it tries the layout). */
struct coroutine *lua_vm_born(lua_State *L, struct lua_lib *lib,
			      int interposed);

/* The VMs of a library that are alive, one after the other: NULL begins, and
 * ends. */
struct lua_vm *lua_vm_each(const struct lua_lib *lib, struct lua_vm *before);

/* L was made by lua_newthread on from; inherits its hook. */
void lua_vm_thread_made(lua_State *L, const struct coroutine *from,
			uint64_t sp);

/* An event came from L, a coroutine of main's VM that nobody saw being made. */
struct coroutine *lua_vm_thread_met(lua_State *L, const struct coroutine *main);

/* What runs on co next is a coroutine of its own: give it a serial and write
 * CREATE. Busy. */
void lua_vm_create(struct thread_state *s, struct coroutine *co, uint64_t now);

/* Name the VM in the open chunk, once; may switch chunks. Busy. */
void lua_vm_name(struct thread_state *s, const struct lua_vm *vm);
/* Once more: something about it is new. */
void lua_vm_name_again(struct thread_state *s, const struct lua_vm *vm);

/* The VM runs in a native coroutine in which none ran before: the two belong
 * together. May switch chunks. Busy. */
void lua_vm_book(struct thread_state *s, struct lua_vm *vm);

INLINE int lua_vm_is_unbooked(const struct thread_state *s)
{
	return s->fiber != 0 && ((const struct fiber *)s->fiber_on)->vm == 0;
}

/* The state's Lua part, made if need be; NULL: no memory. Hook-safe. */
struct lua_local *lua_vm_local(struct thread_state *s);

/* A place for the frames of a walk, LUA_WALK_ROOM of them, or NULL. */
struct frame *lua_vm_walk_room(struct lua_local *me);

/* Put our hook onto L, keeping the program's; put it on anew, after the
 * program's has changed; take it off. Not busy. */
void lua_vm_hook(struct coroutine *co);
void lua_vm_hook_again(const struct coroutine *co);
void lua_vm_unhook(struct coroutine *co);

/* Whose app_hook and hooked are right for co. */
INLINE struct coroutine *lua_vm_holder(struct coroutine *co)
{
	return co->vm->lib->abi && co->vm->lib->abi->is_jit ?
	       co->vm->holder : co;
}

/* lua_status. Never fails: says LUA_OK (0) if L cannot be read. */
int lua_vm_status(const struct coroutine *co);

/* Nothing about a coroutine whose events go to the topmost segment needs a look
 * at each of them. */
INLINE int lua_vm_is_plain(const struct thread_state *s)
{
	return clock_is_tsc && !s->segment[s->segments - 1].inferred;
}

/* Is recording on at this moment? */
INLINE int lua_vm_on(void)
{
	return process_pool && (atomic_load_explicit(&process_pool->generation,
						     memory_order_relaxed) &
				POOL_ON) != 0;
}

#endif
