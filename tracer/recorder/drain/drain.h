/* drain.h - takes chunks out of the pool and sends them to the sink, in order.
 *
 * The folder drain/ is the way of a chunk from the pool to the sink. It may use
 * base/, names/, process/, trace/ and budget/.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/budget/budget.h"
#include "tracer/recorder/process/registry.h"
#include "tracer/recorder/names/code_maps.h"
#include "tracer/recorder/drain/slow_call.h"
#include "tracer/recorder/trace/sink.h"

/* A sealed chunk was sent to the sink, whose room is free. */
typedef void drain_sent_fn(void *ctx, const uint64_t *chunk, uint32_t words);

/* The state of the drain, which borrows its neighbours: they outlive it. */
struct drain {
	struct pool_owner *owner;
	struct registry *registry;
	struct sink *sink;
	const struct rate *rate;
	struct code_maps maps;     /* of the processes */
	struct drain_entry *entry; /* buffers that were found in this round */
	struct drain_seen *seen;   /* by buffer: what was sent of it */
	uint32_t round;
	uint32_t free_big;         /* big buffers that were free last time */
	uint64_t records;          /* record words, each counted once */
	uint64_t counted;          /* calls that have no records, too */
	uint64_t damaged;          /* buffers that contained no chunk */
	uint32_t untold;           /* of these, threads that wait do not know */
	bool is_filling;           /* the pool fills up, */
	bool is_many;              /* or there were many buffers this time */
	bool only_aside;           /* nothing may be sent now */
	bool is_stuck;             /* there was no room aside, and much is */
	uint32_t small_held;       /* small buffers that threads filled last
	                            * time */
	bool is_held;              /* they filled all buffers that are open, */
	uint64_t held_since;       /* ms, and others have waited since; 0: no */
	bool was_asked;            /* since then, to hand them over */
	bool is_given_up;          /* nobody is to wait any more */
	uint64_t gave_up;          /* how often that was so */
	struct chunk_queue copies; /* not sent yet, where that takes too long:
	                            * to copy takes a fraction of it */
	struct chunk_items items;  /* of the chunk that was copied last */
	/* These are shown each chunk as it is taken; borrowed; NULL: none. */
	struct lua_names *names;
	struct selection *selection;
	struct budget *budget;
	struct slow_calls *slow;
	drain_sent_fn *sent;       /* NULL: nobody wants to know */
	void *sent_ctx;
	uint32_t late_below;       /* chunks of threads with lower serials are
	                            * CHUNK_FLIGHT */
};

/* Returns 0, or negative if there is no memory. The two arrays are allocated
 * here and live as long as the recorder. A sixteenth of what memory there is
 * may be used for chunks that are set aside. */
int drain_init(struct drain *d, struct pool_owner *owner,
	       struct registry *registry, struct sink *sink,
	       const struct rate *rate);

/* Send every full buffer, and what dead threads left; then free the slots of
 * the dead. Opens more small buffers where threads hold most of them. Returns
 * how many buffers it went through. A chunk that may have an
 * older one of its stream still to come waits for the next call. Where the pool
 * fills up, chunks are only copied, and sent by later calls. */
uint32_t drain_poll(struct drain *d);
/* The same while nothing can be sent: chunks are only copied, as far as there
 * is room, and the rest stays in the pool. */
uint32_t drain_set_aside(struct drain *d);
/* Send all that was only copied. */
void drain_send_aside(struct drain *d);

/* Send, as PARTIAL chunks, the new records in buffers that were opened more
 * than ms ago; again: all that threads fill, even if it was sent before. The
 * threads keep the buffers. */
void drain_copy_older(struct drain *d, uint64_t ms, bool again);
/* Ask the threads to close, at their next event, the buffers that were opened
 * more than ms ago. Does nothing if there is no such buffer: each request costs
 * every thread a slow hook. */
void drain_cut_older(struct drain *d, uint64_t ms);

/* Records in buffers that were not taken yet, as their threads say. */
uint64_t drain_in_pool(const struct drain *d);

