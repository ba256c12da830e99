/* process.h - this program's place in the recording: the pool it maps, the slot
 * it has there.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_POOL_PROCESS_H
#define WEFT_TRACER_HOST_POOL_PROCESS_H

#include "tracer/host/base/base.h"
#include "tracepoints/pool.h"

/* The pool's layout, copied when it was mapped and checked: the mapping itself
 * can be overwritten by any recorded process. */
struct process_view {
	struct pool_process *processes;
	struct pool_thread *threads;
	_Atomic uint64_t *states;
	uint64_t *small, *big;
	uint32_t process_slots, thread_slots, small_count, big_count;
	uint64_t recording;
	int lua;       /* record Lua at all? */
};

extern struct process_view process_view;
extern _Atomic int process_no_native; /* leave native calls alone? */
extern struct pool_process *process_slot; /* never NULL once mapped: a private
                                           * stand-in where no slot was free */
extern uint32_t process_serial;
extern uint64_t process_start;

/* The program may be killed for a system call it does not make itself. */
extern int process_confined;

/* Map the pool if the environment names one and that was not tried yet; make
 * sure this process (a child of fork, too) has a slot of its own. Returns
 * whether there is a pool. Hook-safe. */
int process_ready(void);

/* Have the calling thread's state given back when it ends. Hook-safe. */
void process_watch_thread(void);

/* Raised before and after a dlclose: addresses may mean another module now. */
extern _Atomic uint32_t process_module_epoch;

#endif
