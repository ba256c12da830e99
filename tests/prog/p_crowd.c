/* p_crowd.c THREADS CALLS - all threads live at once, then each makes its
 * calls. Prints how long one takes on the CPU, in nanoseconds, in a thread that
 * is faster than nine tenths of them, and in one that is slower.
 * flags: -finstrument-functions -pthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_barrier_t all;
static long calls;
static double *taken;

int leaf(int x);

__attribute__((noinline)) int leaf(int x)
{
	__asm__ volatile("");
	return x + 1;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *body(void *its)
{
	pthread_barrier_wait(&all);
	const double from = now();

	for (long i = 0; i < calls; i++)
		leaf(1);
	*(double *)its = (now() - from) / (double)calls;
	return NULL;
}

static int compare(const void *x, const void *y)
{
	const double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t *const t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t small;

	taken = calloc((size_t)n, sizeof(*taken));
	calls = argc > 2 ? atol(argv[2]) : 100;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	pthread_barrier_init(&all, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t[i], &small, body, &taken[i]) != 0)
			return 77;
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	qsort(taken, (size_t)n, sizeof(*taken), compare);
	printf("%.0f %.0f\n", taken[n / 10], taken[n * 9 / 10]);
	return 0;
}
