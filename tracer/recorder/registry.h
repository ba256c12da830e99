/* registry.h - who of the recorded lives: the pool's process and thread slots.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_REGISTRY_H
#define WEFT_TRACER_RECORDER_REGISTRY_H

#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/process_watch.h"
#include "tracer/recorder/offcpu.h"
#include "tracer/recorder/unseen_programs.h"

#include <stdbool.h>
#include <stdint.h>

struct slots {
	struct arena *arena;
	uint32_t *used;            /* thread slots in use, used_n of them */
	uint32_t used_n;
	uint8_t *is_dead;          /* by thread slot: to be freed */
	uint32_t dead_n;
	struct offcpu *offcpu;     /* of the used slots' threads; may be NULL */
	uint32_t *watched;         /* by thread slot: serial last watched */
	uint32_t seen_thread;      /* the pool's next_thread at the last look */
	uint32_t relist;           /* looks at all slots still to be made */
	uint32_t *process;         /* process slots in use, process_n of them */
	uint32_t process_n, seen_process, process_relist;
	uint32_t live_processes;
	/* Sums over slots that were freed. */
	uint64_t lost[LOST_REASONS];
	uint64_t vms, coroutines;
	uint32_t trouble;          /* enum process_trouble */
	bool *has_ended;           /* by place in process, of this look */
	struct gone gone;
	struct silent ran;         /* all programs that were recorded */
};

int slots_init(struct slots *s, struct arena *arena);

/* Find the threads that died; all: look at every slot, not only at those seen
 * in use before. How many are dead. */
uint32_t slots_find_dead(struct slots *s, bool all);
/* Their buffers are taken: give their slots back. */
void slots_free_dead(struct slots *s);

/* Read when the threads did not run: every 100 ms or so. */
void slots_read_switches(struct slots *s);

/* Processes whose image has just died: what do they run now? At every look at
 * the pool; it costs next to nothing where there are none. */
void slots_look_at_gone(struct slots *s);
/* Free the slots of processes that ended. Gives how many live. */
uint32_t slots_update_processes(struct slots *s, uint64_t now_ms);

/* What was lost, all in all, the living included. */
void slots_sum_lost(const struct slots *s, uint64_t lost[LOST_REASONS]);
/* Add what living processes' slots tell to the sums. At the end, once. */
void slots_sum_processes(struct slots *s);

#endif
