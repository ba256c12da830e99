/* rate.h - the rate of ticks: how many make a second, and whether a chunk's
 * clock pair agrees with the rest of the recording.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_RECORDER_RATE_H
#define WEFT_TRACER_RECORDER_RATE_H

#include "tracepoints/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* One reading of all clocks: the narrowest of several. */
struct rate_pair {
	uint64_t tick;
	uint64_t mono, raw, real;  /* ns */
	uint64_t width;            /* ticks that the reading took */
};

/* The line through the first and the last reading. */
struct rate {
	bool tsc;                  /* false: ticks are CLOCK_MONOTONIC ns */
	struct rate_pair first, last;
	uint64_t hz, error_ppb;
};

/* Whether the TSC is one clock for all CPUs at all times. */
bool rate_tsc_usable(void);

uint64_t rate_ticks(const struct rate *r);
/* CLOCK_MONOTONIC, ns. */
uint64_t rate_mono(void);
void rate_read(const struct rate *r, struct rate_pair *pair);

/* Begin the line. The first rate_update, some ms later, gives the rate. */
void rate_start(struct rate *r, bool tsc);
/* Read the clocks and add the reading to the line. Publishes the rate in the
 * pool, which may be NULL. */
void rate_update(struct rate *r, struct pool *pool);
/* Add a given reading to the line. */
void rate_add(struct rate *r, const struct rate_pair *now);

/* Whether a pair is further from the line than the widths of the readings and
 * the slewing of CLOCK_MONOTONIC explain. Takes any numbers. */
bool rate_is_stepped(const struct rate *r, uint64_t tick, uint64_t mono,
		     uint64_t width);

/* Milliseconds as ticks. */
uint64_t rate_ms_ticks(const struct rate *r, uint64_t ms);

#endif
