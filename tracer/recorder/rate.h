/* rate.h - how many ticks a second has, and whether a chunk's clock pair lies
 * on the recording's line.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_RATE_H
#define WEFT_RECORDER_RATE_H

#include "tracepoints/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* One reading of all clocks, narrowest of several. */
struct rate_pair {
	uint64_t tick, mono, raw, real; /* ns but for the tick */
	uint64_t width;                 /* ticks the reading took */
};

struct rate {
	bool tsc;                       /* else ticks are CLOCK_MONOTONIC ns */
	struct rate_pair first, last;
	uint64_t hz, error_ppb;
};

/* Is the TSC one clock for all CPUs at all times? */
bool rate_tsc_usable(void);

uint64_t rate_ticks(const struct rate *c);
uint64_t rate_mono(void);
void rate_read(const struct rate *c, struct rate_pair *pair);

/* Begin the line; rate_update some ms later gives the first rate. */
void rate_start(struct rate *c, bool tsc);
/* A new point of the line; the rate goes to the pool, too, unless NULL. */
void rate_update(struct rate *c, struct pool *pool);
/* The same with a reading given. */
void rate_add(struct rate *c, const struct rate_pair *now);

/* Does the pair depart from the line by more than what the readings' widths
 * and the slewing of CLOCK_MONOTONIC explain? */
bool rate_stepped(const struct rate *c, uint64_t tick, uint64_t mono,
		   uint64_t width);

/* Ticks that many ms last. */
uint64_t rate_ms_ticks(const struct rate *c, uint64_t ms);

#endif
