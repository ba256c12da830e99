/* clock.c - clock pairs, by which the analyzer turns ticks into ns and into the
 * time of day.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/base/clock.h"

int clock_is_tsc;

/* The tick is taken from the middle, between the two readings of ticks. */
static struct clock_pair read_once(void)
{
	struct clock_pair p;
	const uint64_t before = clock_now();

	p.mono = clock_ns(CLOCK_MONOTONIC);
	p.real = clock_ns(CLOCK_REALTIME);
	p.width = clock_now() - before;
	p.tick = before + p.width / 2;
	return p;
}

struct clock_pair clock_pair(void)
{
	struct clock_pair best = read_once();

	for (int i = 0; i < 2; i++) {
		const struct clock_pair p = read_once();

		if (p.width < best.width)
			best = p;
	}
	return best;
}
