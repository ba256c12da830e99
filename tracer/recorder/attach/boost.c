/* boost.c - a thread of ours waits for a lock of which the word says that the
 * other one holds it. While it waits, the kernel lends its priority to the
 * holder, which need not know of it (priority inheritance: FUTEX_LOCK_PI2 in
 * futex(2)).
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/boost.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of Linux 5.14, and the C library may be older. */
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

/* The wait can only end by itself: so it is many short ones. */
static void *wait_for_lock(void *arg)
{
	struct boost *const b = arg;
	struct timespec t;

	sem_post(&b->begun);
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (int ms = 0; ms < BOOST_MS && !atomic_load(&b->ends); ms++) {
		t.tv_nsec += 1000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		if (syscall(SYS_futex, b->lock, FUTEX_LOCK_PI2, 0, &t, NULL,
			    0) == 0 || errno != ETIMEDOUT)
			break;
	}
	return NULL;
}

/* Shared memory: else only threads of ours count. */
void boost_begin(struct boost *b, pid_t tid)
{
	const int policy = sched_getscheduler(0);
	const bool may = policy == SCHED_FIFO || policy == SCHED_RR;
	void *const m = tid <= 0 || !may ? MAP_FAILED :
			mmap(NULL, sizeof(*b->lock), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	b->lock = m == MAP_FAILED ? NULL : m;
	if (!b->lock)
		return;
	atomic_store(b->lock, (uint32_t)tid);
	atomic_store(&b->ends, false);
	sem_init(&b->begun, 0, 0);
	if (pthread_create(&b->waiter, NULL, wait_for_lock, b) != 0) {
		munmap(m, sizeof(*b->lock));
		b->lock = NULL;
	}
	while (b->lock && sem_wait(&b->begun) != 0)
		;
}

void boost_end(struct boost *b)
{
	if (!b->lock)
		return;
	atomic_store(&b->ends, true);
	pthread_join(b->waiter, NULL);
	munmap((void *)b->lock, sizeof(*b->lock));
	b->lock = NULL;
}

struct boost_usual boost_ourselves(void)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct boost_usual u = { .policy = sched_getscheduler(0) };

	if (u.policy != SCHED_OTHER && u.policy != SCHED_BATCH &&
	    u.policy != SCHED_IDLE)
		u.policy = -1;
	sched_getparam(0, &u.param);
	if (u.policy >= 0)
		sched_setscheduler(0, SCHED_FIFO, &first);
	return u;
}

void boost_back(const struct boost_usual *u)
{
	if (u->policy >= 0)
		sched_setscheduler(0, u->policy, &u->param);
}
