/* threads.h - each thread: who made it, when it lived, what it waited for, and
 * what became of it. Made of the waits that a replay has collected, and of what
 * its session knows of threads. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/waits/waits.h"

enum threads_fate {
	THREADS_LIVE,            /* it had not ended with the recording */
	THREADS_ENDED,           /* it has ended, and was never joined */
	THREADS_JOINED, THREADS_DETACHED,
	THREADS_UNKNOWN,         /* it ended; nobody was seen to make it */
};

struct threads_row {
	uint64_t threads, live;  /* 1; and if it had not ended: rows can be
	                          * added up */
	uint64_t owed;           /* 1: a join: it was made joinable, and is
	                          * neither joined nor detached */
	uint32_t process, thread; /* indices; thread may be THREADS_NONE: of a
	                          * thread that has recorded nothing */
	stack_id made_by;        /* stack that made it, in the waits' table; or
	                          * 0 */
	ticks from, to, life;    /* as far as is known */
	enum threads_fate fate;
	ticks cpu, blocked;      /* the latter in all */
	struct waits_times times;
	const struct waits_span *open; /* for this it waited at the end */
};
enum { THREADS_NONE = UINT32_MAX };

/* By process, then by `from`. The caller frees the array with mem_free. */
struct threads_row *threads_list(const struct session *, const struct waits *,
				 size_t *count);

/* The most that lived at a time, and since when. */
uint64_t threads_most(const struct threads_row *, size_t count, ticks *at);
