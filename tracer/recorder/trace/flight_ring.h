/* flight_ring.h - the flight recorder's memory: a sink's backlog in which the
 * newest chunks stay, and what can be said of those that made room for them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/chunk_queue.h"

#include "tracepoints/chunk.h"

/* What the whole recording had lost by a tick. Of the chunks that are gone: of
 * each thread, all that came after this tick is there. */
struct flight_gone {
	uint64_t tick;
	uint64_t lost[LOST_REASONS];
};

enum { FLIGHT_LOSSES = 512 };

struct flight_ring {
	struct chunk_queue *chunks;
	size_t from;               /* the entries before are gone */
	size_t again;              /* what was open and came before it has
	                            * come again */
	uint64_t gone;             /* the last tick of what is gone */
	/* Each time that more was found to be lost, in their order. */
	struct flight_gone loss[FLIGHT_LOSSES];
	size_t losses;
};

/* The chunks are the caller's. */
void flight_ring_init(struct flight_ring *f, struct chunk_queue *chunks);
/* Keep the chunk that was packed into the queue's room. */
void flight_ring_keep(struct flight_ring *f, const struct chunk_header *h,
		      uint32_t words);
/* That much was lost by that tick. */
void flight_ring_note_lost(struct flight_ring *f,
			   const struct flight_gone *now);
/* All that is open comes again from now on. */
void flight_ring_renew(struct flight_ring *f);
/* Call back for the packed chunks that end at since or later, and for what is
 * open since it was renewed, the oldest first. *gone: of those that are not
 * among them. */
void flight_ring_each(struct flight_ring *f, uint64_t since,
		      struct flight_gone *gone,
		      void (*call)(void *ctx, const uint64_t *words,
				   uint32_t n),
		      void *ctx);
