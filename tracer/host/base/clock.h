/* clock.h - ticks: those of the processor's counter, or CLOCK_MONOTONIC where
 * that is not to be trusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/base.h"

#include <time.h>

extern HIDDEN int clock_is_tsc; /* set once, before the first record */

/* Both clocks at one moment. tick: ticks; mono, real: ns of CLOCK_MONOTONIC and
 * CLOCK_REALTIME. width: ticks that the reading took; its error is at most
 * that. */
struct clock_pair { uint64_t tick, mono, real, width; };

/* The narrowest of three readings of ticks against both clocks. Hook-safe. */
struct clock_pair clock_pair(void);

/* The time of a clock in ns. Hook-safe. */
INLINE uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time in ticks, of the one clock that all records of a process use.
 * Hook-safe. */
INLINE uint64_t clock_now(void)
{
	return likely(clock_is_tsc) ? arch_ticks() : clock_ns(CLOCK_MONOTONIC);
}

/* The same, where it is known that ticks come from the counter. */
INLINE uint64_t clock_ticks(void)
{
	if (!clock_is_tsc)
		__builtin_unreachable();
	return clock_now();
}
