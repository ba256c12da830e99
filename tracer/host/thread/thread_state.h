/* thread_state.h - what a thread knows while it records: its open chunk, its shadow
 * stack, its dictionary table. One state for each level: 0 for the thread, 1 and
 * 2 for signal handlers that interrupted a hook.
 *
 * Hook-safe means: no lock, no malloc, nothing that can call the program back.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_THREAD_STATE_H
#define WEFT_TRACER_HOST_THREAD_THREAD_STATE_H

#include "tracepoints/pool.h"
#include "tracepoints/record.h"
#include "tracer/host/base/base.h"
#include "tracer/host/base/break.h"
#include "tracer/host/base/clock.h"

/* A shadow frame: an open call. */
struct frame {
	uint64_t key;   /* native: code address. Lua function: address of its
	                 * struct lua_func, with KEY_LUA */
	union {
		uint64_t sp;    /* native: the hook's frame address, even */
		uint64_t flags; /* Lua, and C functions called by Lua: below */
	};
	uint64_t site;  /* native: call site. Lua: its lua_State */
	uint64_t ret;   /* native: the hook's return address. Lua: frame id */
	uint64_t tick;  /* entry; moved on by every suspension */
	uint64_t absorbed; /* Lua, C function: the call site of the native
	                    * enter that was absorbed, or FRAME_NONE_ABSORBED */
};

/* Beyond every code address of a program: what a key names otherwise. */
#define KEY_LUA (UINT64_C(1) << 63)  /* a Lua function */
#define KEY_MARK (UINT64_C(1) << 62) /* with KEY_LUA: a mark */

#define FRAME_NONE_ABSORBED UINT64_MAX

/* Flags of a Lua frame. A native enter compares its stack pointer with the word
 * they share with sp: a settled frame lies above every stack pointer, all others
 * below, so that one comparison finds dead native frames and Lua frames that
 * need a look. A frame that waits is not settled; it waits for a limited number
 * of native enters, which are counted above these flags, since those of signal
 * handlers may come first. */
#define FRAME_LUA UINT64_C(1)       /* in every Lua frame, in no native one */
#define FRAME_ABSORBS UINT64_C(2)   /* waits: the next native enter of the same
                                     * address is this very call */
#define FRAME_DOUBTED UINT64_C(4)   /* waits: a jump may have ended it; the next
                                     * native enter asks Lua */
#define FRAME_UNTOLD UINT64_C(8)    /* LuaJIT does not tell when a C function
                                     * returns: ends with its native exit, or
                                     * at the next event that shows it gone */
#define FRAME_WAITED UINT64_C(16)   /* how many native enters it waited for */
#define FRAME_WAITED_MAX UINT64_C(16)
#define FRAME_SETTLED (UINT64_C(1) << 63)

#define FRAME_LUA_SETTLED (FRAME_LUA | FRAME_SETTLED)

INLINE bool frame_is_lua(const struct frame *f)
{
	return (f->flags & FRAME_LUA) != 0;
}

INLINE bool frame_is_untold(const struct frame *f)
{
	const uint64_t both = FRAME_LUA | FRAME_UNTOLD;

	return (f->flags & both) == both;
}

/* A Lua frame that waits for nothing, and whose return Lua tells. */
INLINE bool frame_is_plain_lua(const struct frame *f)
{
	return f->flags == FRAME_LUA_SETTLED;
}

/* what: FRAME_ABSORBS or FRAME_DOUBTED. */
INLINE bool frame_waits(const struct frame *f, uint64_t what)
{
	return (f->flags & (FRAME_LUA | what)) == (FRAME_LUA | what);
}

/* It waits no more. */
INLINE void frame_settle(struct frame *f)
{
	f->flags = FRAME_LUA_SETTLED | (f->flags & FRAME_UNTOLD);
}

/* A native enter came that was not the one it waits for. */
INLINE void frame_wait_on(struct frame *f)
{
	f->flags += FRAME_WAITED;
	if (f->flags >= FRAME_WAITED * FRAME_WAITED_MAX)
		frame_settle(f);
}

/* A part of the stack: the thread's own (serial 0), or a coroutine's. Frames
 * base .. (next segment's base - 1). */
struct segment {
	uint64_t serial;
	void *owner;    /* the Lua side's struct coroutine; NULL for serial 0 */
	uint32_t base;  /* index of its first frame in state.frames */
	uint32_t inferred; /* began without its resume being seen */
	uint64_t sp;    /* stack pointer at the resume: a native event above it
	                 * shows that the segment is off the thread */
};

struct table_entry {
	uint64_t key;
	uint64_t word;      /* its dictionary word, good for every chunk while
	                     * no ELF module goes; 0 for functions whose word
	                     * refers to the chunk's own items */
	uint32_t epoch;     /* the chunk for which index is right */
	uint32_t index;
};

struct table_set {
	struct table_entry entry[2];
	uint64_t pad[2];
};

enum { TABLE_BITS = 11, LEVELS = 3, MAX_SEGMENTS = 512,
       MAX_FRAMES = 1000000, FIRST_FRAMES = 1000,
       SCRAP_WORDS = 512 };

/* Invariants outside of hooks (busy == 0), checked by thread_valid in tests:
 *   frames < top <= frame_limit;  frames[0] is a sentinel no exit matches
 *   segment[0].base == 1;  segment bases never fall
 *   n == *published <= limit + RECORD_SLACK
 *   the sum of gaps and durations of the chunk's records == last - tick_begin
 */
struct thread_state {
	/* A page that is all zero in a child of fork or clone, so that the
	 * child does not take itself for its parent. */
	_Alignas(4096) uint32_t generation;

	_Alignas(4096) uint64_t busy; /* stack pointer of the hook at work */
	uint64_t last;        /* tick at the end of the last record */
	uint64_t *records;    /* of the open chunk */
	uint32_t n, limit;    /* record words written; when to switch chunks */
	_Atomic uint32_t *published; /* where n is shown to the recorder */
	struct frame *top;    /* one past the innermost frame */
	uint32_t epoch;       /* of the open chunk, never 0 */
	uint32_t level;

	struct frame *frame_limit;
	void *lua_plain;      /* the lua_State whose events need no look beyond
	                       * the stack and the cache; NULL: look */
	void *lua;            /* the Lua side's per-thread part (lua_vm.h) */
	struct frame *frames;
	uint64_t too_deep;    /* open calls beyond MAX_FRAMES */
	struct chunk_header *head; /* of the open chunk; the scrap's own */
	uint32_t buffer;      /* its number in the pool; NO_BUFFER: scrap */
	uint32_t buffer_words, items_at; /* items begin at this word */
	uint32_t items, funcs;/* written */
	uint32_t resync;      /* the next chunk does not continue this one */
	uint32_t window;      /* of the pool, when the stack began */
	uint32_t segments;    /* at least 1 */
	uint32_t fiber;       /* segment at which a native coroutine's stack
	                       * begins; 0: the thread's own is running */
	void *fiber_on;       /* whose it is (fiber.h) */
	uint64_t fiber_below; /* too_deep of the stack under it */
	int fiber_unknown;    /* calls may be open on it that are not known */
	uint64_t fiber_left;  /* stack pointer on the stack that was left last */
	struct thread_state *next;  /* of the next level; NULL until needed */
	struct thread_state *below; /* of the level below */
	uint64_t said_chunk;  /* what the last INTERRUPT said */
	uint32_t said_n;
	struct pool_thread *slot;
	uint32_t slot_index, thread_serial, process_serial, tid;
	uint64_t number;      /* of the open chunk */
	uint64_t written;     /* record words in the chunks before it */
	uint64_t opened;      /* tick at which the open chunk was opened */
	uint64_t cpu;         /* thread CPU clock at the open chunk's start */
	uint32_t module_epoch;
	uint32_t moving;      /* the stack is being moved to a larger place */
	uint32_t want_big;    /* the next chunk needs a big buffer */
	uint32_t no_room;     /* generation in which frames got no memory */
	const char *mark;     /* text of the mark being named */
	char name[16];        /* the kernel's name of the thread */
	/* Words of the buffers that are being handed over and opened, 0: none
	 * is; a handler may jump away from it. */
	uint64_t leaving, opening;
	uint32_t leaving_buffer, opening_buffer;
	uint32_t base_unknown;/* calls may be open that the stack does not hold */
	uint64_t stack_high;  /* of the thread, approximate; 0: not known */
	uint64_t alt_low, alt_high;     /* sigaltstack; 0: none */
	struct thread_state *free_next; /* states of threads that have ended */
	uint64_t modules_named[DICT_MAX_MODULES / 64]; /* in the open chunk */
	struct segment segment[MAX_SEGMENTS];
	struct chunk_header scrap_head;
	uint64_t scrap_records[SCRAP_WORDS];
	struct table_set table[1 << TABLE_BITS];
};

#define NO_BUFFER UINT32_MAX
/* Words a chunk can still take when limit is reached: the longest record
 * without a stack, twice. */
enum { RECORD_SLACK = 16 };

extern HIDDEN struct pool
	*process_pool; /* NULL: this program is not recorded */
extern HIDDEN struct pool
	*thread_native_pool; /* NULL: nor are native calls, as yet */
extern THREAD_LOCAL struct thread_state *thread_self;

/* The state to record with, busy set, or NULL: record nothing. sp is the
 * caller's frame address. Hook-safe; does not change errno. */
struct thread_state *
thread_sync(struct thread_state *s); /* slow part of thread_acquire */
struct thread_state *thread_nested(struct thread_state *s,
				   uint64_t sp); /* likewise */

INLINE struct thread_state *thread_acquire_in(const struct pool *pool,
					      uint64_t sp)
{
	struct thread_state *s = thread_self;

	if (unlikely(!s || s->generation !=
		     atomic_load_explicit(&pool->generation,
					  memory_order_relaxed))) {
		/* Off costs no more than this. */
		if (pool &&
		    !(atomic_load_explicit(&pool->generation,
					   memory_order_relaxed) & POOL_ON))
			return NULL;
		s = thread_sync(s);
		if (!s)
			return NULL;
	}
	if (unlikely(s->busy != 0)) {
		s = thread_nested(s, sp);
		if (!s)
			return NULL;
	}
	s->busy = sp;
	barrier();
	return s;
}

INLINE struct thread_state *thread_acquire(uint64_t sp)
{
	return thread_acquire_in(process_pool, sp);
}

/* The same for a native call, which may come before this library is ready to
 * run: nothing of it may be touched but thread_native_pool. */
struct pool *thread_find_native_pool(void);

INLINE struct thread_state *thread_acquire_native(uint64_t sp)
{
	const struct pool *pool = thread_native_pool;

	if (unlikely(!pool)) {
		pool = thread_find_native_pool();
		if (!pool)
			return NULL;
	}
	return thread_acquire_in(pool, sp);
}

INLINE void thread_release(struct thread_state *s)
{
	barrier();
	s->busy = 0;
}

/* A longjmp is about to set the stack pointer to target: hooks that a signal
 * handler interrupted below it will not come back. */
void thread_jumped(uint64_t target);

/* The thread's signal stack lies there now; 0, 0: it has none. */
void thread_set_alt_stack(uint64_t low, uint64_t high);

/* A call was not recorded, since there is no state for it: counts it if the
 * thread had one. */
void thread_count_missed(void);

/* The thread's last destructor round: hand over its chunks. */
void thread_end(void);

/* CPU time of the thread, ns; 0: not known. */
uint64_t thread_cpu(void);

/* Ticks now, never before s->last: a step back (a move to a CPU whose counter
 * lags) counts as no time and is counted. */
uint64_t thread_clock_stepped(struct thread_state *s);

INLINE uint64_t thread_clock(struct thread_state *s)
{
	const uint64_t now = clock_now();

	return likely((int64_t)(now - s->last) >= 0) ? now
						     : thread_clock_stepped(s);
}

#endif
