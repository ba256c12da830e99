/* pool.h - the buffer pool: the shared mapping through which the recorded
 * programs hand chunks to the recorder; who may write what, in which order.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"
#include "tracepoints/verdict.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file /dev/shm/weft-UID-RANDOM (0600), made by the recorder, mapped by
 * every process of the recorded tree:
 *
 *   struct pool | process slots | thread slots | verdicts | buffer states |
 *   buffers
 *
 * Every part starts on a page; struct pool has the offsets. Any recorded
 * process can overwrite all of it: a number from the pool must be checked
 * before it is used as an index or a length, and the recorder works on copies.
 *
 * A program finds the pool through POOL_ENV="FD:DEVICE:INODE:PATH": first the
 * inherited descriptor, checked by device and inode, then the path. */
#define POOL_ENV "WEFT_POOL"
#define POOL_MAGIC UINT64_C(0x4c4f4f5054464557) /* "WEFTPOOL" in the file */

enum {
	/* Of the layout and of what its numbers mean: a library of another
	 * version leaves the pool alone. The recorder tells of it. */
	POOL_VERSION = 4,
	POOL_SMALL_WORDS = 1024,                /* 8 KiB */
	POOL_BIG_WORDS = CHUNK_MAX_WORDS,       /* 128 KiB */
	POOL_PATH_MAX = 512,
};

/* How many record words a buffer of that size holds. The rest, without the
 * header, is for items and dictionary. */
static inline uint32_t pool_record_room(uint32_t buffer_words)
{
	return buffer_words == POOL_BIG_WORDS ? CHUNK_MAX_RECORDS :
	       (buffer_words - CHUNK_HEADER_WORDS) / 2;
}

/* pool.generation: bit 0 is set while recording is on, bit 1 if a title turned
 * it on, bit 2 once the recording has ended: nobody turns it on again, bit 3 as
 * long as a function is waited for (--start-on): all calls are left out.
 * Whenever it is turned on, at each start of a title, each dlclose and each
 * request to cut, POOL_GENERATION_STEP is added. Never 0. */
enum { POOL_ON = 1, POOL_BY_TITLE = 2, POOL_ENDED = 4, POOL_AWAITS = 8,
       POOL_GENERATION_STEP = 16 };

/* A value of pool.turn. */
union pool_turn {
	struct { uint32_t generation, window; };
	uint64_t both;
};

/* What is recorded of Lua: nothing; each call; which functions run at ticks of
 * the CPU time, without a hook for calls; each call, and at ticks in which
 * line it is; or each call, but functions at ticks for a Lua state of which
 * the table of verdicts says so (verdict_of_vm). */
enum pool_lua { POOL_LUA_OFF = 0, POOL_LUA_EXACT = 1, POOL_LUA_SAMPLED = 2,
		POOL_LUA_LINES = 3, POOL_LUA_BUDGET = 4 };

/* What is recorded of calls: each of them; or how many there were. */
enum pool_mode { POOL_CALLS = 0, POOL_COUNTS = 1 };

enum pool_on_full { POOL_DROP = 0, POOL_WAIT = 1,
		    POOL_LEND = 2 /* wait a second at most, then drop */ };

/* With POOL_LEND no thread waits if this is not NOT; with POOL_WAIT, none if it
 * is THREADS. DISK: the recorder can set no more chunks aside, so that it must
 * wait for the disk itself. THREADS: every buffer has been held by a thread
 * that fills it for a while, although the recorder asked for them; those
 * threads may wait for one that has none. */
enum pool_stuck { STUCK_NOT = 0, STUCK_DISK = 1, STUCK_THREADS = 2 };

/* NONE becomes TOLD (CAS) by the thread that then writes why, and WANTED when
 * that is there. */
enum pool_snapshot { SNAPSHOT_NONE = 0, SNAPSHOT_TOLD = 1,
		     SNAPSHOT_WANTED = 2 };

/* While POOL_AWAITS is set, a thread that meets a module or Lua source of which
 * the table of verdicts says nothing asks the recorder. FREE becomes TAKEN by
 * the thread (CAS), ASKED when the rest is written. When the table has the
 * answer, the recorder adds 1 to answered, a futex, makes it FREE again, and
 * wakes all. */
enum pool_asking { ASKING_FREE = 0, ASKING_TAKEN = 1, ASKING_ASKED = 2 };

struct pool_question {
	_Atomic uint32_t state;       /* enum pool_asking */
	_Atomic uint32_t answered;
	uint32_t pid;                 /* in the program's own namespace */
	uint64_t hash;                /* as in verdict.h */
	char name[POOL_PATH_MAX];     /* NUL-terminated; "@" begins a Lua
	                               * source's */
};

/* A Lua state (main thread), as long as it lives. Its slot is taken like those
 * below, by the process that has it; if none is free, it is in none. */
struct pool_vm {
	_Atomic uint32_t state;
	uint32_t process, serial;     /* serials */
	_Atomic uint32_t tid;         /* of the thread that ran it last */
	_Atomic uint32_t window;      /* pool_window when it was seen last */
};
enum { POOL_VMS = 64 };

enum { POOL_HEAP_EXACT = 1 };

struct pool {
	/* Written by the recorder before any program starts. */
	uint64_t magic;
	uint32_t version;
	uint32_t on_full;             /* enum pool_on_full */
	uint64_t size;                /* of the whole mapping, bytes */
	uint64_t recording;           /* random number */
	uint32_t process_slots, thread_slots;
	uint32_t small_buffers, big_buffers;
	uint64_t process_offset, thread_offset, state_offset;
	uint64_t small_offset, big_offset;
	uint64_t verdict_offset;
	uint32_t verdict_slots;       /* 0: every function is recorded */
	uint32_t use_tsc;             /* 1: ticks are of the CPU's counter */
	uint32_t lua;                 /* enum pool_lua */
	uint32_t native;              /* 0: leave native calls alone */
	uint32_t mode;                /* enum pool_mode */
	uint32_t flight;              /* 1: the newest chunks are kept, and
	                               * written as a snapshot when asked for */
	uint32_t max_depth;           /* calls deeper in the stack of a thread
	                               * or coroutine have no records; 0: all
	                               * have */
	uint32_t waits;               /* 1: calls of libc's that wait are
	                               * recorded, too */
	uint64_t asked;               /* its size before it was rounded */
	uint32_t attached;            /* 1: programs join that run already, and
	                               * leave again (attach.h) */
	uint32_t heap;                /* calls that take memory or give it back
	                               * are recorded, too: POOL_HEAP_EXACT:
	                               * all; else of one in so many bytes;
	                               * 0: none */
	uint64_t brief;               /* calls that record nothing inside and
	                               * take less ticks are counted; 0: none */

	/* Read at every hook, written seldom: a cache line of its own.
	 * window: how often recording was turned on after the start. A thread
	 * that finds it changed knows that calls may have passed unseen. */
	_Alignas(128) union {
		struct { _Atomic uint32_t generation, window; };
		_Atomic uint64_t turn; /* both (union pool_turn) */
	};
	/* A thread that sees a new generation closes its buffer if it opened it
	 * before this tick: the request to cut. */
	_Atomic uint64_t cut_before;

	/* Written by the recorder: ticks a second over the recording so far,
	 * and the bound of its error in parts per billion. */
	_Alignas(128) _Atomic uint64_t tick_hz;
	_Atomic uint64_t tick_hz_error;

	/* The next serials, given out by fetch_add. 0 stands for nobody. */
	_Alignas(128) _Atomic uint32_t next_process;
	_Atomic uint32_t next_thread;
	_Atomic uint32_t next_vm;
	_Atomic uint64_t next_coroutine;
	/* The thread slot to try next: a hint, which may have any value. */
	_Atomic uint32_t thread_hint;
	_Atomic uint64_t unslotted_threads; /* threads that found no slot */
	/* With POOL_WAIT and POOL_LEND: the recorder adds the buffers that it
	 * has given back and wakes so many of the threads that sleep on this
	 * futex. */
	_Atomic uint32_t given_back;
	_Atomic uint32_t unslotted_processes; /* that found no slot */
	/* Calls of threads that could not be recorded, or not any more: no
	 * memory, or no system calls; and those of the loader before the
	 * program began (IFUNC resolvers). */
	_Atomic uint64_t unrecorded;
	/* Calls of threads after their last destructor. */
	_Atomic uint64_t after_destructors;
	/* That found the pool, but have no page that a fork wipes. */
	_Atomic uint32_t unjoined_processes;

	/* A snapshot that a program wants (weft_snapshot): enum pool_snapshot;
	 * the recorder sets it back. */
	_Atomic uint32_t snapshot;
	char snapshot_reason[256];    /* UTF-8, NUL-terminated */

	_Atomic uint32_t is_stuck;    /* enum pool_stuck: why waiting is vain */

	/* Held by the recorder while it lives; robust, process-shared. */
	_Alignas(128) pthread_mutex_t recorder;

	_Alignas(128) struct pool_question question;

	/* For weft status. */
	struct pool_vm vm[POOL_VMS];
};

/* A slot is free (0), then busy (CAS, by the taker), then used (store), and
 * free again (store, by the recorder, once the owner is dead and its buffers
 * are taken). The recorder makes the mutexes, robust and process-shared. The
 * owner locks its mutex when it starts and never unlocks it: OWNER_DIED tells
 * of its end, in whatever way it ended.
 * Where programs are attached, the mutex is held by its word alone, and libc
 * knows nothing of it, since the mapping must go before the thread does. A
 * thread that ends says OWNER_DIED itself; of others the recorder does, once
 * /proc has them no more. */
enum { SLOT_FREE = 0, SLOT_BUSY = 1, SLOT_USED = 2, SLOT_ENDED = 3 };

/* A process, from fork or exec to its end or the next exec. */
struct pool_process {
	pthread_mutex_t alive;        /* held by the thread that took it */
	_Atomic uint32_t state;
	uint32_t serial, parent;      /* parent: its serial; 0: not known */
	uint32_t pid;                 /* in the program's own namespace */
	uint64_t start;               /* CLOCK_REALTIME ns */
	_Atomic uint32_t vms;         /* Lua states (main threads) seen */
	_Atomic uint64_t coroutines;  /* made */
	_Atomic uint32_t dropped;     /* enum process_trouble, bits */
	_Atomic uint32_t titles;      /* that run in it (weft_start) */
	char path[POOL_PATH_MAX];     /* of /proc/self/exe; may be cut */
};

enum process_trouble {
	TROUBLE_JIT_OFF = 1,          /* LuaJIT's compiler was turned off */
	TROUBLE_NO_MEMORY = 2,        /* mmap failed: threads are missing */
	TROUBLE_LUA_UNKNOWN = 4,      /* a Lua library of an unknown kind */
	TROUBLE_CONFINED = 8,         /* a thread gave up its clock (seccomp) */
	TROUBLE_LUA_PASSED = 16,      /* plugins use a Lua past weft */
	TROUBLE_LUA_HOOK = 32,        /* a script has put weft's hook away */
	TROUBLE_LUA_UNNOTED = 64,     /* a VM that cannot be sampled */
	TROUBLE_CONSTRUCTORS = 128,   /* a plugin's were not recorded */
};

struct pool_thread {
	pthread_mutex_t alive;
	_Atomic uint32_t state;
	uint32_t serial, process;     /* process: its serial */
	uint32_t tid;
	/* Only the thread writes these. */
	_Alignas(64) _Atomic uint64_t lost[LOST_REASONS];
	/* Record words in the thread's scrap, which it uses because no buffer
	 * of the pool was free. They join lost[LOST_FULL] when it drops it. */
	_Atomic uint32_t scrap;
};

/* A buffer's state: one 64-bit word, so that a process that is killed between
 * any two instructions leaves a word that names its owner.
 *
 *  63              32 31                   4 3     0
 * +------------------+----------------------+-------+
 * | generation       | owner's thread slot  | state |
 * +------------------+----------------------+-------+
 *
 *   free ---- CAS by a thread ----> filling
 *   filling - store, release -----> full       (its owner only)
 *   full ---- CAS by the recorder-> taken      (filling too, once the owner
 *                                               is dead)
 *   taken --- store --------------> free       (after the header's counts are
 *                                               zeroed; generation + 1)
 * The last buffers of either size may be closed: those that have no pages. The
 * recorder gives small ones pages, and opens them, when threads hold most of
 * the others.
 */
enum buffer_state { BUFFER_FREE = 0, BUFFER_FILLING = 1, BUFFER_FULL = 2,
		    BUFFER_TAKEN = 3, BUFFER_CLOSED = 4 /* has no pages */ };

static inline uint64_t buffer_word(enum buffer_state state, uint32_t slot,
				   uint32_t generation)
{
	return (uint64_t)generation << 32 | (uint64_t)slot << 4 | state;
}

static inline enum buffer_state buffer_state(uint64_t word)
{
	return (enum buffer_state)(word & 15);
}

static inline uint32_t buffer_slot(uint64_t word)
{
	return (uint32_t)word >> 4;
}

static inline uint32_t buffer_generation(uint64_t word)
{
	return (uint32_t)(word >> 32);
}

/* The parts of a pool whose offsets were checked by pool_valid. The small
 * buffers have the lower numbers. */
static inline struct pool_process *pool_process(struct pool *p, uint32_t i)
{
	return (struct pool_process *)((char *)p + p->process_offset) + i;
}

static inline struct pool_thread *pool_thread(struct pool *p, uint32_t i)
{
	return (struct pool_thread *)((char *)p + p->thread_offset) + i;
}

static inline _Atomic uint64_t *pool_verdicts(struct pool *p)
{
	return (_Atomic uint64_t *)((char *)p + p->verdict_offset);
}

static inline _Atomic uint64_t *pool_state(struct pool *p, uint32_t i)
{
	return (_Atomic uint64_t *)((char *)p + p->state_offset) + i;
}

static inline uint64_t *pool_buffer(struct pool *p, uint32_t i)
{
	if (i < p->small_buffers)
		return (uint64_t *)((char *)p + p->small_offset) +
		       (size_t)i * POOL_SMALL_WORDS;
	return (uint64_t *)((char *)p + p->big_offset) +
	       (size_t)(i - p->small_buffers) * POOL_BIG_WORDS;
}

/* Turn recording on, unless it is or has ended; returns whether it was. by:
 * POOL_BY_TITLE or 0. The window rises in the same step: of two that do this at
 * once, one alone begins a window. */
static inline bool pool_turn_on(struct pool *p, uint32_t by)
{
	union pool_turn now = { .both = atomic_load(&p->turn) }, next;

	do {
		if (((now.generation & POOL_ON) && !by) ||
		    (now.generation & POOL_ENDED))
			break;
		next = now;
		if (!(now.generation & POOL_ON)) {
			next.generation |= POOL_ON | by;
			next.window++;
		}
		next.generation += POOL_GENERATION_STEP;
	} while (!atomic_compare_exchange_weak(&p->turn, &now.both,
					       next.both));
	return now.generation & POOL_ON;
}

/* Is recording on at this moment, and waits for no function? */
static inline bool pool_is_on(struct pool *p)
{
	return (atomic_load(&p->generation) & (POOL_ON | POOL_AWAITS)) ==
	       POOL_ON;
}

/* The window, with that generation. As long as a function is waited for, it is
 * the one before the first: who makes a call then is known. */
static inline uint32_t pool_window(struct pool *p, uint32_t generation)
{
	return atomic_load(&p->window) - ((generation & POOL_AWAITS) != 0);
}

/* Clear those bits of the generation; returns which of them were set. No
 * generation comes again without POOL_AWAITS that was there with it. */
static inline uint32_t pool_turn_off(struct pool *p, uint32_t bits)
{
	return atomic_fetch_and(&p->generation, ~bits) & bits;
}

/* Turn recording on, whatever function it waits for; returns whether it was. */
static inline bool pool_start(struct pool *p)
{
	const bool awaited = pool_turn_off(p, POOL_AWAITS) != 0;

	return pool_turn_on(p, 0) && !awaited;
}

/* Turn recording off for good. */
static inline void pool_end(struct pool *p)
{
	uint32_t now = atomic_load(&p->generation);

	while (!atomic_compare_exchange_weak(&p->generation, &now,
			(now | POOL_ENDED) & ~(uint32_t)POOL_ON))
		continue;
}

/* Who changes these raises POOL_VERSION and, so that a recorder that attaches
 * can tell, ATTACH_VERSION. */
_Static_assert(POOL_VERSION == 4 && sizeof(struct pool) == 2944 &&
	       sizeof(struct pool_process) ==
	       560 + sizeof(pthread_mutex_t) &&
	       sizeof(struct pool_thread) == 128 &&
	       offsetof(struct pool, generation) == 256 &&
	       offsetof(struct pool, window) == 260 &&
	       offsetof(struct pool, is_stuck) == 840 &&
	       offsetof(struct pool, recorder) == 896 && POOL_LEND == 2 &&
	       offsetof(struct pool, question) == 1024 &&
	       sizeof(struct pool_vm) == 20,
	       "the layout of a pool belongs to its version");

/* Whether this is a pool that this code can use, in mapped bytes. */
static inline bool pool_valid(const struct pool *p, uint64_t mapped)
{
	return mapped >= sizeof(*p) && p->magic == POOL_MAGIC &&
	       p->version == POOL_VERSION && p->size <= mapped &&
	       p->process_slots <= 1u << 20 && p->thread_slots <= 1u << 20 &&
	       p->small_buffers <= 1u << 20 && p->big_buffers <= 1u << 20 &&
	       p->verdict_slots <= VERDICT_SLOTS &&
	       (p->verdict_slots & (p->verdict_slots - 1)) == 0 &&
	       p->verdict_offset <= p->size && p->verdict_offset % 8 == 0 &&
	       p->verdict_slots * UINT64_C(8) <= p->size - p->verdict_offset &&
	       p->process_offset <= p->size && p->thread_offset <= p->size &&
	       p->state_offset <= p->size && p->small_offset <= p->size &&
	       p->big_offset <= p->size &&
	       p->process_slots * sizeof(struct pool_process) <=
		       p->size - p->process_offset &&
	       p->thread_slots * sizeof(struct pool_thread) <=
		       p->size - p->thread_offset &&
	       ((uint64_t)p->small_buffers + p->big_buffers) * 8 <=
		       p->size - p->state_offset &&
	       (uint64_t)p->small_buffers * POOL_SMALL_WORDS * 8 <=
		       p->size - p->small_offset &&
	       (uint64_t)p->big_buffers * POOL_BIG_WORDS * 8 <=
		       p->size - p->big_offset;
}
