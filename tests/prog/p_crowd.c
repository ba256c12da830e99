/* p_crowd.c THREADS CALLS - all threads live at once, then each makes its
 * calls. Prints how long one takes, in nanoseconds.
 * flags: -finstrument-functions -pthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t all;
static long calls;

int leaf(int x);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static void *body(void *arg)
{
	pthread_barrier_wait(&all);
	for (long i = 0; i < calls; i++)
		leaf(1);
	pthread_barrier_wait(&all);
	return arg;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t *const t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t small;
	double from;

	calls = argc > 2 ? atol(argv[2]) : 100;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t[i], &small, body, NULL) != 0)
			return 77;
	}
	pthread_barrier_wait(&all);
	from = now();
	pthread_barrier_wait(&all);
	printf("%.0f\n", (now() - from) / ((double)n * (double)calls));
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	return 0;
}
