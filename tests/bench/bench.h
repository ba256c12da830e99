/* bench.h - what the workloads share.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TESTS_BENCH_H
#define WEFT_TESTS_BENCH_H

#include <time.h>

#define OUTSIDE __attribute__((no_instrument_function))

/* many.c, made by many.sh: each makes about n calls and says how many. */
long many_random(long n) OUTSIDE;
long many_inlined(long n) OUTSIDE;
long many_deep(long n) OUTSIDE;

OUTSIDE static inline double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The compiler must believe that somebody wants it. */
OUTSIDE static inline void keep(long x)
{
	__asm__ volatile("" : : "r"(x));
}

#endif
