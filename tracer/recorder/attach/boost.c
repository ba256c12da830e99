/* boost.c - a thread of ours waits for a lock of which the word says that the
 * other one holds it. While it waits, the kernel lends its priority to the
 * holder, which need not know of it (priority inheritance: FUTEX_LOCK_PI2 in
 * futex(2)).
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/attach/boost.h"
#include "tracer/recorder/attach/remote.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of Linux 5.14, and the C library may be older. */
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

enum { STEP_NS = 1000000, TURN_NS = 300000, TURNS = 64 };

/* So much later than *t, which it is set to. Negative: it was not waited. */
static int wait_until(_Atomic uint32_t *lock, struct timespec *t, long ns)
{
	t->tv_nsec += ns;
	t->tv_sec += t->tv_nsec / 1000000000;
	t->tv_nsec %= 1000000000;
	return syscall(SYS_futex, lock, FUTEX_LOCK_PI2, 0, t, NULL, 0) == 0 ||
	       errno != ETIMEDOUT ? -1 : 0;
}

/* The wait can only end by itself: so it is many short ones. */
static void *wait_for_lock(void *arg)
{
	struct boost *const b = arg;
	struct timespec t;

	sem_post(&b->begun);
	clock_gettime(CLOCK_MONOTONIC, &t);
	for (int ms = 0; ms < BOOST_MS && !atomic_load(&b->ends); ms++)
		if (wait_until(b->lock, &t, STEP_NS) != 0)
			break;
	return NULL;
}

/* Shared memory: else only threads of ours count. NULL: we cannot lend. */
static _Atomic uint32_t *make_lock(void)
{
	const int policy = sched_getscheduler(0);
	const bool may = policy == SCHED_FIFO || policy == SCHED_RR;
	void *const m = !may ? MAP_FAILED :
			mmap(NULL, sizeof(uint32_t), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return m == MAP_FAILED ? NULL : m;
}

static void end_lock(_Atomic uint32_t *lock)
{
	munmap((void *)lock, sizeof(*lock));
}

void boost_begin(struct boost *b, pid_t tid)
{
	b->lock = tid > 0 ? make_lock() : NULL;
	if (!b->lock)
		return;
	atomic_store(b->lock, (uint32_t)tid);
	atomic_store(&b->ends, false);
	sem_init(&b->begun, 0, 0);
	if (pthread_create(&b->waiter, NULL, wait_for_lock, b) != 0) {
		end_lock(b->lock);
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
	end_lock(b->lock);
	b->lock = NULL;
}

/* It comes first while we wait for it. */
void boost_others(pid_t pid, pid_t tid)
{
	_Atomic uint32_t *const lock =
		remote_state(pid, tid) == 'D' ? make_lock() : NULL;
	const struct dirent *e;
	char path[64];
	int turns = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *const threads = lock ? opendir(path) : NULL;

	while (threads && turns < TURNS && (e = readdir(threads)) &&
	       remote_state(pid, tid) == 'D') {
		const pid_t other = atoi(e->d_name);
		struct timespec t;

		if (other <= 0 || remote_state(pid, other) != 'R')
			continue;
		atomic_store(lock, (uint32_t)other);
		clock_gettime(CLOCK_MONOTONIC, &t);
		wait_until(lock, &t, TURN_NS);
		turns++;
	}
	if (threads)
		closedir(threads);
	if (lock)
		end_lock(lock);
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
