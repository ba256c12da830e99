/* explain.h - the findings that are worth a person's time, from a session's
 * tree. What makes one is a number below; a program without problems has none.
 *
 * analyzer/findings: what follows from tables. Uses base, model and tables;
 * prints nothing.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

enum explain_kind {
	EXPLAIN_HOT,      /* a function takes much of the time itself */
	EXPLAIN_SLOW,     /* one call of it took much longer than the others */
	EXPLAIN_OFTEN,    /* it is called very often for each call of a
	                   * caller */
	EXPLAIN_SLEEP,    /* a coroutine was suspended for long */
	EXPLAIN_WAIT,     /* a function waits for long: for a lock, a read, a
	                   * sleep; not for a core */
	EXPLAIN_LOCK,     /* threads wait for a lock for long, */
	EXPLAIN_EVENT,    /* or until others tell them something */
	EXPLAIN_HEAP,     /* memory in use grows */
	EXPLAIN_JOIN,     /* threads ended, and are never joined */
	EXPLAIN_COLLECTOR, /* a Lua state collects garbage for long */
	EXPLAIN_KINDS
};

/* Times are ticks. Which fields hold is said by the kind. */
struct explain_finding {
	enum explain_kind kind;
	func_id func;
	func_id other;           /* HOT, WAIT, COLLECTOR: the caller that has
	                          * most of it; OFTEN: the caller; SLEEP: the
	                          * body; LOCK, EVENT: who holds it, or lets
	                          * others go on; 0: not known, or a call that
	                          * began before the recording */
	bool is_most;            /* HOT, WAIT, COLLECTOR: that is more than half
	                          * of it */
	ticks untold;            /* HOT: of time, what C functions that it calls
	                          * have, if LuaJIT does not tell when these
	                          * return: that may be its own */
	func_id through;         /* WAIT: what other calls, which does nothing
	                          * but sleep; or 0 */
	uint64_t calls;          /* of func; OFTEN: by other; SLEEP: sleeps;
	                          * LOCK: waits; JOIN: threads */
	uint64_t other_calls;    /* OFTEN: of other */
	ticks time;              /* HOT, COLLECTOR: own; SLOW: the slowest call,
	                          * without suspensions; OFTEN: of these
	                          * calls; SLEEP: the longest; WAIT: off the
	                          * CPU, in all, but not for want of a core;
	                          * LOCK, EVENT: of all waits */
	ticks error;             /* HOT, COLLECTOR: one standard error of
	                          * that; 0: it is raw */
	ticks typical;           /* SLOW: half of the calls took no longer;
	                          * SLEEP: the mean of the others; WAIT: on the
	                          * CPU; LOCK: of the waits, because of other */
	ticks collecting;        /* SLOW: of time, garbage; 0: not known */
	uint64_t few;            /* SLOW: a few calls stand apart from all
	                          * others: so many; 0: only the slowest call is
	                          * told, since that alone took long */
	ticks did, least;        /* of these, the longest and the shortest,
	                          * without what does not count */
	ticks on, blocked, ready; /* SLOW: what they, or the slowest one, were
	                          * on the CPU, asleep, and without a core;
	                          * all 0: not known; SLEEP: ready is of time,
	                          * that of the thread; */
	ticks suspended;         /* and beside that, as coroutines */
	ticks rank;              /* by which findings are sorted */
	bool is_idle;            /* WAIT, EVENT: of threads that hardly do
	                          * anything else; SLOW: what the calls slept
	                          * may be that, and does not count */
	ticks at;                /* SLEEP: when it was over */
	uint64_t coroutine;      /* SLEEP: its serial */
	uint32_t process;        /* SLEEP: its index */
	const struct explain_lock *lock; /* LOCK, EVENT; else NULL */
	const struct explain_heap *heap; /* HEAP; else NULL */
	uint32_t thread;         /* WAIT: the index of the one that waits most,
	                          * if it is one-sided; else CCT_ALL_THREADS */
	double share;            /* HOT, COLLECTOR: of all time on the CPU;
	                          * OFTEN: of all calls; WAIT: that thread's,
	                          * of the waiting; HEAP: of the growth; 0 to
	                          * 1 */
};

/* Suspensions of coroutines that had `body` as the outermost function and
 * `where` as the innermost one. */
struct explain_sleep {
	func_id where, body;
	uint64_t count;
	ticks sum, longest, at;
	ticks no_core;           /* of longest: its thread had no core */
	uint64_t coroutine;
	uint32_t process;        /* the coroutine's; index */
};

/* The object for which was waited most; times are ticks. */
struct explain_lock {
	func_id func;            /* of libc, in which was waited; 0: there is no
	                          * such object */
	uint32_t kind;           /* WAIT_MUTEX and so on */
	func_id holder;          /* because of whom was waited most; 0: not
	                          * known */
	func_id place;           /* where it lies, as a function; or 0 */
	uint64_t address;
	uint64_t waits, most;    /* waits, and how many at a time */
	ticks waiting, because;  /* in all, and because of holder */
};

/* Memory in use: bytes at half of the time, three quarters, and near the end,
 * when the program has not given all back yet; and what the function that took
 * most of the growth has of that. */
struct explain_heap {
	double half, later, end;
	double error;            /* of the growth since half; 0: it is exact */
	func_id func;            /* 0: nothing is known of memory */
	double grown;            /* of that: by what func took; */
	double stays;            /* or, if it is not 0, of all that was taken
	                          * before and stays in use, how much func took,
	                          * 0 to 1 */
	double steady;           /* what all functions together keep of what
	                          * they take in half of the time; 0: not
	                          * known */
	func_id second;          /* another one that took much; 0: none; */
	double second_share;     /* of the growth, or of what stays, 0 to 1 */
	bool is_lua;             /* Lua's own code took most of the growth */
	ticks since, until;      /* half of the time, and its end */
	char *unseen;            /* a sentence on what Lua states have that is
	                          * not seen, or NULL */
};

/* What single events tell beside the tree. */
struct explain_seen {
	const struct explain_sleep *sleeps;
	size_t sleep_count;
	ticks second;            /* the longest suspension of any coroutine but
	                          * that which was suspended longest, both
	                          * without what their threads had no core */
	struct explain_lock lock; /* mutex or read-write lock, */
	struct explain_lock event; /* and what threads tell each other by:
	                          * condition variable, semaphore, barrier */
	struct explain_heap heap;
	func_id maker;           /* who made most of the threads that have
	                          * ended and should have been joined, */
	uint64_t unjoined;       /* and how many; 0: there are none */
};

/* A function of which a few calls may be slow, though each is short beside the
 * whole time: its longest calls must be looked at. */
struct explain_suspect {
	struct explain_finding finding;
	uint64_t most;           /* so many of its calls are few */
	ticks idle;              /* so much of what is below it may have been
	                          * waits for somebody to want something */
	ticks long_max;          /* its longest call, */
	double long_sum;         /* and all calls that are long together, less
	                          * what all calls were without a core */
};

/* As many suspects, and their longest calls, are looked at. */
enum { EXPLAIN_SUSPECTS = 5, EXPLAIN_LONGEST = 64 };

struct explain {
	struct explain_finding finding[EXPLAIN_KINDS]; /* at most one a kind,
	                          * by falling rank */
	size_t count;
	bool has_switches;       /* else waiting is not known, and times on the
	                          * CPU are elapsed ones */
	struct explain_suspect suspect[EXPLAIN_SUSPECTS];
	size_t suspects;
	ticks matters;           /* what took less is no finding */
	func_id top;             /* the function that takes most of the time on
	                          * the CPU itself, finding or not; or 0 */
	double top_share;        /* 0 to 1 */
};

/* Bytes, in the second half of the time. */
double explain_heap_growth(const struct explain_heap *);

/* Do functions keep enough of what they take, all the time? */
bool explain_keeps(const struct explain_heap *);

/* Look for all kinds; the session needs histograms for EXPLAIN_SLOW. What was
 * seen is borrowed by the findings. Never fails. */
void explain_find(struct explain *, struct session *,
		  const struct explain_seen *);

/* A call; of its time what was off the CPU and without a core; how long it was
 * suspended, which is no part of it; and what it did itself (explain_judge). */
struct explain_call { ticks total, off, ready, suspended, did; };

/* Below the suspect threads may have been idle: what its calls slept does not
 * make them slow. */
bool explain_may_be_idle(const struct explain_suspect *);

/* The longest calls of a suspect by what they did themselves, which is all but
 * waits for a core, and but sleeps if it may be idle: EXPLAIN_LONGEST of them
 * if it has as many; the array is changed. Do a few of them stand apart? Its
 * finding then says how many; else its few is 0. */
void explain_judge(const struct explain *, struct explain_suspect *,
		   struct explain_call *, size_t n);

/* All suspects were judged: what they did is a finding, in place of the slowest
 * call alone. */
void explain_settle(struct explain *);
