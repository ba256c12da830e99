/* registry.h - the recorded threads and processes, as the pool's slots tell:
 * which live, which have died, and what those counted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/process/cpu_watch.h"
#include "tracer/recorder/process/diagnose.h"
#include "tracer/recorder/process/process_watch.h"

/* All arrays are made by registry_init and live as long as the recorder. */
struct registry {
	struct pool_owner *owner;
	uint32_t *used;            /* thread slots in use, rising */
	uint32_t used_n;
	bool *is_dead;             /* by thread slot: its owner has died */
	uint32_t dead_n;
	struct cpu_watch *cpu;     /* NULL: not known when threads run */
	uint32_t *watched;         /* by thread slot: serial last watched */
	uint32_t *heard;           /* by thread slot: serial of which there was
	                            * a chunk */
	bool has_new;              /* there may be threads to be watched */
	uint32_t seen_thread;      /* the pool's next_thread, last time */
	uint32_t relist;           /* times that all slots are still listed */
	bool *has_ended;           /* by process slot, for one update */
	uint32_t live_processes;
	/* Over the slots that were freed. */
	uint64_t lost[LOST_REASONS];
	uint64_t unheard;          /* threads; see registry_count_unheard */
	uint32_t trouble;          /* enum process_trouble, bits */
	struct process_watch watch;
	struct seen_programs seen;
};

/* Returns 0, or negative if there is no memory. Without memory for cpu it goes
 * on: what the kernel notes is then not known. */
int registry_init(struct registry *r, struct pool_owner *owner,
		  const struct rate *rate);
/* For assertions: each slot is listed once, and dead_n is right. */
bool registry_valid(const struct registry *r);

/* Find the threads that died. all: look at every slot, not only at those that
 * were seen in use before. Returns how many are dead and not freed yet. */
uint32_t registry_find_dead(struct registry *r, bool all);
/* Free the slots of the dead. Their buffers must have been taken. */
void registry_free_dead(struct registry *r);

/* Begin to watch new threads on the CPUs. Returns whether there may have been
 * any. May lend the turn. */
bool registry_watch_new(struct registry *r);
/* Read what the kernel has noted of them. Call it every 20 ms or so. */
void registry_read_rings(struct registry *r);

/* Free the slots of processes that have ended. Returns how many live. now_ms:
 * of any clock that does not go back. Looks into /proc for each process whose
 * registering thread has died. */
uint32_t registry_update_processes(struct registry *r, uint64_t now_ms);

/* Whether one of the processes that the pool calls alive is seen to map it. The
 * pool alone proves nothing: a program can write anything there. */
bool registry_sees_process(const struct registry *r);

/* All that was lost, with what living threads have counted so far. The entries
 * are in the units of LOST_LIST. */
void registry_sum_lost(const struct registry *r, uint64_t lost[LOST_REASONS]);
/* Threads that lost all their records: the pool was full whenever they asked
 * for a buffer. */
uint64_t registry_count_unheard(const struct registry *r);
/* There is a chunk of the thread in this slot, which may be any number. */
void registry_hear(struct registry *r, uint32_t slot);
/* Add what living processes tell to trouble and seen. Call it once, at the
 * end. */
void registry_sum_processes(struct registry *r);
