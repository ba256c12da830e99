/* p_blocked.c - blocks at once and stays so: main joins a thread that sleeps.
 * Prints for both functions how long they took and how long they ran, in ns.
 * built by tests/e2e/offcpu.sh
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define CALLED __attribute__((noinline, noclone))

PLAIN static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static pthread_t sleeper;

CALLED static void naps(void) { usleep(800000); }
CALLED static void joins(void) { pthread_join(sleeper, NULL); }

PLAIN static void keep(const char *name, void (*fn)(void))
{
	const uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t wall = now(CLOCK_MONOTONIC);

	fn();
	printf("%s %llu %llu\n", name,
	       (unsigned long long)(now(CLOCK_MONOTONIC) - wall),
	       (unsigned long long)(now(CLOCK_THREAD_CPUTIME_ID) - cpu));
}

PLAIN static void *sleeps(void *unused)
{
	(void)unused;
	keep("naps", naps);
	return NULL;
}

PLAIN int main(void)
{
	pthread_create(&sleeper, NULL, sleeps, NULL);
	keep("joins", joins);
	return 0;
}
