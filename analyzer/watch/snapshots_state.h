/* snapshots_state.h - the inside of moments, shared by the moments*.c files only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_SNAPSHOTS_STATE_H
#define WEFT_ANALYZER_WATCH_SNAPSHOTS_STATE_H

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/watch/snapshots.h"

/* Where a coroutine's frames begin in a look. */
struct seam { uint64_t serial; size_t base; };

/* A stream at a moment. */
struct look {
	uint32_t stream, moment; /* indices */
	enum snapshot_state state;
	stack_id stack;
	size_t seam;             /* the first of so many in moments.seams */
	uint32_t seams;
	uint32_t old;            /* how many calls had turned out to be open */
	uint64_t window;         /* before it, in this window */
};

/* A call that was open before its window began. */
struct old_call { uint64_t window; func_id func; };

struct watched {                 /* a stream */
	uint32_t process, thread, level;
	size_t next;             /* moments before are done with */
	ticks first, end;        /* first tick_begin, last tick_end */
	int is_headless;         /* its first chunks are missing */
	int is_over;             /* its last chunk said so */
	size_t look;             /* its last look's index + 1 */
	stack_id tail;           /* as its last chunk left it */
	struct seam *tail_seams;
	size_t tail_count, tail_room;
	uint64_t tail_window;
	struct old_call *old;
	size_t old_count, old_room;
};

/* A coroutine off every thread, from (included) to `to` (excluded). */
struct rest {
	uint32_t co;             /* index */
	enum snapshot_state state;
	stack_id stack;
	int open;                /* its other end did not come yet */
	ticks from, to;
};

struct known_co {
	uint32_t process;
	int on_thread;           /* its latest event is a resume */
	uint64_t serial;
	ticks made, first, last; /* created, 0: not seen; first resume,
	                          * UINT64_MAX: none; latest event */
};

struct known_process {
	ticks first, last;
	ticks missing;           /* up to here, records are missing */
};

struct snapshots {
	const ticks *at;
	size_t count;
	struct stack_table *stacks;
	struct map *watched_of, *co_of, *rest_of;
	struct watched *watched; size_t watched_count, watched_room;
	struct look *looks; size_t look_count, look_room;
	struct seam *seams; size_t seam_count, seam_room;
	struct known_co *cos; size_t co_count, co_room;
	struct rest *rests; size_t rest_count, rest_room;
	uint32_t rest_free;      /* index + 1 of one to use again; its co is
	                          * the next such */
	struct known_process *processes; size_t process_count, process_room;
};

enum { REST_FREE = -1 };

/* moments_rest.c: for the sink. */
void snapshots_rest_create(void *moments, const struct replay_event *);
void snapshots_rest_resume(void *moments, const struct replay_event *);
void snapshots_rest_suspend(void *moments, const struct replay_event *);

/* snapshots_close.c: no event follows; what is open ends. */
void snapshots_close(struct snapshots *);

/* The first moment at or after a tick, by its index. */
size_t snapshots_from(const struct snapshots *, ticks);

#endif
