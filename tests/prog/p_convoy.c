/* p_convoy.c - four threads need a lock for a moment at a time, which a fifth
 * one keeps while it sleeps.
 * flags: -finstrument-functions
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <time.h>

#define SEEN __attribute__((noinline))

enum { WORKERS = 4, REQUESTS = 200, FLUSHES = 30 };

static pthread_mutex_t shared_log = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long sink;

static void nap(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

SEEN static void spin(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i;
}

SEEN static void flush_log(void)
{
	pthread_mutex_lock(&shared_log);
	nap(30);
	pthread_mutex_unlock(&shared_log);
}

SEEN static void handle(void)
{
	spin(100000);
	pthread_mutex_lock(&shared_log);
	spin(5000);
	pthread_mutex_unlock(&shared_log);
}

static void *work(void *unused)
{
	for (int i = 0; i < REQUESTS; i++)
		handle();
	return unused;
}

static void *keep_log(void *unused)
{
	for (int i = 0; i < FLUSHES; i++) {
		flush_log();
		nap(5);
	}
	return unused;
}

int main(void)
{
	pthread_t thread[WORKERS + 1];

	pthread_create(&thread[WORKERS], NULL, keep_log, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
