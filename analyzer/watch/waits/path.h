/* path.h - where the time of one request went: the steps of a thread or
 * coroutine from one moment to another, without gaps, and because of whom it
 * did not run. Made of what a chronicle and the waits have collected. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/chronicle.h"
#include "analyzer/watch/waits/waits.h"

enum path_kind {
	PATH_RUNS,
	PATH_READY,              /* it had no core; by: which thread of the
	                          * program ran longest, if any ran for long */
	PATH_WAITS,              /* for an object; by: who let it go on, or
	                          * held the object; none: it was let go on
	                          * before, and had not gone on yet */
	PATH_BLOCKED,            /* it slept in another call, which is the
	                          * innermost of the stack */
	PATH_OTHER,              /* it slept, and no call that waits was open,
	                          * though these are recorded */
	PATH_SUSPENDED,          /* by: who resumed it; none: nobody did */
	PATH_UNKNOWN,            /* no records */
	PATH_KINDS
};

/* A coroutine, or (serial 0) a thread. */
struct path_who {
	bool is_known;
	uint32_t process, thread; /* indices; a coroutine's thread is that on
	                           * which it was then */
	uint64_t coroutine;
};

struct path_step {
	enum path_kind kind;
	/* 0: of the request. Else it says what `by` of the last step of a
	 * lower depth did in that step's time: such steps have no gaps,
	 * either. */
	uint32_t depth;
	ticks begin, end;        /* begin < end */
	struct path_who who, by;
	struct waits_object of;  /* PATH_WAITS */
	/* In the waits' table; 0: not known. runs: that in which most of the
	 * time was spent; suspended: the coroutine's own; by_stack: where `by`
	 * ended it. */
	stack_id stack, by_stack;
	/* Of several steps together: how many they are, and the longest one,
	 * whose stack it is; end - begin is the time of all. */
	uint64_t steps;
	ticks longest;
};

/* The tracks, level 0, of threads and coroutines. The caller frees it with
 * map_free; path_track finds one's index, or TRACK_NONE. */
struct map *path_tracks(const struct chronicle_found *);
uint32_t path_track(const struct map *, const struct path_who *);

struct path;
/* Of a chronicle with lanes for all coroutines, and of sorted waits of the same
 * trace: borrowed until path_free. */
struct path *path_new(const struct session *, const struct chronicle_found *,
		      struct waits *);
void path_free(struct path *);           /* NULL is allowed */

/* The steps, with those of others up to a depth. The caller frees the array
 * with mem_free. */
struct path_step *path_steps(struct path *, const struct path_who *,
			     ticks from, ticks to, uint32_t depth,
			     size_t *count);

/* The function with which a coroutine begins; 0: it is not known. */
func_id path_body(const struct path *, uint32_t process, uint64_t coroutine);

/* Where the innermost function of a stack is a library's: the innermost one
 * that is not; else, and if that is not known, 0. */
func_id path_caller(const struct waits *, stack_id);

/* The request's own steps of one kind in one function (of libc, for one
 * caller), waiting for one object, together: `begin` is 0. They add up to the
 * time of the steps of depth 0; by falling time. The caller frees the array
 * with mem_free. */
struct path_step *path_sums(const struct waits *, const struct path_step *,
			    size_t n, size_t *count);

/* Decisions: of a lock whose holders changed while it was waited for there is a
 * step for each. Whoever ran instead is a guess: the kernel does not say on
 * which core a thread waited. */
