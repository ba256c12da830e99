/* p_flat_out.c - "p_flat_out T N": T threads call N times each, all at once and
 * flat out. Prints how often they went to sleep, and its priority.
 * flags: -O1 -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#define PLAIN __attribute__((no_instrument_function))

enum { MOST = 1000 };

static long calls;

__attribute__((noinline)) static void work(long i)
{
	for (int k = 0; k < 60; k++)
		__asm__ volatile("" ::"r"(i));
}

PLAIN static void *flat_out(void *unused)
{
	for (long i = 0; i < calls; i++)
		work(i);
	return unused;
}

PLAIN int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread[MOST];
	struct rusage use;

	calls = argc > 2 ? atol(argv[2]) : 1;
	for (int i = 0; i < threads && i < MOST; i++)
		pthread_create(&thread[i], NULL, flat_out, NULL);
	for (int i = 0; i < threads && i < MOST; i++)
		pthread_join(thread[i], NULL);
	getrusage(RUSAGE_SELF, &use);
	printf("calls %ld work\nslept %ld\nnice %d\n", threads * calls,
	       use.ru_nvcsw, getpriority(PRIO_PROCESS, 0));
	return 0;
}
