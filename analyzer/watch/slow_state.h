/* slow_state.h - the inside of slow, shared by the slow*.c files only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_SLOW_STATE_H
#define WEFT_ANALYZER_WATCH_SLOW_STATE_H

#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/watch/slow.h"

/* What is known of a wanted call that is open; unwanted ones have func 0. */
struct slot {
	func_id func;
	int is_known;            /* its entry is: */
	int is_partial;
	ticks entry;             /* later by what its coroutine slept */
	ticks self, slept;       /* since its entry, or since `part` ended */
	uint32_t thread;         /* it began on */
	uint32_t part;           /* index + 1: what was before is kept there */
	int is_carried;          /* it was suspended, and the stack that it was */
	stack_id under;          /* entered on is this */
};

/* A stream; slots by depth. */
struct lane {
	uint32_t process, thread, level;
	struct slot *slots;
	size_t room;
};

/* The later part of a call whose earlier part, on another thread, did not come
 * yet. Two hold it: the open call (or its end, is_ended), and the resume that
 * waits for its suspend (until is_whole). */
struct piece {
	struct slot slot;        /* summed up so far */
	uint32_t next;           /* index + 1: became a part of that one; or of
	                          * the free list */
	int is_used, is_ended, is_whole;
	stack_id own;            /* ended: its coroutine's frames, itself the
	                          * innermost */
	struct slow_call call;   /* ended */
	ticks at;                /* then */
};

/* A suspend that waits for its resume, or the other way round. */
struct wait {
	uint32_t next_free;      /* index + 1 */
	int is_resume, is_used;
	uint32_t process, level;
	uint64_t coroutine;
	ticks tick;              /* of the suspend */
	stack_id own;            /* the coroutine's frames */
	struct held { uint32_t at; struct slot slot; } *held; /* wanted ones */
	size_t count;
};

struct slow {
	struct slow_options options;
	struct slow_found found;
	struct stack_table *stacks;
	struct map *lane_of, *co_of, *wait_of;
	struct lane **lanes; size_t lane_count, lane_room;
	const struct stream *last;   /* whose lane was looked up last */
	struct lane *last_lane;
	uint32_t cos;                /* coroutines numbered */
	struct piece *parts; size_t part_count, part_room;
	uint32_t part_free;
	struct wait *waits; size_t wait_count, wait_room;
	uint32_t wait_free;
	struct slow_call *best; size_t best_count, best_room; /* a heap, the
	                              * least on top */
};

/* slow_best.c */
/* Would it be kept? Counts nothing. */
int slow_best_is_one(const struct slow *, const struct slow_call *);
/* Count it, and keep it if it is one of the best; needs its stack then. */
void slow_best_count(struct slow *, const struct slow_call *);
void slow_best_put(struct slow *, const struct slow_call *);
void slow_best_sort(struct slow *);

/* slow_part.c */
uint32_t slow_part_new(struct slow *); /* index + 1 */
/* A call with a part ends at a tick: 1 if its earlier part did not come yet (it
 * is counted when that comes), 0 if it has: the slot is whole now. own: its
 * coroutine's frames, itself innermost. */
int slow_part_end(struct slow *, struct slot *, const struct slow_call *,
		  ticks at, stack_id own);
/* The earlier part has come: a slot as it was at the suspend. */
void slow_part_join(struct slow *, struct slot *before, uint32_t id);
/* It will not come. */
void slow_part_give_up(struct slow *, uint32_t id);
void slow_part_finish(struct slow *);

/* slow_wait.c */
void slow_wait_suspend(struct slow *, struct lane *,
		       const struct replay_event *);
void slow_wait_resume(struct slow *, struct lane *,
		      const struct replay_event *);
void slow_wait_finish(struct slow *);

/* slow.c */
/* The call that a slot becomes when it ends at a tick. */
struct slow_call slow_close(const struct slot *, ticks at, enum slow_end);
int slow_wants(const struct slow *, func_id);
/* The stack below frame `base`, with what is not known of a window's base. */
stack_id slow_under(struct slow *, const struct stream *, size_t base);
/* A call has ended that was suspended; own: its coroutine's frames now, itself
 * innermost. */
void slow_end_carried(struct slow *, const struct slot *, struct slow_call *,
		      stack_id own);
struct slot *slow_slots(struct lane *, size_t count);

#endif
