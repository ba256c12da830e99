/* snapshots.h - what every thread and every coroutine was doing at given moments.
 * Collects while a trace is replayed, tells afterwards. Pure: ticks in, stacks
 * out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_SNAPSHOTS_H
#define WEFT_ANALYZER_WATCH_SNAPSHOTS_H

#include "analyzer/replay/replay.h"

enum snapshot_state {
	SNAPSHOT_RUNNING,   /* a thread, with the coroutines on its stack */
	SNAPSHOT_LAST,      /* the same as its last record left it: nothing is
	                   * recorded of the thread from then on, while its
	                   * process goes on */
	SNAPSHOT_OFF,       /* a thread, while it was not recorded */
	SNAPSHOT_UNKNOWN,   /* a thread, or a coroutine: records are missing */
	SNAPSHOT_SUSPENDED, /* a coroutine that is on no thread */
	SNAPSHOT_MAYBE,     /* the same, unless it ran in missing records */
	SNAPSHOT_NEW,       /* a coroutine that did not run yet */
};

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

struct snapshot_stack {
	size_t moment;           /* index */
	enum snapshot_state state;
	uint32_t process, thread; /* indices; a coroutine has no thread */
	uint64_t coroutine;      /* serial; 0: a thread. A thread's stack: the
	                          * coroutine that runs on top */
	int is_thread;
	ticks since;             /* coroutine: suspended or made then */
	const struct snapshot_frame *frames; /* outermost first */
	size_t count;
};

/* What is open at a moment is what all records up to it, its own tick
 * included, leave open. The moments are the caller's, rising, each once. */
struct snapshots;
struct snapshots *snapshots_new(const ticks *at, size_t count);
void snapshots_free(struct snapshots *);

/* For a replay; its context is the struct. */
extern const struct replay_sink snapshots_sink;

/* After replay_finish, once: tell all stacks, moment by moment; in it first the
 * threads, then the coroutines that are on none, each by process and serial. */
typedef void (*snapshots_fn)(void *ctx, const struct snapshot_stack *);
void snapshots_each(struct snapshots *, const struct func_table *, snapshots_fn,
		  void *ctx);

/* Decisions: a thread's one stitched stack has the frames of handlers that run
 * at the moment on top of it. A thread is there from its first chunk to its
 * last; where that does not end it, to the last tick known of its process.
 * Coroutines are there until they return, fail, or their process' last tick.
 * A suspended coroutine's stack is what its suspend left, native frames that
 * the yield jumped over included; where the suspend itself is missing, what
 * its resume gave. */

#endif
