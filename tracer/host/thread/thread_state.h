/* thread_state.h - what a thread knows while it records: its open chunk, its
 * shadow stack, its dictionary table. Data alone.
 *
 * thread/ writes what a thread does into chunks. It may use base/ and pool/;
 * it does not know who calls it, nor what Lua or a fiber is: these hang
 * functions of theirs in thread_upcalls.
 *
 * Hook-safe means: no lock, no malloc, nothing that can call the program
 * back. Busy means: the state's field busy is set, as thread_acquire does.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"
#include "tracepoints/record.h"
#include "tracer/host/base/module.h"
#include "tracer/host/pool/mapped_pool.h"

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
	uint64_t node;     /* where its calls are counted, as in struct
	                    * counted_entry */
	uint64_t noded;    /* where calls are recorded: tick of the frame to
	                    * which node was given; another's: it has none */
};

/* Beyond every code address of a program: what a key names otherwise. */
#define KEY_LUA (UINT64_C(1) << 63)  /* a Lua function */
#define KEY_MARK (UINT64_C(1) << 62) /* with KEY_LUA: a mark; */
#define KEY_ZONE (UINT64_C(1) << 61) /* with both: a zone (zone.h) */
/* Added to the key of a function whose calls are left out, in the table of the
 * functions that the open chunk has named: no function begins there, so that it
 * is found only where that is asked. */
#define KEY_SKIPPED UINT64_C(1)
/* Set in the key of one whose calls are counted, there and in the tree of
 * counted calls. */
#define KEY_COUNTED (UINT64_C(1) << 59)
/* The same of one that was open when the chunk was opened, though its calls are
 * left out or counted by now; with its entry goes its outermost frame. */
#define KEY_STILL_OPEN (UINT64_C(1) << 58)

/* Set in the key of a call that is to be borrowed: a coroutine begins with
 * it. */
#define KEY_BODY (UINT64_C(1) << 57)

#define FRAME_NONE_ABSORBED UINT64_MAX

/* Flags of a Lua frame. A native enter compares its stack pointer with the
 * word they share with sp: a settled frame lies above every stack pointer,
 * all others below, so that one comparison finds dead native frames and Lua
 * frames that need a look. A frame that waits is not settled; it waits for a
 * limited number of native enters, which are counted above these flags,
 * since those of signal handlers may come first. */
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

/* A borrowed frame (borrowed.h): in the place of its call site, where no call
 * is made. */
#define FRAME_BORROWED UINT64_C(2)
#define FRAME_BORROWED_BODY UINT64_C(4) /* a coroutine begins with it */

INLINE bool frame_begins_borrowed(const struct frame *f)
{
	return unlikely(f->site == FRAME_BORROWED_BODY);
}

INLINE bool frame_is_lua(const struct frame *f)
{
	return (f->flags & FRAME_LUA) != 0;
}

INLINE bool frame_is_untold(const struct frame *f)
{
	const uint64_t both = FRAME_LUA | FRAME_UNTOLD;

	return (f->flags & both) == both;
}

/* The tick of a frame whose entry was not seen: its age is not known at any
 * time, however much the frame is suspended and its tick moved on. */
#define FRAME_TICK_UNKNOWN(now) ((now) - 2 * REC_AGE_UNKNOWN)

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

/* A coroutine's body that a tail call has replaced. Records say no more of it,
 * but readers, for whom it stays open, must be told where they are given the
 * stack. */
struct body {
	uint64_t key;   /* 0: none */
	uint64_t tick;  /* as of a frame */
	uint64_t on;    /* tick of the frame at the base that stands on it: any
	                 * other one there does not */
};

/* A part of the stack: the thread's own (serial 0), or a coroutine's. Frames
 * base .. (next segment's base - 1). */
struct segment {
	_Alignas(64) /* found by a shift */
	uint64_t serial;
	void *owner;    /* the Lua side's struct coroutine; NULL for serial 0 */
	uint32_t base;  /* index of its first frame in frames */
	bool inferred;  /* began without its resume being seen */
	uint64_t sp;    /* stack pointer at the resume: a native event above it
	                 * shows that the segment is off the thread */
	struct body body;
};

/* Calls of one function by one node are counted there. Memory is 0 at first,
 * which is no function's entry: but for two, 0 has other places. */
#define COUNTED_EMPTY UINT64_MAX

struct counted_entry {
	uint64_t key;
	uint64_t under; /* the caller's word; COUNTED_EMPTY: it is empty */
	uint64_t word;  /* its own: { epoch:32 | number in that chunk, spread
	                 * (counted.h):32 } */
	uint64_t *calls; /* in the open chunk */
};

/* A function that the open chunk has named. */
struct table_entry {
	uint64_t key;   /* none of this place's: it is empty */
	uint64_t enter; /* its ENTER, without the gap */
};

/* The function that had this place last. */
struct table_word {
	uint64_t key;
	uint64_t word;  /* its dictionary word, good for every chunk while no
	                 * ELF module goes; 0 for functions whose word refers to
	                 * the chunk's own items */
};

enum {
	LEVELS = 3,
	FIRST_FRAMES = 1000, MAX_FRAMES = 1000000, /* room for so many */
	MAX_SEGMENTS = 512,
	SCRAP_WORDS = 512,
	TABLE_BITS = 12,
	COUNTED_BITS = 13,     /* three times the nodes of a chunk, at least */
};

/* One state for each level: 0 for the thread, 1 and 2 for signal handlers
 * that interrupted a hook. Invariants outside of hooks (busy == 0), which
 * thread_valid checks after each hook in the checked build:
 *   frames < top <= frame_limit;  frames[0] is a sentinel that no exit matches
 *   segment[0].base == 1;  segment bases never fall;  fiber < segments
 *   at - records == *published, but for a scrap's
 *   at <= limit + RECORD_SLACK;  quick <= limit
 *   quick - at <= frame_limit - top, and too_deep is 0, if there is a quick
 *   items_at + items + funcs <= buffer_words;  head has items and funcs
 *   limit lies below the nodes of counted calls;  quick is NULL where all or
 *   brief calls are counted, or deep ones have no records;  each_generation is
 *   generation, or 0
 * and when a chunk is closed:
 *   the sum of gaps and durations of its records == last - tick_begin */
struct thread_state {
	/* What the common case of a hook needs. busy: stack pointer of the hook
	 * at work, with BUSY_CLOSING if the level below is closing this one's
	 * chunk; 0: none is at work. */
	_Alignas(4096) uint64_t busy;
	/* Where the next record goes. The common case is right below quick,
	 * which is NULL if anything is out of the ordinary (thread_release).
	 * at is NULL while one chunk takes another's place. */
	uint64_t *at, *quick;
	struct frame *top;    /* one past the innermost frame */
	uint64_t last;        /* tick at the end of the last record */
	_Atomic uint32_t *published; /* where the recorder sees how many record
	                              * words there are */
	uint64_t *records;    /* of the open chunk */
	uint64_t *limit;      /* from here on: switch chunks */
	uint32_t epoch;       /* of the open chunk, never 0 */
	uint32_t level;
	struct frame *frame_limit;

	/* Lua's. lua_plain: the lua_State whose events need no look beyond the
	 * stack and the cache; NULL: look. */
	void *lua_plain;
	void *lua;            /* its part of this state (lua_vm/vm.h) */

	/* Where calls are counted, in place of quick: the common case pushes
	 * frames below count_limit, which is NULL if anything is out of the
	 * ordinary, and but for the one at count_base. */
	struct frame *count_limit, *count_base;
	bool counts;          /* calls are counted, and have no records */
	bool chooses;         /* brief or deep calls have none, or there is a
	                       * lua_top. Then quick is NULL, and in its place
	                       * there is: */
	uint64_t *chosen_quick;
	uint64_t brief;       /* of calls, those shorter than so many ticks are
	                       * counted; 0: none */
	uint32_t lua_top;     /* sampled Lua runs on so many frames, the
	                       * sentinel among them: a call made there is one
	                       * of its; 0: it does not. Then chooses is set */
	const uint64_t *lua_said; /* at, when it was said last which of its
	                       * functions make a call */
	bool lua_unsaid;      /* a part of the recording, or a process, begins:
	                       * the first call may be one of Lua's */
	uint32_t nodes;       /* of counted calls, in the open chunk */
	uint64_t awaited;     /* key of the C function that Lua called last and
	                       * whose calls are counted in a recording: if it
	                       * has hooks, its next enter is that call */

	/* Frames of a segment that may have records: depth.h. The common case
	 * pushes those that have none from deep on, below deep_limit. */
	uint32_t max_depth, lowest_depth;
	struct frame *deep, *deep_limit;

	/* The shadow stack. */
	struct frame *frames;
	uint64_t too_deep;    /* open calls beyond MAX_FRAMES */
	uint32_t found;       /* open calls that were put under others */
	uint32_t window;      /* when the stack began */
	uint32_t segments;    /* at least 1 */
	uint32_t no_room;     /* generation in which frames got no memory */
	uint32_t moving;      /* so many frames are being moved to a larger
	                       * place; 0: none are */
	uint32_t moved_room;  /* meanwhile: there is room for so many at */
	struct frame *moved;  /* moved, where they all are; NULL: not yet */
	bool base_unknown;    /* unknown calls may be open under it */
	bool native_unknown;  /* unknown native calls may be open among its */
	uint32_t natives;     /* thread_natives when they were right */
	uint64_t stack_high;  /* end of its stack, roughly; 0: unknown */
	uint64_t alt_low, alt_high; /* its signal stack; 0: it has none */

	/* A native coroutine. fiber: the segment at which its stack begins, 0:
	 * the thread's own stack is running. */
	uint32_t fiber;
	bool fiber_unknown;   /* unknown calls may be open on it */
	void *fiber_on;       /* its struct fiber (fiber/fiber.h) */
	uint64_t fiber_below; /* too_deep of the stack under it */
	uint64_t fiber_left;  /* stack pointer on the stack left last */

	/* The open chunk. */
	struct chunk_header *head; /* the scrap's own, if it is that */
	uint32_t buffer;      /* its number in the pool; NO_BUFFER: scrap */
	uint32_t buffer_words, items_at; /* items begin at this word */
	uint32_t items, funcs; /* words of items, and functions, written */
	uint64_t number;
	uint64_t written;     /* record words in the chunks before it */
	uint64_t opened;      /* tick at which it was opened */
	uint64_t may_end;     /* record words in the stream from which on a
	                       * chunk may end early (chunk_dictionary.h) */
	uint64_t cpu;         /* thread CPU clock at its start */
	uint64_t modules_named[DICT_MAX_MODULES / 64];
	/* Those that have the last numbers of this chunk. */
	const struct module *modules_late[DICT_MAX_MODULES - MODULES_NUMBERED];
	const char *mark;     /* text of the mark being named */
	uint32_t module_epoch; /* for which the table's words are right */
	bool resync;          /* the next chunk does not continue this one */
	bool want_big;        /* the next chunk needs a big buffer */
	bool in_vain;         /* no buffer was free when it wanted one last */
	bool late;            /* it is closed long after its last record */
	bool awaits;          /* recording waits for a function: all calls are
	                       * left out, and the scrap is thrown away */

	/* The buffers that are being handed over and opened, word 0: none is. A
	 * handler may jump away from that. */
	struct buffer_claim leaving, opening;

	/* Levels. said: what the last INTERRUPT said. */
	struct thread_state *next;  /* the level above; NULL until needed */
	struct thread_state *below; /* NULL: this is the thread's own */
	uint64_t said_chunk;
	uint32_t said_n;

	/* Who this is. */
	struct pool_thread *slot;
	uint32_t slot_index, thread_serial, process_serial, tid;
	uint32_t range;       /* where its pool lies (mapped_pool.h) */
	char name[16];        /* the kernel's name of the thread */
	struct thread_state *free_next; /* once the thread has ended */

	/* The pool's, up to which this state is up to date. On a page that is
	 * all zero in a child of fork or clone, so that the child does not take
	 * itself for its parent. */
	_Alignas(4096) uint32_t generation;
	/* The same where each call has a record; the hooks compare this one. 0:
	 * they have a common case of their own. */
	uint32_t each_generation;
	/* And where all calls are counted, and none is too deep. */
	uint32_t count_generation;
	_Alignas(4096) uint64_t table_used[(1 << TABLE_BITS) / 64];

	struct segment segment[MAX_SEGMENTS];
	struct chunk_header scrap_head;
	uint64_t scrap_records[SCRAP_WORDS];
	/* The functions that the open chunk has named, table_used says where;
	 * and the dictionary words of those that it or others had. Where a
	 * number of whole pages is found in one instruction on any machine. */
	_Alignas(4096) struct table_entry table[1 << TABLE_BITS];
	struct table_word words[1 << TABLE_BITS];
	uint64_t counted_used[(1 << COUNTED_BITS) / 64];
	struct counted_entry counted[1 << COUNTED_BITS];
};

#define BUSY_CLOSING UINT64_C(1) /* stack pointers are even */

/* Words a chunk can still take when limit is reached: the longest record
 * without a stack, twice. */
enum { RECORD_SLACK = 16 };

/* The module or Lua source that a function is of: its hash, as in verdict.h,
 * and its name, which no 0 need follow. */
struct function_origin {
	uint64_t hash;
	const char *name;
	size_t size;
};

/* What higher folders do when something happens here. NULL: there is no Lua, or
 * no fiber, so that a program without them pays nothing. Set before the first
 * event of their kind, never changed. All are called busy and must be
 * hook-safe. */
struct thread_upcalls {
	/* Writes the item of a Lua function (its key has KEY_LUA) into the open
	 * chunk; returns its word in the items, UINT32_MAX: no room. */
	uint32_t (*lua_item)(struct thread_state *s, uint64_t key);
	/* What stands for a Lua function in the table of verdicts, and its
	 * source. */
	uint64_t (*lua_verdict)(uint64_t key, struct function_origin *from);
	/* A function was named under this index in the open chunk: adds what
	 * Lua calls it, if it is native and that is known, and whether its
	 * returns are told. */
	void (*lua_hint)(struct thread_state *s, uint64_t key, uint32_t index);
	/* A chunk was opened: writes items that every chunk has. */
	void (*lua_chunk)(struct thread_state *s);
	/* A native event shows that the topmost segment is off the thread:
	 * detaches it. */
	void (*lua_detach)(struct thread_state *s, uint64_t now);
	/* Is the topmost coroutine about to yield, so that the jump that comes
	 * is no error? */
	bool (*lua_yielding)(struct thread_state *s);
	/* A native call comes after a jump that left a Lua frame on top: ends
	 * the frames that the jump has ended. */
	void (*lua_doubt)(struct thread_state *s, uint64_t now);
	/* The program is about to jump to this stack pointer: ends what a jump
	 * over calls of Lua ends. */
	void (*lua_jumped)(struct thread_state *s, uint64_t target,
			   uint64_t now);
	/* This thread ends, and is not busy. */
	void (*lua_ends)(void);
	/* A call of fn, from outside of our hooks, or a resume, is about to be
	 * recorded where sampled Lua runs (lua_top); or, if fn is 0, memory is
	 * taken there. Says which Lua functions do so. Not busy. */
	void (*lua_calls)(uint64_t fn, uint64_t sp);
	/* An allocation was noted: has the collector of the VM that runs here
	 * ended a cycle since? That is recorded. Busy. */
	void (*lua_collected)(struct thread_state *s, uint64_t sp);
	/* A part of the recording begins, maybe while sampled Lua runs: then
	 * there is a lua_top again. Busy. */
	void (*lua_goes_on)(struct thread_state *s);
	/* Recording went on: attaches the fiber that runs, if it is another
	 * than the state knows. */
	void (*fiber_settle)(struct thread_state *s);
};

extern HIDDEN struct thread_upcalls thread_upcalls;
