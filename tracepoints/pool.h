/* pool.h - the buffer pool: the one shared mapping through which the recorded
 * programs hand chunks to the recorder. Who may write what, and in which order.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACEPOINTS_POOL_H
#define WEFT_TRACEPOINTS_POOL_H

#include "tracepoints/chunk.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The file /dev/shm/weft-UID-RANDOM (0600), made by the recorder, mapped by
 * every process of the recorded tree:
 *
 *   struct pool | process slots | thread slots | buffer states | buffers
 *
 * Every part starts on a page; the offsets stand in struct pool. Whatever lies
 * here can be overwritten by any recorded process: nobody uses a number from
 * the pool as an index or a length without checking it, and the recorder works
 * on copies.
 *
 * A program finds the pool through POOL_ENV="FD:DEVICE:INODE:PATH": first the
 * inherited descriptor, checked by device and inode, then the path. */
#define POOL_ENV "WEFT_POOL"
#define POOL_MAGIC UINT64_C(0x4c4f4f5054464557) /* "WEFTPOOL" in the file */

enum {
	POOL_VERSION = 1,
	POOL_SMALL_WORDS = 1024,                /* 8 KiB */
	POOL_BIG_WORDS = CHUNK_MAX_WORDS,       /* 128 KiB */
	POOL_PATH_MAX = 512,
};

/* Record words a buffer of that many words holds; the rest, less the header,
 * is for items and dictionary. */
static inline uint32_t pool_record_room(uint32_t buffer_words)
{
	return buffer_words == POOL_BIG_WORDS ? CHUNK_MAX_RECORDS :
	       (buffer_words - CHUNK_HEADER_WORDS) / 2;
}

/* pool.generation: bit 0 is set while recording is on; each change of it, each
 * dlclose and each request to cut adds POOL_GENERATION_STEP. Never 0. */
enum { POOL_ON = 1, POOL_GENERATION_STEP = 2 };

enum pool_on_full { POOL_DROP = 0, POOL_WAIT = 1, POOL_OVERWRITE = 2 };

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
	uint32_t use_tsc;             /* 1: ticks are the invariant TSC */
	uint32_t lua;                 /* 0: leave Lua alone */
	uint32_t native;              /* 0: leave native calls alone */
	uint32_t paused_hot;          /* Lua hooks stay in place while off */

	/* Read at every hook, written seldom: a line of its own. */
	_Alignas(128) _Atomic uint32_t generation;
	/* How often recording was turned on after the start (a pool that starts
	 * with POOL_ON has 0 here): whoever finds it changed knows
	 * that calls may have gone by unseen. Raised before generation. */
	_Atomic uint32_t window;
	/* A filling buffer opened before this tick is asked to cut, by whoever
	 * sees a new generation. */
	_Atomic uint64_t cut_before;

	/* The recorder's: ticks a second over the run so far, and the bound of
	 * its error in parts per billion. */
	_Alignas(128) _Atomic uint64_t tick_hz;
	_Atomic uint64_t tick_hz_error;

	/* Serials, given out by fetch_add; 0 is nobody. */
	_Alignas(128) _Atomic uint32_t next_process;
	_Atomic uint32_t next_thread;
	_Atomic uint32_t next_vm;
	_Atomic uint64_t next_coroutine;
	/* Next thread slot to try: a hint, any value will do. */
	_Atomic uint32_t thread_hint;
	/* What had no slot to be counted in. */
	_Atomic uint64_t unslotted_threads, unslotted_processes;
	/* How many buffers the recorder has given pages, from the first on. */
	_Atomic uint32_t small_ready, big_ready;
	/* Native calls of threads whose state was given up. */
	_Atomic uint64_t late_calls;

	/* Held by the recorder while it lives: robust, process-shared. */
	_Alignas(128) pthread_mutex_t recorder;
};

/* Slots go free (0) > busy (CAS, by the taker) > used (store) and back to free
 * (store, by the recorder once the owner is dead and its buffers are taken).
 * The mutexes are robust and process-shared, made by the recorder, locked by
 * the owner at birth and never unlocked: OWNER_DIED tells of its end, however
 * it came. */
enum { SLOT_FREE = 0, SLOT_BUSY = 1, SLOT_USED = 2, SLOT_ENDED = 3 };

/* An image of a program in a process: fork and exec make new ones. */
struct pool_process {
	pthread_mutex_t alive;        /* held by the thread that registered it */
	_Atomic uint32_t state;
	uint32_t serial, parent;      /* parent's serial, 0: none known */
	uint32_t pid;                 /* in the program's own namespace */
	uint64_t start;               /* CLOCK_REALTIME ns */
	_Atomic uint32_t vms;         /* Lua states (main threads) seen */
	_Atomic uint64_t coroutines;  /* made */
	_Atomic uint32_t dropped;     /* enum process_trouble, bits */
	char path[POOL_PATH_MAX];     /* /proc/self/exe, may be cut */
};

enum process_trouble {
	TROUBLE_NO_MEMORY = 2,        /* mmap failed: some threads unrecorded */
	TROUBLE_LUA_UNKNOWN = 4,      /* a Lua library of an unknown kind */
	TROUBLE_CONFINED = 8,         /* a thread gave up its clock (seccomp) */
};

struct pool_thread {
	pthread_mutex_t alive;
	_Atomic uint32_t state;
	uint32_t serial, process;     /* process: its serial */
	uint32_t tid;
	/* Written by the thread alone; read by anybody. */
	_Alignas(64) _Atomic uint64_t lost[LOST_REASONS];
	/* Record words in the private buffer that is being thrown away because
	 * none of the pool was free; they join lost[LOST_FULL] when dropped. */
	_Atomic uint32_t scrap;
};

/* A buffer's state: one 64-bit word, so that a process killed between any two
 * instructions leaves a word that names its owner.
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
 * With POOL_OVERWRITE a thread may CAS full > filling.
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

/* The parts. Needs a pool whose offsets were checked (pool_valid). Buffers are
 * numbered: the small ones first, then the big ones. */
static inline struct pool_process *pool_process(struct pool *p, uint32_t i)
{
	return (struct pool_process *)((char *)p + p->process_offset) + i;
}

static inline struct pool_thread *pool_thread(struct pool *p, uint32_t i)
{
	return (struct pool_thread *)((char *)p + p->thread_offset) + i;
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

static inline uint32_t pool_buffer_words(const struct pool *p, uint32_t i)
{
	return i < p->small_buffers ? POOL_SMALL_WORDS : POOL_BIG_WORDS;
}

/* Is this a pool this code can use, of at most mapped bytes? */
static inline int pool_valid(const struct pool *p, uint64_t mapped)
{
	return mapped >= sizeof(*p) && p->magic == POOL_MAGIC &&
	       p->version == POOL_VERSION && p->size <= mapped &&
	       p->process_slots <= 1u << 20 && p->thread_slots <= 1u << 20 &&
	       p->small_buffers <= 1u << 20 && p->big_buffers <= 1u << 20 &&
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

#endif
