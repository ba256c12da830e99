/* statistics.h - a figure over several sessions: its sum, mean, least, most and
 * deviation. Kept in integers, so that the order in which sessions are added
 * does not matter.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/func.h"

/* A figure of the sessions in which the thing occurs; all 0 if it occurs in
 * none. */
struct statistics {
	uint64_t sessions;
	uint64_t sum, min, max;
	uint64_t squares_low, squares_high; /* sum of squares, 128 bits */
};

/* A function over sessions. Times are in ticks of the session that holds it. */
struct func_statistics {
	func_id func;
	struct statistics calls, self, total, suspended;
	struct statistics on;     /* of self, on the CPU; older wefts: none */
	struct statistics cost;   /* self a call, in thousandths of a tick */
	struct statistics sleep;  /* suspended as the innermost frame, a call,
	                           * in the same unit */
	struct statistics work, wait; /* of cost: on the CPU, and off it for
	                           * another reason than that no core was
	                           * free */
	struct statistics fastest;/* its fastest call, in the sessions in which
	                           * it calls nothing */
};

/* Calls of a function by another one, over sessions; caller 0: a thread. */
struct edge_statistics {
	func_id caller, func;
	struct statistics rate;   /* calls for 1,000,000 calls of the caller; by
	                           * a thread: 1,000,000 x calls */
};

/* One more session has this value. */
void statistics_add(struct statistics *, uint64_t value);
/* Add all sessions of another figure. */
void statistics_join(struct statistics *, const struct statistics *);

/* The mean over so many sessions, where those in which the thing does not occur
 * count as 0; with the struct's own `sessions`, over those in which it occurs.
 * The deviation is that of a sample: 0 for fewer than two sessions. */
double statistics_mean(const struct statistics *, uint64_t sessions);
double statistics_deviation(const struct statistics *, uint64_t sessions);

/* value * factor / divisor, rounded to nearest, at most UINT64_MAX; 0 if
 * divisor is 0. */
uint64_t statistics_scale(uint64_t value, uint64_t factor, uint64_t divisor);

/* The probability that sessions of one kind have means as far apart as these,
 * by Welch's two-sided t-test; -1 if a side has fewer than two sessions.
 * Without any deviation it is 0 if the means differ, else 1. */
double statistics_welch(const struct statistics *, uint64_t sessions,
		    const struct statistics *, uint64_t other_sessions);
