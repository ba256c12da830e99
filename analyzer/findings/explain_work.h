/* explain_work.h - what all findings of explain.h begin with: what is long,
 * what waits, and the thresholds.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/findings/explain.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/tables/flat.h"

/* What makes a finding. Shares are of the program's time on the CPU, or of its
 * calls. */
#define HOT_SHARE 0.30     /* own time */
#define COLLECTOR_SHARE 0.15 /* that the garbage collector has */
#define LONG_SHARE 0.20    /* of a single call or sleep, or of waiting */
#define LOCK_SHARE 0.05    /* of waiting for a lock: nobody means to */
#define OFTEN_SHARE 0.20   /* of all calls */
#define LEAST_SHARE 0.01   /* of the elapsed time: all findings */
enum {
	SLOW_CALLS = 20,   /* so many calls at least tell what is usual; */
	SLOW_TIMES = 20,   /* so many times the usual is slow */
	MANY_CALLS = 10,   /* one of so many is many */
	FEW_CALLS = 1000,  /* so many calls at least have few, */
	FEW_OF = 200,      /* of so many, one is one of few, */
	MOST_FEW = EXPLAIN_LONGEST * 3 / 4, /* and no more than these, */
	FEW_APART = 4,     /* if it took so many times as long as the longest
	                    * of the others, */
	ONE_APART = 32,    /* or one alone so many times; or two so many in
	                    * the product: for one, chance is enough */
	OFTEN_TIMES = 100, /* so many calls for one of the caller is often, */
	OFTEN_CALLS = 10,  /* unless that is a loop that runs once */
	SLEEP_TIMES = 10,  /* so many times the others is long */
	WAIT_CALLS = 10,   /* fewer calls may wait for the end of what the
	                    * program does meanwhile */
	WAIT_TIMES = 10,   /* waits so many times longer than it runs */
	IDLE_TIMES = 20,   /* waits so many times longer than for a lock: that
	                    * is not what the time is spent on; than it does
	                    * anything else: a thread is idle */
};
#define ONE_SIDED 0.8      /* one thread has so much of the waiting */
#define LEAST_GROWTH 100e3 /* bytes of memory in use, */
#define GROWTH_SHARE 0.1   /* of it, in the second half of the time, */
#define KEPT_SHARE 0.002   /* if each block is known, and kept all the time */
#define STEADY 0.1         /* so much of that in each half of that */
#define AS_LONG 0.95       /* so much of the longest wait is as long */

struct work {
	struct explain *out;
	struct session *session;
	struct flat *flat;
	ticks *self;             /* by node, while the hot function is
	                          * searched */
	ticks cpu;               /* of all functions */
	ticks elapsed;           /* in the thread that was recorded longest */
	ticks idle;              /* of that: no thread ran or could have run,
	                          * at least */
};

struct explain_finding *work_add(struct work *w, enum explain_kind kind,
				 func_id func);

/* Sum up what the program did. */
void work_measure(struct work *w);

/* How long a function ran, and whether a time is worth being told, or long for
 * that share of all the time on the CPU. */
ticks work_on_cpu(const struct work *w, const struct figures *f);
bool work_matters(const struct work *w, ticks time);
bool work_is_long(const struct work *w, ticks time, double share);

/* How long a node or function waited, for something else than a core; and
 * whether the function does hardly anything else. */
ticks work_asleep_at(const struct work *w, node_id id);
ticks work_asleep(const struct work *w, const struct figures *f);
bool work_is_waiting(const struct work *w, const struct figures *f);

/* Calls of libc that wait until somebody wants something: events, and input. As
 * long as nobody does, they are not slow. A slow answer comes as input, too:
 * that calls wait for input is worth being told. SLEEP is for as long as the
 * program says: whoever asks for it is slow. */
enum { EVENTS = 1, INPUT = 2, SLEEP = 4 };
bool work_is_for(const struct work *w, func_id func, unsigned what);

/* The caller for which the finding's function has most of a time, in all nodes:
 * the program's own, if it is known. */
void work_find_caller(const struct work *, struct explain_finding *,
		      ticks (*time_at)(const struct work *, node_id));

/* ---- in explain_slow.c -------------------------------------------------- */

/* The slow call, and functions of which a few calls may be. */
void explain_find_slow(struct work *w);

/* ---- in explain_waits.c ------------------------------------------------- */

/* The function that waits, and the object that threads wait for. */
void explain_find_wait(struct work *w);
void explain_find_lock(struct work *w, enum explain_kind kind,
		       const struct explain_lock *lock);
