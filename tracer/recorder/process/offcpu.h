/* offcpu.h - when a recorded thread did not run, as its context switches say.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"

#include <stdbool.h>

/* It slept, and from `ready` on, which may be either end, it had no core. */
struct offcpu_span { uint64_t from, ready, to; };

/* UNSEEN: no switch has come yet. The first one tells where the thread was
 * until then; before that, nothing of its time is known. OFF: it waits for
 * something else than a core; READY: another thread has its core. */
enum offcpu_place { OFFCPU_UNSEEN, OFFCPU_ON, OFFCPU_OFF, OFFCPU_READY };

/* Of one thread; all times are ticks. All zero: nothing is known. The span
 * items rise and do not overlap; all of them lie between known_from and
 * known_to. */
struct offcpu {
	uint64_t known_from, known_to; /* all switches between are known */
	uint64_t read_to;          /* no switch after known_to and before it */
	enum offcpu_place place;   /* at known_to; UNSEEN: that is known_from */
	enum offcpu_place away;    /* while place is UNSEEN, where the thread
	                            * was if it was not on a CPU: OFF, READY;
	                            * UNSEEN: nobody knows */
	struct offcpu_span *span;  /* never freed */
	size_t room;               /* for so many */
	uint32_t spans, settled;   /* the first ones: by offcpu_waited */
	uint64_t waited;           /* for cores, until the last settled one;
	                            * UINT64_MAX: nobody knows */
};

/* From this tick on, and at no time before it, the switches are known. Until
 * the first switch it is not known whether the thread was on a CPU; away is as
 * above. */
void offcpu_begin(struct offcpu *o, uint64_t at, enum offcpu_place away);
/* The thread came to a CPU, or left it for that place. Call it in their
 * order. */
void offcpu_switch(struct offcpu *o, enum offcpu_place, uint64_t at);
/* No switch came after the last one and before this tick. */
void offcpu_reach(struct offcpu *o, uint64_t at);

/* Are there so many spans that a chunk should take them? */
bool offcpu_is_crowded(const struct offcpu *);

/* The switches do not tell when a thread is woken, so that a wait for a core
 * after a sleep looks like a part of it. Until this tick the thread has waited
 * for cores so long in its life, as the kernel says: what its switches do not
 * explain was at the ends of its sleeps since the last call. Of several, each
 * may have the same, or as much as it is long. */
void offcpu_waited(struct offcpu *o, uint64_t at, uint64_t all);

/* Write the chunk's ITEM_SWITCHES to the room words at to. Returns its words
 * with the head word. 0: nothing is known of the chunk's time, or no room.
 * Where not all spans have room, the known time ends before the first that has
 * none. Spans that end within the chunk are forgotten, unless it is PARTIAL:
 * ask once for each other chunk, in the order of the stream. */
uint32_t offcpu_item(struct offcpu *o, const struct chunk_header *h,
		     uint64_t *to, uint32_t room);
