/* A program that gets slower by SLOWER percent where it computes: it then polls
 * for as long as that takes, by its CPU's clock, with calls that got slower.
 * Prints the CPU time of both by its own clock, and of all, in ns.
 * usage: p_polled ROUNDS
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef SLOWER
#define SLOWER 0
#endif
#define PLAIN __attribute__((no_instrument_function))
#define CALL __attribute__((noinline))

static unsigned long value = 88172645463325252;

PLAIN static void chain(long steps)
{
	unsigned long v = value;

	while (steps-- > 0) {
		v ^= v << 13;
		v ^= v >> 7;
		v ^= v << 17;
	}
	value = v;
}

PLAIN static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

CALL void compute(void)
{
	chain(20000 * (100 + SLOWER));
}

CALL void steady(void)
{
	chain(1000000);
}

CALL int is_done(long until)
{
	static unsigned turn;

	chain(100 + SLOWER);
	return turn++ % 256 == 0 && now() >= until;
}

CALL void poll_until(long until)
{
	while (!is_done(until))
		;
}

int main(int count, char **args)
{
	const int rounds = count > 1 ? atoi(args[1]) : 10;
	const long begin = now();
	long computed = 0, polled = 0;

	for (int i = 0; i < rounds; i++) {
		const long first = now();
		long then;

		compute();
		then = now();
		poll_until(then + 20000 * (100 + SLOWER));
		computed += then - first;
		polled += now() - then;
		steady();
	}
	printf("%ld %ld %ld\n", computed, polled, now() - begin);
	return value == 0;
}
