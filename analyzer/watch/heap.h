/* heap.h - who takes memory, who has it, and for how long: collected during a
 * replay, and added up by stack. A block is known by its address in its
 * process; what is taken in one thread may be given back in another.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* A block is taken, or given back. A move is one of each. */
struct heap_event {
	uint64_t address;
	ticks at;
	uint64_t size;           /* taken */
	uint64_t number;         /* events of a thread rise */
	uint32_t process, thread; /* indices */
	stack_id stack;          /* that takes it, who calls innermost; */
	bool takes;              /* else 0 */
};

struct heap {
	struct stack_table *stacks;
	/* Private. */
	const struct session *session;
	struct heap_event *events; size_t count, room;
};

/* Borrows the session of an earlier replay, whose functions have names. */
void heap_init(struct heap *, const struct session *);
void heap_fini(struct heap *);

/* For a replay; its context is the struct heap. */
extern const struct replay_sink heap_sink;

/* The innermost function of a stack that is no place in code without hooks; 0:
 * there is none. */
func_id heap_taker(const struct heap *, struct func_table *, stack_id);

/* Where only samples were noted, what these stand for. */
struct heap_sum {
	double blocks, bytes;
	double variance;         /* of bytes */
};

/* Of a stack, in a range of time. */
struct heap_row {
	stack_id stack;
	struct heap_sum taken, freed;
	struct heap_sum in_use;  /* at the end of the range */
	struct heap_sum before;  /* in use at its begin */
	double lived;            /* ticks, of those freed, all together */
};

/* Add all but the stack. */
void heap_add_row(struct heap_row *to, const struct heap_row *);

struct heap_table {
	uint64_t mean;           /* one in so many bytes was a sample; 0: each
	                          * block was noted */
	struct heap_row *rows; size_t count; /* in no order */
	struct heap_row all;
	struct heap_sum most;    /* in use at a time, by bytes, and when */
	ticks most_at;
	uint64_t noted;          /* blocks taken in the range */
	uint64_t unknown;        /* blocks given back that nobody was seen to
	                          * take */
	uint64_t lost;           /* taken at an address that was in use: that
	                          * it was given back before was not seen */
};

/* Add up: of what is taken by threads that have 1 in the array, by index, in
 * [from, to). The caller frees the rows with mem_free. */
void heap_sum_up(struct heap *, const uint8_t *threads, ticks from, ticks to,
		 struct heap_table *);
