/* statistics.h - a figure over several sessions: sum, mean, least, most, deviation.
 * Integers only, so that the order in which sessions are added is no matter.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_STATISTICS_H
#define WEFT_ANALYZER_MODEL_STATISTICS_H

#include "analyzer/model/func.h"

#include <stdint.h>

/* Of the sessions in which the thing occurs at all; all 0 if in none. */
struct statistics {
	uint64_t sessions;
	uint64_t sum, min, max;
	uint64_t squares_low, squares_high; /* sum of squares, 128 bits */
};

/* A function over sessions. Times in ticks of the session that holds this. */
struct func_statistics {
	func_id func;
	struct statistics calls, self, total, suspended;
	struct statistics cost;   /* self a call, in thousandths of a tick */
	struct statistics sleep;  /* suspended (as the innermost frame) a call, so */
	struct statistics work, wait; /* of cost: on the CPU, and off it */
	struct statistics fastest;/* its fastest call; of sessions in which it calls
	                       * nothing */
};

/* A function called by a certain one, over sessions; caller 0: a thread. */
struct edge_statistics {
	func_id caller, func;
	struct statistics rate;   /* calls for 1,000,000 calls of the caller; for
	                       * those of a thread: 1,000,000 x calls */
};

/* One more session has this value. */
void statistics_add(struct statistics *, uint64_t value);
/* All sessions of another. */
void statistics_join(struct statistics *, const struct statistics *);

/* Over so many sessions, those in which it does not occur counting as 0. With
 * sessions = spread.sessions: over those in which it occurs. Deviation is that
 * of a sample, 0 for fewer than two. */
double statistics_mean(const struct statistics *, uint64_t sessions);
double statistics_deviation(const struct statistics *, uint64_t sessions);

/* value * factor / divisor, rounded to nearest, at most UINT64_MAX; 0 if
 * divisor is 0. */
uint64_t statistics_scale(uint64_t value, uint64_t factor, uint64_t divisor);

/* How likely it is that means as far apart come from sessions of one kind, by
 * Welch's t-test, two-sided; -1 where that cannot be told: fewer than two
 * sessions on a side. Without any deviation: 0 if they differ, else 1. */
double statistics_welch(const struct statistics *, uint64_t sessions,
		    const struct statistics *, uint64_t other_sessions);

#endif
