/* p_naps.c [MS] - sleeps five times 50 ms, or so many, and works in between;
 * prints how long it was away by its own clock, in microseconds.
 * SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

__attribute__((no_instrument_function)) static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

__attribute__((noinline)) static void nap(unsigned ms)
{
	usleep(ms * 1000);
}

__attribute__((noinline)) static void burn(void)
{
	for (volatile long i = 0; i < 5000000; i++)
		;
}

int main(int count, char **words)
{
	const unsigned ms = count > 1 ? (unsigned)atoi(words[1]) : 50;
	uint64_t away = 0;

	/* The recorder needs a moment to see the thread. Nobody takes this for
	 * a nap: it is longer. */
	burn();
	usleep(400000);
	for (int i = 0; i < 5; i++) {
		const uint64_t before = now_us();

		nap(ms);
		away += now_us() - before;
		burn();
	}
	printf("%llu\n", (unsigned long long)away);
	return 0;
}
