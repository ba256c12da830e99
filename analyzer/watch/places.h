/* places.h - at which instructions some functions were when the kernel sampled
 * them. Collects during a replay, which knows the stack at each sample's tick.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_PLACES_H
#define WEFT_ANALYZER_WATCH_PLACES_H

#include "analyzer/replay/replay.h"

/* So many samples of a function lie at an address: of calls of it that were the
 * innermost recorded ones at that moment. The address may be another function's
 * that is not recorded, such as memcpy's. */
struct place {
	func_id func;
	elf_id module;           /* 0: none; offset is then the address itself,
	                          * 0 in the kernel */
	uint64_t offset;
	uint64_t samples;
};

/* What is collected. The arrays are borrowed until places_free. */
struct places_options {
	struct func_table *funcs; /* of the session; gains modules */
	const uint8_t *wanted;    /* by func_id: 1 or 0 */
	size_t wanted_count;
	const uint8_t *threads;   /* by index: 1 or 0 */
	size_t thread_count;
	ticks from, to;           /* to 0: no end */
};

struct places {
	struct place *places;    /* by function, in no other order */
	size_t count;
	uint64_t samples;        /* of all functions, in the threads and in the
	                          * range of time */
	uint64_t period;         /* ns of a thread's CPU time; 0: no thread was
	                          * sampled. Of several, the last one */
};

struct places_watch;
struct places_watch *places_new(const struct places_options *);
void places_free(struct places_watch *); /* NULL is allowed */

/* For a replay; its context is the struct places_watch. */
extern const struct replay_sink places_sink;

/* What was collected; call it once, after replay_finish. Borrowed. */
const struct places *places_finish(struct places_watch *);

/* Decision: samples are the thread's, so those in a signal handler that
 * interrupted a hook count for the function that it interrupted. */

#endif
