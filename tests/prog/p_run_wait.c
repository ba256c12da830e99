/* p_run_wait.c - threads, three for each processor, that compute and sleep in
 * turns. Prints for each call of job(), in ms: how long it took, what of that
 * it ran, had no core, and meant to sleep, as the kernel says of the thread.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))
#define SEEN __attribute__((noinline))

enum { ROUNDS = 20, THREADS_MAX = 256 };

UNSEEN static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Without a core, in all its life. */
UNSEEN static double waited(int schedule)
{
	char text[64] = "";
	unsigned long long ns = 0;

	if (pread(schedule, text, sizeof(text) - 1, 0) > 0)
		sscanf(text, "%*u %llu", &ns);
	return (double)ns / 1e6;
}

SEEN static void spin(double ms)
{
	const double end = now(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

SEEN static void nap(int ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
}

SEEN static void job(int i, int schedule)
{
	const double wall = now(CLOCK_MONOTONIC);
	const double cpu = now(CLOCK_THREAD_CPUTIME_ID);
	const double core = waited(schedule);

	spin(3 + i % 3);
	nap(10 + i % 4);
	spin(2);
	printf("%.6f %.6f %.6f %d\n", now(CLOCK_MONOTONIC) - wall,
	       now(CLOCK_THREAD_CPUTIME_ID) - cpu, waited(schedule) - core,
	       10 + i % 4);
}

static void *work(void *unused)
{
	const int schedule = open("/proc/thread-self/schedstat", O_RDONLY);

	for (int i = 0; i < ROUNDS; i++)
		job(i, schedule);
	close(schedule);
	return unused;
}

int main(void)
{
	const long n = 3 * sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[THREADS_MAX];
	long i;

	for (i = 0; i < n && i < THREADS_MAX; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	while (i-- > 0)
		pthread_join(thread[i], NULL);
	return 0;
}
