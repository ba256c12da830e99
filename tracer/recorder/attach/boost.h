/* boost.h - a thread of another process runs before others for a moment, if we
 * may run before others. The kernel lends it our priority, and takes it back
 * when we end, also if we are killed: nothing of the thread is changed.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct boost {
	pid_t pid, tid, by;        /* to whom, and from which thread of ours */
	_Atomic uint32_t *lock;    /* NULL: nothing is lent */
	atomic_bool ends;
	pthread_t waiter;
	sem_t begun;
};

/* Begin, with thread tid of process pid. It lasts until boost_end, for BOOST_MS
 * at most. Without a real-time priority of the caller, before Linux 5.14, and
 * for tid 0 or less, it does nothing.
 * If that thread waits in the kernel where no signal wakes it, or the caller
 * does, then most likely for the map of the process' memory. Another thread has
 * that, and is not let run: the caller may have taken its processor itself. So
 * each thread of the process that wants to run comes first for a moment, one
 * after the other, until the wait is over. */
enum { BOOST_MS = 50 };
void boost_begin(struct boost *, pid_t pid, pid_t tid);
/* End, within a millisecond. */
void boost_end(struct boost *);

/* Our own priority; policy -1: we come before others anyway. */
struct boost_usual { int policy; struct sched_param param; };
/* This thread comes before others, where it may, until boost_back. */
struct boost_usual boost_ourselves(void);
void boost_back(const struct boost_usual *);
