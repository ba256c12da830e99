/* boost.c - a thread of ours waits for a lock of which the word says that the
 * other one holds it. While it waits, the kernel lends its priority to the
 * holder, which need not know of it (priority inheritance: FUTEX_LOCK_PI2 in
 * futex(2)).
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/boost.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of Linux 5.14, and the C library may be older. */
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static _Atomic uint32_t *lock; /* shared: else only threads of ours count */
static atomic_bool ends;
static bool runs;
static pthread_t waiter;
static sem_t begun;

/* The wait can only end by itself: so it is many short ones. */
static void *wait_for_lock(void *arg)
{
	struct timespec t;

	(void)arg;
	sem_post(&begun);
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (int ms = 0; ms < BOOST_MS && !atomic_load(&ends); ms++) {
		t.tv_nsec += 1000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (syscall(SYS_futex, lock, FUTEX_LOCK_PI2, 0, &t, NULL, 0) ==
		    0 || errno != ETIMEDOUT)
			break;
	}
	return NULL;
}

static bool has_lock(void)
{
	void *const m = lock ? NULL :
			mmap(NULL, sizeof(*lock), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (m && m != MAP_FAILED)
		lock = m;
	return lock;
}

void boost_begin(pid_t tid)
{
	const int policy = sched_getscheduler(0);

	if ((policy != SCHED_FIFO && policy != SCHED_RR) || !has_lock())
		return;
	atomic_store(lock, (uint32_t)tid);
	atomic_store(&ends, false);
	sem_init(&begun, 0, 0);
	runs = pthread_create(&waiter, NULL, wait_for_lock, NULL) == 0;
	while (runs && sem_wait(&begun) != 0)
		;
}

void boost_end(void)
{
	if (!runs)
		return;
	atomic_store(&ends, true);
	pthread_join(waiter, NULL);
	runs = false;
}
