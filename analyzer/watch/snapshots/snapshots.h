/* snapshots.h - what every thread and every coroutine was doing at given
 * moments. Collects during a replay, tells afterwards.
 *
 * analyzer/watch/snapshots: may use what analyzer/watch may (chronicle.h).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

enum snapshot_state {
	SNAPSHOT_RUNNING,   /* a thread, with the coroutines on its stack */
	SNAPSHOT_READY,     /* the same, but it had no core, */
	SNAPSHOT_BLOCKED,   /* or slept */
	SNAPSHOT_LAST,      /* a thread as its last record left it; nothing was
	                     * recorded of it later, while its process went
	                     * on */
	SNAPSHOT_OFF,       /* a thread, while it was not recorded */
	SNAPSHOT_UNKNOWN,   /* a thread, or a coroutine: records are missing */
	SNAPSHOT_SUSPENDED, /* a coroutine that is on no thread */
	SNAPSHOT_MAYBE,     /* the same, unless it ran in missing records */
	SNAPSHOT_NEW,       /* a coroutine that did not run yet */
};

/* An open call, or frames that were left out. */
struct snapshot_frame {
	func_id func;            /* 0: frames left out, or none that is known:
	                          * "[open before start]" */
	uint32_t omitted;        /* how many were left out */
	uint32_t flags;          /* enum stack_flag, and: */
	uint64_t coroutine;      /* whose frame it is; 0: the thread's */
	uint32_t level;          /* of the signal handler it belongs to */
};
/* A native frame with a Lua frame directly on top of it. */
enum { SNAPSHOT_ENTERS_LUA = 256 };

/* The stack of one thread, or of one coroutine that is on no thread. */
struct snapshot_stack {
	size_t moment;           /* index */
	enum snapshot_state state;
	uint32_t process, thread; /* indices; a coroutine has no thread */
	uint64_t coroutine;      /* serial; of a thread's stack: the coroutine
	                          * that runs on top, 0: none */
	bool is_thread;
	ticks since;             /* coroutine: when suspended or created */
	const struct snapshot_frame *frames; /* outermost first */
	size_t count;
};

/* Calls are open at a moment if all records up to it, including those of its
 * own tick, leave them open. The moments are ticks; they are borrowed until
 * snapshots_free, and they must rise. */
struct snapshots;
struct snapshots *snapshots_new(const ticks *at, size_t count);
void snapshots_free(struct snapshots *);

/* For a replay; its context is the struct. */
extern const struct replay_sink snapshots_sink;

/* Call once after replay_finish. Gives all stacks, moment by moment: first the
 * threads, then the coroutines that are on none, each by process and serial. A
 * stack is valid during the call. */
typedef void (*snapshots_fn)(void *ctx, const struct snapshot_stack *);
void snapshots_each(struct snapshots *, const struct func_table *, snapshots_fn,
		  void *ctx);

/* Decisions: the frames of handlers that run at the moment are on top of their
 * thread's stack. A thread exists from its first chunk to its last; if that
 * does not end it, to the last tick known of its process. A coroutine exists
 * until it returns or fails, or until its process' last tick. A suspended
 * coroutine's stack is what its suspend left, including native frames that the
 * yield jumped over; if the suspend is missing, what its resume gave. */

/* ---- equal stacks as one ------------------------------------------------ */

/* Gets the first of the equal stacks, and how many there are. The stack is
 * valid during the call. */
typedef void (*snapshot_groups_fn)(void *ctx, const struct snapshot_stack *,
				   uint64_t count);

/* Stacks are equal if they have the same state, functions and marks, whatever
 * their thread and coroutines are. fn is called at the end of each moment, for
 * the most frequent stacks first, equally frequent ones as they came. */
struct snapshot_groups;
struct snapshot_groups *snapshot_groups_new(snapshot_groups_fn, void *ctx);
/* Count a stack. The frames are copied. Stacks of one moment must come
 * together, as snapshots_each gives them. */
void snapshot_groups_add(struct snapshot_groups *,
			 const struct snapshot_stack *);
/* Call fn for the last moment, and free. */
void snapshot_groups_finish(struct snapshot_groups *);
