/* mapped_pool.h - the pool as this process has it mapped: its slots, which
 * stand for processes and threads, and its buffers, which are filled with
 * chunks. pool/ joins this process to the recording. It may use base/, and
 * knows nothing of what is recorded. SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"
#include "tracer/host/base/base.h"

extern HIDDEN struct pool *mapped_pool; /* NULL: this program is not recorded */

/* The pool's layout, copied when it was mapped and checked: the mapping itself
 * can be overwritten by any recorded process. */
struct mapped_view {
	struct pool_process *processes;
	struct pool_thread *threads;
	_Atomic uint64_t *states;
	uint64_t *small, *big;
	const _Atomic uint64_t *verdicts; /* NULL: every function is recorded */
	uint32_t process_slots, thread_slots, small_count, big_count;
	uint32_t verdict_slots;
	uint64_t recording;
	bool lua, native; /* to be recorded at all? */
	uint32_t waits;   /* and calls of libc's that wait? */
	uint32_t heap;    /* and those that take or give back memory? As in the
	                   * pool */
	bool lua_sampled; /* Lua at ticks alone? */
	bool lua_budget;  /* or so where a verdict says it? */
	bool lua_lines;   /* each of its calls, and at ticks their lines? */
	bool attached;    /* will it be left again? */
};

extern HIDDEN struct mapped_view mapped_view;

/* Maps the pool that the text, POOL_ENV's value, names; NULL: there is none
 * that can be used. attached: it is one that will be left again, else it is
 * not; it has the shape of the one before. mapped_pool is left to the caller to
 * set. Hook-safe. */
struct pool *mapped_open(const char *text, bool attached);

/* Leaves the pool, which was attached: what lies in its place from here on is
 * this process's own, and off for ever. In a program that is confined it stays
 * where it is, and is off as well. Hook-safe. */
void mapped_leave(void);

/* Where a pool lies that is or was attached: a thread in the midst of a hook
 * may write there long after it was left, so that the place is not used again
 * while any thread's state refers to it. */
extern HIDDEN uint32_t mapped_range; /* the number of the last one */
void mapped_range_hold(uint32_t range);
void mapped_range_release(uint32_t range);
/* In a child of fork: nobody holds any. */
void mapped_range_reset(void);

/* Is the pool's recorder dead, or gone? */
bool mapped_recorder_is_dead(void);

/* A slot for this process, or NULL: none is free. It is held until the calling
 * thread ends; the caller fills it, then sets its state to SLOT_USED. To be
 * called first by a new process. Hook-safe. */
struct pool_process *mapped_claim_process(void);

/* The number of a slot for the calling thread, which holds it until it ends, or
 * NO_SLOT: none is free. The caller sets its state, as above. Hook-safe. */
#define NO_SLOT UINT32_MAX
uint32_t mapped_claim_thread(void);
/* The thread in that slot ends; needed where the kernel does not say so. */
void mapped_end_thread(struct pool_thread *slot);

/* A buffer that a thread takes: word is what its state is to become, and is set
 * before it does, so that a signal handler which jumps away from that leaves
 * word of what to give back. 0: none is being taken. */
struct buffer_claim {
	uint64_t word;
	uint32_t buffer;
};

/* What a thread does where the pool says that it waits for the recorder. */
enum buffer_wait {
	WAIT_NEVER,                /* it may make no system calls */
	WAIT_IF_ASKED,             /* not with POOL_LEND: it did so in vain */
	WAIT_AS_SAID,
};

/* The number of a buffer to fill, of the other size if need be, for the thread
 * in that slot. Where all are in use: waits for the recorder, takes the oldest
 * full one, or gives NO_BUFFER, as the pool says. Hook-safe. */
#define NO_BUFFER UINT32_MAX
uint32_t mapped_claim_buffer(struct buffer_claim *c, uint32_t slot, bool big,
			     enum buffer_wait wait);

/* From filling to full, or back to free, unless the recorder or the parent of a
 * fork was faster. word: the buffer's state as it was; 0: it is not of this
 * process any more. Hook-safe. */
void mapped_release_buffer(uint32_t b, uint64_t word, enum buffer_state state);

/* Asks the recorder for the functions of a module or Lua source (pool.h), whose
 * name has that many bytes. Returns whether it has answered: it is waited for a
 * second at most, and not at all once that was in vain. Hook-safe. */
bool mapped_ask(uint32_t pid, uint64_t hash, const char *name, size_t size);

INLINE bool mapped_is_small(uint32_t b)
{
	return b < mapped_view.small_count;
}

INLINE uint64_t *mapped_words(uint32_t b)
{
	return mapped_is_small(b) ?
	       mapped_view.small + (size_t)b * POOL_SMALL_WORDS :
	       mapped_view.big + (size_t)(b - mapped_view.small_count) *
				 POOL_BIG_WORDS;
}
