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

enum { STEP_NS = 300000, STEPS = BOOST_MS * 1000000 / STEP_NS };

/* Negative: it was not waited. */
static int lend(_Atomic uint32_t *lock, pid_t tid)
{
	struct timespec t;

	atomic_store(lock, (uint32_t)tid);
	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += STEP_NS;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return syscall(SYS_futex, lock, FUTEX_LOCK_PI2, 0, &t, NULL, 0) == 0 ||
	       errno != ETIMEDOUT ? -1 : 0;
}

static bool is_held_up(const struct boost *b)
{
	return remote_state(b->pid, b->tid) == 'D' ||
	       remote_state(getpid(), b->by) == 'D';
}

/* The next one that wants to run; 0: it was the last one. */
static pid_t next_other(const struct boost *b, DIR *threads)
{
	const struct dirent *e;

	while (threads && (e = readdir(threads))) {
		const pid_t tid = atoi(e->d_name);

		if (tid > 0 && tid != b->tid &&
		    remote_state(b->pid, tid) == 'R')
			return tid;
	}
	if (threads)
		rewinddir(threads);
	return 0;
}

/* The wait can only end by itself: so it is many short ones. */
static void *wait_for_lock(void *arg)
{
	struct boost *const b = arg;
	DIR *threads = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", (int)b->pid);
	sem_post(&b->begun);
	for (int i = 0; i < STEPS && !atomic_load(&b->ends); i++) {
		const bool held_up = i > 0 && is_held_up(b);
		pid_t other = 0;

		if (held_up && !threads)
			threads = opendir(path);
		if (held_up)
			other = next_other(b, threads);
		if (lend(b->lock, other ? other : b->tid) != 0 && !other)
			break;
	}
	if (threads)
		closedir(threads);
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

void boost_begin(struct boost *b, pid_t pid, pid_t tid)
{
	b->lock = tid > 0 ? make_lock() : NULL;
	if (!b->lock)
		return;
	b->pid = pid;
	b->tid = tid;
	b->by = (pid_t)syscall(SYS_gettid);
	atomic_store(&b->ends, false);
	sem_init(&b->begun, 0, 0);
	if (pthread_create(&b->waiter, NULL, wait_for_lock, b) != 0) {
		munmap((void *)b->lock, sizeof(*b->lock));
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
