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
	stack_id stack;          /* that takes it, who calls innermost; else 0;
	                          * by coroutine: as in a row */
	bool takes;
	bool moves;              /* the next number takes the same block */
};

/* What has a row of its own. */
enum heap_by {
	HEAP_BY_STACK,
	HEAP_BY_THREAD,          /* a stack of a thread */
	HEAP_BY_COROUTINE,       /* which took it */
};

struct heap {
	struct stack_table *stacks;
	enum heap_by by;         /* to be set before the replay */
	bool is_by_events;       /* quarters have as many events each, instead
	                          * of as much time */
	double *curve;           /* NULL, or to be set before heap_sum_up: the
	                          * most bytes in use in each of so many equal
	                          * parts of its range */
	size_t parts;
	/* Private. */
	struct map *coroutine_of;
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

/* Did code of a Lua library take it, or of a Lua in the program, by the name of
 * its place? */
bool heap_is_luas(const struct heap *, struct func_table *, stack_id);

enum { HEAP_POINTS = 3, HEAP_QUARTERS = 4 };

/* Of a stack, in a range of time. */
struct heap_row {
	stack_id stack;          /* by coroutine: its index + 1; 0: none */
	uint32_t thread;         /* by thread: its index; else 0 */
	struct cct_heap is;      /* in_use: at the end of the range */
	struct heap_sum before;  /* in use at its begin */
	double grown;            /* bytes in use at its end more than at its
	                          * begin, of blocks that this stack took,
	                          * wherever they were moved */
	struct heap_sum lasts[HEAP_POINTS]; /* in use when one of the first
	                          * quarters of the range begins, and half of
	                          * the range later, too: of blocks that this
	                          * stack took, wherever they were moved, the
	                          * fewest bytes meanwhile. What a collector
	                          * frees in that time is none of it */
	struct heap_sum at_most; /* in use when most is, of all rows */
	double lived;            /* ticks, of those freed, all together */
};

/* How many bytes more last from a later point on than from an earlier one. */
double heap_lasting(const struct heap_row *, int earlier, int later);

/* Add all but the stack. */
void heap_add_row(struct heap_row *to, const struct heap_row *);

struct heap_table {
	uint64_t mean;           /* one in so many bytes was a sample; 0: each
	                          * block was noted */
	struct heap_row *rows; size_t count; /* in no order */
	struct heap_row all;
	struct heap_sum most;    /* in use at a time, by bytes, and when */
	ticks most_at;
	ticks quarter[HEAP_QUARTERS + 1]; /* when they begin, and the end: of
	                          * the part of the range that has events */
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

/* A block, or what a sample of it stands for: from when on it was in use, and
 * until when (UINT64_MAX: to the end). */
struct heap_life {
	stack_id stack;
	uint32_t thread;
	ticks from, to;
	struct heap_sum is;
};

/* Tell of each block that threads with 1 in the array took, in no order. */
typedef void (*heap_tell)(void *ctx, const struct heap_life *);
void heap_each(struct heap *, const uint8_t *threads, heap_tell, void *ctx);

/* Put the figures of the range into the session's tree, where the functions
 * are that take memory: the nodes of the innermost ones that have hooks, or, if
 * there is none, of the code that calls. After a replay by thread. */
void heap_put(struct heap *, struct session *, ticks from, ticks to);
