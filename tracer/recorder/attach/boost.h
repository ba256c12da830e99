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
	_Atomic uint32_t *lock;    /* NULL: nothing is lent */
	atomic_bool ends;
	pthread_t waiter;
	sem_t begun;
};

/* Begin. It lasts until boost_end, for BOOST_MS at most. Without a real-time
 * priority of the caller, before Linux 5.14, and for tid 0 or less, it does
 * nothing. */
enum { BOOST_MS = 50 };
void boost_begin(struct boost *, pid_t tid);
/* End, within two milliseconds. */
void boost_end(struct boost *);

/* Our own priority; policy -1: we come before others anyway. */
struct boost_usual { int policy; struct sched_param param; };
/* This thread comes before others, where it may, until boost_back. */
struct boost_usual boost_ourselves(void);
void boost_back(const struct boost_usual *);
