/* timeline.h - what ran when: a lane for each thread and each coroutine, with
 * spans that are folded until they fit into a given number. Collects during a
 * replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/timeline_spans.h"

struct timeline_options {
	ticks from, to;          /* spans are cut there; to 0: no bounds */
	const uint8_t *threads;  /* by index in the session: only what ran on
	                          * those that are set; NULL: on any; borrowed
	                          * until timeline_finish */
	uint64_t coroutine;      /* serial: only this one and those that it
	                          * resumed; 0: all */
	uint32_t pid;            /* of its process; 0: any */
	size_t spans;            /* at most so many in all lanes together, but
	                          * a few in each lane in any case */
	size_t coroutines;       /* at most so many get lanes; 0: all */
};

/* Borrows the session, of an earlier replay of the same trace, until
 * timeline_free. Never fails. */
struct timeline *timeline_new(const struct session *,
			      const struct timeline_options *);
void timeline_free(struct timeline *);   /* NULL is allowed */

/* For a replay; its context is the struct timeline. Memory is bounded by the
 * options, the number of threads and coroutines, and the depth of stacks. */
extern const struct replay_sink timeline_sink;
/* Call it once after replay_finish. */
void timeline_finish(struct timeline *);

/* Decisions: times are as recorded, with suspended coroutines seen from
 * outside: what a call spent suspended is between its spans. Neighbours are
 * folded together if no more than a grain lies between them. The grain is the
 * same in all lanes, so that one sentence says what is not shown; it doubles
 * whenever there are twice as many spans as wanted. If even a grain as long as
 * the range leaves too many, the depth is halved. Calls without records
 * (counted calls) are not here. */
