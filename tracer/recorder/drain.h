/* drain.h - takes chunks out of the pool and delivers them, in order.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_DRAIN_H
#define WEFT_RECORDER_DRAIN_H

#include "tracer/recorder/pool_owner.h"
#include "tracer/recorder/sink.h"
#include "tracer/recorder/rate.h"
#include "tracer/recorder/registry.h"

#include <stdbool.h>
#include <stdint.h>

struct drain {
	struct arena *arena;
	struct slots *slots;
	struct deliver *deliver;
	const struct rate *rate;
	struct drain_entry *entry; /* found in this round */
	struct drain_seen *seen;   /* by buffer: what was delivered of it */
	uint32_t round;
	uint32_t free_big;         /* counted at the last look */
	uint64_t records;          /* record words, each counted once */
	uint64_t damaged;          /* buffers whose contents were no chunk */
	uint64_t taken;            /* buffers given back, each once a chunk */
	uint64_t cuts, partials;
};

int drain_init(struct drain *d, struct arena *arena, struct slots *slots,
	       struct deliver *deliver, const struct rate *rate);

/* Deliver every full buffer, and what dead threads left. How many. */
uint32_t drain_poll(struct drain *d);

/* Records that were not delivered yet in buffers older than ms: deliver them
 * as PARTIAL, leaving the buffers to their threads. */
void drain_copy_older(struct drain *d, uint64_t ms);
/* The same buffers: ask their threads to close them at the next event. */
void drain_cut_older(struct drain *d, uint64_t ms);

/* Flight recorder: chunks that gave way to later ones before we came. */
uint64_t drain_overwritten(const struct drain *d);

#endif
