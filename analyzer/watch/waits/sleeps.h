/* sleeps.h - how long coroutines were suspended at a time, by the function that
 * suspended them, and which time was the longest. Collects during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* Times from a suspend to the next resume. where: the innermost function of the
 * coroutine then; body: its outermost one; 0: not known. Ticks. While the
 * thread that resumes it has no core, it cannot: a coroutine slept longest that
 * did so without that. */
struct sleep {
	func_id where, body;
	uint64_t count;
	ticks sum, longest;
	ticks no_core;           /* of longest */
	uint64_t coroutine;      /* serial of the one that slept longest */
	uint32_t process;        /* its index */
	ticks at;                /* when that was over */
};

struct sleeps {
	struct sleep *list; size_t count;
	ticks second;            /* the longest one of any coroutine but that
	                          * which slept longest, both without that */
	/* Private. */
	const struct session *session;
	size_t room;
	struct map *of;          /* by where and body: index + 1 */
	uint64_t longest_of;     /* the coroutine that slept longest, its */
	uint32_t longest_in;     /* process, */
	ticks longest;           /* and how long, without that */
	struct no_core *of_thread; /* by its index; so many */
	size_t threads, thread_room;
};

/* Borrows the session of an earlier replay, whose functions have names. */
void sleeps_init(struct sleeps *, const struct session *);
void sleeps_fini(struct sleeps *);

/* For a replay; its context is the struct sleeps. */
extern const struct replay_sink sleeps_sink;
