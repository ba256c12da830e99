/* p_contended.c - THREADS threads take one of eight locks at a time, and keep
 * it for a moment, until a lock was found taken WAITS times. Prints of each
 * lock how often it was, and how long getting it took then, by the program's
 * own clock around each call: "wait ADDRESS COUNT NS".
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RAW __attribute__((no_instrument_function))

enum { LOCKS = 8, MOST_THREADS = 64 };

static struct {
	pthread_mutex_t mutex;
	atomic_long count, ns;
} locks[LOCKS];
static atomic_long left;

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static RAW void take(int i)
{
	long began;

	if (pthread_mutex_trylock(&locks[i].mutex) == 0)
		return;
	began = now();
	pthread_mutex_lock(&locks[i].mutex);
	locks[i].ns += now() - began;
	locks[i].count++;
	left--;
}

static void hold(int i)
{
	usleep(50);
	pthread_mutex_unlock(&locks[i].mutex);
}

static void *work(void *number)
{
	unsigned seed = (unsigned)(long)number + 1;

	while (left > 0) {
		seed = seed * 1103515245 + 12345;
		/* The first lock is wanted most. */
		const int i = (int)((seed >> 16) % 16 % (LOCKS + 1)) % LOCKS;

		take(i);
		hold(i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 4;
	pthread_t thread[MOST_THREADS];

	left = argc > 2 ? atol(argv[2]) : 2000;
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i].mutex, NULL);
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, work, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < LOCKS; i++)
		printf("wait %p %ld %ld\n", (void *)&locks[i].mutex,
		       (long)locks[i].count, (long)locks[i].ns);
	return 0;
}
