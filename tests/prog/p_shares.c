/* p_shares.c - four functions that sleep, wait for a mutex, burn CPU, and do
 * half of each; prints for each of them how long it took by the clock on the
 * wall and by its thread's CPU clock, in ns. Stays on CPU 0.
 * built by tests/e2e/offcpu-shares.sh
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((no_instrument_function))
#define CALLED __attribute__((noinline, noclone))

enum { ROUNDS = 12, SPELL_MS = 40 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t locked;

PLAIN static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

PLAIN static void nap(unsigned ms)
{
	usleep(ms * 1000);
}

PLAIN static void work(unsigned ms)
{
	const uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ms * 1000000u;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 2000; i++)
			;
}

CALLED static void sleeps(void) { nap(SPELL_MS); }
CALLED static void burns(void) { work(SPELL_MS); }

CALLED static void waits(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

CALLED static void does_both(void)
{
	work(SPELL_MS / 2);
	nap(SPELL_MS / 2);
}

PLAIN static void *hold(void *unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&lock);
		pthread_barrier_wait(&locked);
		nap(SPELL_MS);
		pthread_mutex_unlock(&lock);
		pthread_barrier_wait(&locked);
	}
	return NULL;
}

static struct account {
	const char *name;
	void (*fn)(void);
	uint64_t wall, cpu;
} accounts[] = {
	{ "sleeps", sleeps, 0, 0 }, { "waits", waits, 0, 0 },
	{ "burns", burns, 0, 0 }, { "does_both", does_both, 0, 0 },
};

PLAIN static void keep(struct account *a)
{
	const uint64_t cpu = now(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t wall = now(CLOCK_MONOTONIC);

	a->fn();
	a->wall += now(CLOCK_MONOTONIC) - wall;
	a->cpu += now(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

PLAIN int main(void)
{
	pthread_t holder;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	pthread_barrier_init(&locked, NULL, 2);
	/* The recorder needs a moment to see the thread: it calls once. */
	sleeps();
	nap(200);
	pthread_create(&holder, NULL, hold, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&locked);
		keep(&accounts[1]);
		pthread_barrier_wait(&locked);
		keep(&accounts[0]);
		keep(&accounts[2]);
		keep(&accounts[3]);
	}
	pthread_join(holder, NULL);
	for (int i = 0; i < 4; i++)
		printf("%s %llu %llu\n", accounts[i].name,
		       (unsigned long long)accounts[i].wall,
		       (unsigned long long)accounts[i].cpu);
	return 0;
}
