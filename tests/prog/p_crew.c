/* p_crew.c - threads of each fate: joined, never joined, detached at birth or
 * later, and such that wait for ever. Prints of each who made it, what becomes
 * of it, and how long it waited for a lock and in a sleep, by its own clock:
 * "thread TID MAKER FATE LOCK SLEEP".
 * flags: -finstrument-functions -lpthread
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define PLAIN __attribute__((noinline, noclone))
#define RAW __attribute__((no_instrument_function))

enum { JOINED = 3, LEFT = 5, DETACHED = 2, STUCK = 2 };

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t never = PTHREAD_MUTEX_INITIALIZER;
static atomic_int arrived, done;
static int ends[2];

static RAW long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static RAW void until(atomic_int *what, int value)
{
	while (atomic_load(what) < value)
		usleep(200);
}

static RAW void say(const char *maker, const char *fate, long lock, long sleep)
{
	printf("thread %d %s %s %ld %ld\n", gettid(), maker, fate, lock,
	       sleep);
	fflush(stdout);
}

PLAIN static void at_desk(void)
{
	long t = now();

	pthread_mutex_lock(&desk);
	t = now() - t;
	pthread_mutex_unlock(&desk);
	say("spawn_joined", "joined", t, 0);
}

PLAIN static void naps(const char *maker, const char *fate)
{
	long t = now();

	usleep(30000);
	t = now() - t;
	say(maker, fate, 0, t);
	done++;
}

static void *works(void *unused)
{
	arrived++;
	at_desk();
	return unused;
}

static void *left(void *unused)
{
	naps("spawn_worker", "ended");
	return unused;
}

static void *detached(void *itself)
{
	if (itself)
		pthread_detach(pthread_self());
	naps(itself ? "spawn_free" : "spawn_detached", "detached");
	return NULL;
}

PLAIN static void wait_for_ever(void)
{
	say("spawn_stuck", "live", 0, 0);
	done++;
	pthread_mutex_lock(&never);
}

static void *stuck(void *unused)
{
	wait_for_ever();
	return unused;
}

static void *reads(void *unused)
{
	char c;

	say("spawn_reader", "live", 0, 0);
	done++;
	return read(ends[0], &c, 1) == 1 ? NULL : unused;
}

PLAIN static void spawn_joined(void)
{
	pthread_t t[JOINED];

	pthread_mutex_lock(&desk);
	for (int i = 0; i < JOINED; i++)
		pthread_create(&t[i], NULL, works, NULL);
	until(&arrived, JOINED);
	usleep(50000);
	pthread_mutex_unlock(&desk);
	for (int i = 0; i < JOINED; i++)
		pthread_join(t[i], NULL);
}

PLAIN static void spawn_worker(void)
{
	pthread_t t;

	pthread_create(&t, NULL, left, NULL);
}

PLAIN static void spawn_detached(void)
{
	pthread_attr_t how;
	pthread_t t;

	pthread_attr_init(&how);
	pthread_attr_setdetachstate(&how, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < DETACHED; i++)
		pthread_create(&t, &how, detached, NULL);
	pthread_attr_destroy(&how);
}

PLAIN static void spawn_free(void)
{
	pthread_t t;

	pthread_create(&t, NULL, detached, &t);
}

PLAIN static void spawn_stuck(void)
{
	pthread_t t;

	pthread_mutex_lock(&never);
	for (int i = 0; i < STUCK; i++)
		pthread_create(&t, NULL, stuck, NULL);
}

PLAIN static void spawn_reader(void)
{
	pthread_t t;

	if (pipe(ends) == 0)
		pthread_create(&t, NULL, reads, NULL);
}

int main(void)
{
	spawn_joined();
	for (int i = 0; i < LEFT; i++)
		spawn_worker();
	spawn_detached();
	spawn_free();
	until(&done, LEFT + DETACHED + 1);
	spawn_stuck();
	spawn_reader();
	until(&done, LEFT + DETACHED + 1 + STUCK + 1);
	usleep(50000);
	return 0;
}
