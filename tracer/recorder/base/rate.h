/* rate.h - the rate of ticks: how many make a second, and whether a chunk's
 * clock pair agrees with the rest of the recording.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"

/* One reading of all clocks: the narrowest of several. */
struct rate_pair {
	uint64_t tick;
	uint64_t mono, raw, real;  /* ns */
	uint64_t width;            /* ticks that the reading took */
};

/* The line through the first and the last reading. hz: ticks a second;
 * error_ppb: the bound of its error in parts per billion. Without the TSC they
 * are 1e9 and 0. */
struct rate {
	bool tsc;                  /* false: ticks are CLOCK_MONOTONIC ns */
	struct rate_pair first, last;
	uint64_t hz, error_ppb;
};

/* Whether the processor's counter (the TSC; cntvct_el0) is one clock for all
 * CPUs at all times: the CPU says so, and the kernel has not found
 * otherwise. */
bool rate_tsc_usable(void);

/* The time now, in ticks of this recording. */
uint64_t rate_ticks(const struct rate *r);
/* CLOCK_MONOTONIC, ns and ms. */
uint64_t rate_mono(void);
uint64_t rate_mono_ms(void);
/* Read all clocks several times and keep the narrowest reading. */
void rate_read(const struct rate *r, struct rate_pair *pair);

/* Begin the line. The first rate_update, some ms later, gives the rate. */
void rate_start(struct rate *r, bool tsc);
/* Read the clocks and add the reading to the line. Publishes the rate in the
 * pool, which may be NULL. */
void rate_update(struct rate *r, struct pool *pool);
/* Add a given reading to the line. If the ticks and the raw clock have parted
 * since the last one, as after a suspend, a new line begins there. */
void rate_add(struct rate *r, const struct rate_pair *now);

/* Whether a pair is further from the line than the widths of the readings and
 * the slewing of CLOCK_MONOTONIC explain. tick and width in ticks, mono in ns.
 * Takes any numbers. Always false without the TSC. */
bool rate_is_stepped(const struct rate *r, uint64_t tick, uint64_t mono,
		     uint64_t width);

/* ns as ticks, at least 1. */
uint64_t rate_ticks_of(const struct rate *r, uint64_t ns);
/* Milliseconds as ticks, rounded down. */
uint64_t rate_ms_ticks(const struct rate *r, uint64_t ms);
