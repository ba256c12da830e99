/* p_threads.c - "p_threads at-once N" or "p_threads in-turn N": threads that
 * call a little, all alive together or one after the other in eights. They name
 * themselves once they have called.
 * "p_threads no-memory N": all are there before they call, when there is no
 * memory left to be mapped.
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define PLAIN __attribute__((noinline, noclone))
enum { CALLS = 37, MAX = 4000 };
static pthread_barrier_t all;
static int together;
void small(void);
void *run(void *arg);
PLAIN void small(void) { __asm__ volatile(""); }

/* Nothing more can be mapped once all threads are there. */
__attribute__((no_instrument_function)) static void *starved(void *arg)
{
	pthread_barrier_wait(&all);
	return run(arg);
}

PLAIN void *run(void *arg)
{
	for (int i = 0; i < CALLS; i++)
		small();
	pthread_setname_np(pthread_self(), "late name");
	if (together)
		pthread_barrier_wait(&all);
	small();
	return arg;
}

int main(int argc, char **argv)
{
	static pthread_t threads[MAX];
	const int n = argc > 2 ? atoi(argv[2]) : 10;

	together = argc > 1 && strcmp(argv[1], "at-once") == 0;
	const struct rlimit none = { 1 << 20, 1 << 20 };
	const int starve = argc > 1 && strcmp(argv[1], "no-memory") == 0;
	const int lot = together || starve ? n : 8;

	pthread_barrier_init(&all, NULL, (unsigned)(n + starve));
	for (int done = 0; done < n; done += lot) {
		for (int i = 0; i < lot && done + i < n; i++)
			if (pthread_create(&threads[i], NULL,
					   starve ? starved : run, NULL))
				return 1;
		if (starve && setrlimit(RLIMIT_AS, &none) == 0)
			pthread_barrier_wait(&all);
		for (int i = 0; i < lot && done + i < n; i++)
			pthread_join(threads[i], NULL);
	}
	printf("calls %d small\ncalls %d run\n", n * (CALLS + 1), n);
	return 0;
}
