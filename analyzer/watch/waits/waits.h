/* waits.h - which calls waited for which object, from when to when, and which
 * calls let others go on. Collects during a replay.
 *
 * analyzer/watch/waits: who waits for what, and for whom. What analyzer/watch
 * may use (chronicle.h), this folder may, and that folder.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/order.h"
#include "analyzer/replay/replay.h"

/* What is waited for: an address in a process, by kind, since a lock may lie
 * where another one did. WAIT_READ stands for both kinds of waits of a
 * read-write lock. */
struct waits_object {
	uint32_t process;        /* index */
	uint32_t kind;           /* WAIT_MUTEX and so on */
	uint64_t address;
	func_id place;           /* where it lies, as a function, or 0; it is
	                          * not compared */
};

/* A call that waited. A wait on a condition is one until it is let go on, and
 * one for the mutex that it takes again, if it had to wait for that. */
struct waits_span {
	struct waits_object of;
	ticks begin, end;
	uint32_t thread;         /* index */
	uint32_t owner;          /* tid of who held it at its begin, or 0 */
	stack_id stack;          /* its own frame innermost */
	bool is_open;            /* it had not ended when the records did */
	/* Private, of a condition: its mutex, whose address may be 0, when the
	 * call gives up, and when it was let go on; 0: never. */
	struct waits_object mutex;
	ticks until, let_go;
};

/* A call that found others waiting, and let one or all go on. While others wait
 * for an object, it is whose call ends the next wait: the time until then is
 * given to that call. So the time of each waiter goes to the ends in turn. The
 * time in which somebody gets the object and a core is given to nobody: what
 * follows the last end, and the part of a turn in which its own thread still
 * waited for the object. */
struct waits_end {
	struct waits_object of;
	ticks at;
	uint32_t thread;
	stack_id stack;
	uint64_t coroutine;      /* serial of the one that made the call, or
	                          * 0 */
	/* Its turn, since the end before it, or since its own thread had the
	 * object: the time of all that waited, and how long any of them did;
	 * and what of the former was nobody's, and for how long. */
	ticks since, waiting, held, free, gap;
	/* Of WAIT_THREAD, whose address is the thread's pthread_self: has the
	 * call made it, detached it may be; else it detached it. It is then at
	 * the call's begin, with the stack of its caller. */
	bool is_made, is_detached;
};

/* Kinds of blocked time: for mutexes, read-write locks and semaphores; for
 * conditions and barriers; for ends of threads; in other calls that are
 * recorded as those that wait, and in none of them. */
enum {
	WAITS_LOCK, WAITS_CONDITION, WAITS_JOIN, WAITS_CALL, WAITS_OTHER,
	WAITS_KINDS
};

/* A thread's time off the CPU, as far as is known; where its switches are not,
 * a call that waits counts as blocked. Ticks. */
struct waits_times {
	ticks ready, blocked[WAITS_KINDS];
	func_id open;            /* in which call that waits it was at the end,
	                          * or 0 */
	uint32_t open_depth;     /* private */
	bool is_ended;           /* it ended, or was no longer recorded */
};

struct waits {
	/* By object; those of one by begin, and by time. */
	struct waits_span *spans; size_t span_count;
	struct waits_end *ends; size_t end_count;
	struct waits_times *times; size_t time_count; /* by thread's index;
	                          * those from time_count on are zero */
	struct stack_table *stacks;
	/* Only this time is asked for: to be set before the replay; to 0: all.
	 * Spans are those that have a part in it, and are whole; times are
	 * cut. */
	ticks from, to;
	/* Private. */
	const struct session *session;
	size_t span_room, end_room, sleep_room;
	/* Times for which threads were blocked in waits on conditions. */
	struct waits_sleep { uint32_t thread; ticks from, to; } *sleeps;
	size_t sleep_count;
	struct waits_lane { struct waits_open *open; size_t count, room; }
		*lanes;          /* by stream_number */
	size_t lane_room;
};

/* The nearest moment of the time that is asked for. */
static inline ticks waits_cut(const struct waits *w, ticks at)
{
	return w->to == 0 ? at : MAX(w->from, MIN(w->to, at));
}

static inline bool waits_is_in(const struct waits *w, ticks at)
{
	return w->to == 0 || (at >= w->from && at < w->to);
}

/* How much of a time is in it. */
static inline ticks waits_part(const struct waits *w, ticks from, ticks to)
{
	return waits_cut(w, to) - waits_cut(w, from);
}

/* Borrows the session of an earlier replay, whose functions have names. */
void waits_init(struct waits *, const struct session *);
void waits_fini(struct waits *);

/* For a replay; its context is the struct waits. Call waits_sort once after
 * it. Only the second one collects times. */
extern const struct replay_sink waits_sink, waits_times_sink;
void waits_sort(struct waits *);

/* The thread that held the object when that wait began, or that was joined: its
 * index; false: it is not known. */
bool waits_owner(const struct session *, const struct waits_span *,
		 uint32_t *thread);

/* The first end of waits for an object after a tick. */
size_t waits_end_after(const struct waits *, const struct waits_object *,
		       ticks);

/* The ends in a wait, one after the other; returns how many. */
size_t waits_ends_in(const struct waits *, const struct waits_span *,
		     const struct waits_end **first);

/* The kind of an object (WAIT_MUTEX and so on) in a word, as in CSV; and that
 * of its blocked time. */
const char *waits_kind_name(uint32_t kind);
uint32_t waits_kind(uint32_t kind);

/* The variable that the object is, or is in; "": it is in no module. */
const char *waits_symbol(const struct session *, const struct waits_object *);
/* That, or else its address, written to room. */
const char *waits_name(const struct session *, const struct waits_object *,
		       char room[24]);

/* Negative if object a comes before b, 0 if they are the same. */
int waits_compare(const struct waits_object *a, const struct waits_object *b);

/* Of n times, how many there were at once at most, and since when; sorts the
 * begins and the ends. */
uint64_t waits_most(ticks *begins, ticks *ends, size_t n, ticks *at);
