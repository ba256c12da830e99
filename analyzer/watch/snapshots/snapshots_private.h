/* snapshots_private.h - what a collection of snapshots holds: filled while the
 * trace is replayed (snapshots.c), told at the end (snapshots_tell.c).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/snapshots/snapshots.h"

/* Where a coroutine's frames begin in a look. */
struct seam { uint64_t serial; size_t base; };

/* A stream at a moment. */
struct look {
	uint32_t stream, moment; /* indices */
	enum snapshot_state state;
	ticks from, to;          /* no record lies between these */
	stack_id stack;
	size_t seam;             /* the first of so many in moments.seams */
	uint32_t seams;
	uint64_t window;         /* its base is not known, and ... */
	uint32_t old;            /* so many calls had turned out to be open
	                          * before it */
};

/* A call that was open before its window began. */
struct old_call { uint64_t window; func_id func; };

struct watched {                 /* a stream */
	uint32_t process, thread, level;
	size_t next;             /* moments before are done with */
	ticks first, end;        /* first tick_begin, last tick_end */
	bool is_used;            /* it has events */
	bool is_headless;        /* its first chunks are missing */
	bool is_over;            /* its last chunk said so */
	size_t look;             /* its last look's index + 1 */
	ticks tick;              /* the last one of sampled Lua, and what it */
	func_id *noted;          /* saw */
	size_t noted_count, noted_room;
	stack_id tail;           /* as its last chunk left it */
	struct seam *tail_seams;
	size_t tail_count, tail_room;
	uint64_t tail_window;
	struct old_call *old;
	size_t old_count, old_room;
};

/* REST_OPEN: one end of it is known. REST_FREE: to be used again. */
enum rest_state { REST_WHOLE, REST_OPEN, REST_FREE };

/* A coroutine off every thread, from (included) to `to` (excluded). */
struct rest {
	uint32_t co;             /* index */
	enum snapshot_state state;
	stack_id stack;
	enum rest_state is;      /* open: its other end has not come yet */
	ticks from, to;          /* UINT64_MAX: not known yet */
};

/* A coroutine; found by its process and serial in co_of. */
struct known_co {
	uint32_t process;
	bool on_thread;          /* its latest event is a resume */
	uint64_t serial;
	ticks made, first, last; /* created, 0: not seen; first resume,
	                          * UINT64_MAX: none; latest event */
};

/* The first and last tick of a process' chunks, of all its threads. */
struct known_process {
	ticks first, last;
	ticks missing;           /* up to here, records are missing */
};

/* The looks, rests and stacks are for the end; the rest says how streams and
 * coroutines stand now. */
struct snapshots {
	const ticks *at;
	size_t count;
	struct stack_table *stacks;
	struct map *co_of;
	struct watched *watched; size_t watched_room; /* by stream_number */
	struct look *looks; size_t look_count, look_room;
	struct seam *seams; size_t seam_count, seam_room;
	struct known_co *cos; size_t co_count, co_room;
	struct rest *rests; size_t rest_count, rest_room;
	uint32_t *rest_of; size_t rest_of_room; /* by pair of suspend and
	                          * resume: index + 1; 0: none */
	uint32_t rest_free;      /* index + 1 of one to use again; its co is
	                          * the next such */
	struct known_process *processes; size_t process_count, process_room;
};

/* Add what follows from events that never came, once, when all came that will:
 * looks and rests are complete then, in no order. */
void snapshots_close(struct snapshots *);
