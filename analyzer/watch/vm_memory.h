/* vm_memory.h - how many bytes each Lua state has in use, over time, as Lua
 * itself counts them: read now and then, where the trace has that; and the
 * cycles of its collector. Collected during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

struct vm_reading {
	uint32_t process;
	uint64_t vm;             /* serial */
	ticks at;
	uint64_t bytes;
};

/* A cycle of the state's collector has ended: at this tick, or since the state
 * took or gave back memory before, as far as that was noted. */
struct vm_cycle {
	uint32_t process;
	uint64_t vm;
	ticks at;
};

struct vm_memory {
	struct vm_reading *readings; size_t count, room;
	struct vm_cycle *cycles; size_t cycle_count, cycle_room;
};

void vm_memory_init(struct vm_memory *);
void vm_memory_fini(struct vm_memory *);

/* For a replay; its context is the struct. */
extern const struct replay_sink vm_memory_sink;

/* A state in a range of time. Ticks since the first record. */
struct vm_row {
	uint32_t vm;             /* index in the session's */
	uint64_t readings;
	uint64_t bytes;          /* last reading, */
	ticks at;                /* and when that was */
	uint64_t least[2];       /* reading of the first third of the range, and
	                          * of its last; 0: there is none */
	uint64_t most;           /* at a reading, */
	ticks most_at;
	uint64_t jump;           /* the most that it grew by from one reading to
	                          * the next, */
	ticks jump_at;           /* and when that was seen */
	uint64_t cycles;         /* of its collector, that were seen to end */
};

/* A row for each state that was read in [from, to), by falling bytes; the
 * caller frees them with mem_free. Sorts the readings. */
struct vm_row *vm_memory_rows(struct vm_memory *, const struct session *,
			      ticks from, ticks to, size_t *count);
