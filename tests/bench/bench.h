/* bench.h - what the workloads share.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <sched.h>
#include <stdlib.h>
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

/* On the CPU that the bench names, so that the recorder has the others. */
OUTSIDE static inline void pin(void)
{
	const char *const cpu = getenv("BENCH_CPU");
	cpu_set_t set;

	if (!cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(atoi(cpu), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The compiler must believe that somebody wants it. */
OUTSIDE static inline void keep(long x)
{
	__asm__ volatile("" : : "r"(x));
}
