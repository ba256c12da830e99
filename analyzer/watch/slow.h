/* slow.h - the slowest single calls of some functions, each with its stitched
 * stack, and how long all of them took. Collects while a trace is replayed.
 * Pure: ticks in, ticks out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_SLOW_H
#define WEFT_ANALYZER_WATCH_SLOW_H

#include "analyzer/model/hist.h"
#include "analyzer/replay/replay.h"

enum slow_end {
	SLOW_RETURNED,
	SLOW_UNWOUND,       /* by a jump, an exception, an error, a tail call */
	SLOW_DIED,          /* with its coroutine */
	SLOW_CUT,           /* open where records are missing or recording was
	                     * turned off */
	SLOW_OPEN,          /* open at the end */
};

struct slow_call {
	func_id func;
	uint32_t process, thread; /* indices; the thread it began on */
	uint32_t level;
	uint64_t coroutine;
	uint32_t depth;     /* frames below it that are of the same coroutine,
	                     * or the thread's own */
	ticks begin, total, self, suspended;
	enum slow_end end;
	int is_partial;     /* a part of it was not recorded: total is right,
	                     * self and suspended are at least these */
	stack_id stack;     /* at its entry, its own frame innermost; func 0:
	                     * "[open before start]" */
};

enum slow_key { SLOW_TOTAL, SLOW_SELF, SLOW_WALL, SLOW_SUSPENDED };

struct slow_options {
	const uint8_t *wanted;   /* by func_id; borrowed */
	size_t funcs;            /* ids from here on are not wanted */
	enum slow_key key;
	size_t top;              /* how many to keep; 0: all */
	ticks longer;            /* key at least this, for the list */
	ticks from, to;          /* begun in between; to 0: no bound */
	const uint8_t *threads;  /* by index: begun on one that is set; NULL:
	                          * on any; borrowed */
	size_t thread_count;
};

struct slow;
struct slow *slow_new(const struct slow_options *);
void slow_free(struct slow *);

/* For a replay; its context is the struct. After replay_finish: slow_finish,
 * once. */
extern const struct replay_sink slow_sink;
void slow_finish(struct slow *);

/* What was found; borrowed. calls: by falling key, equal ones by begin. */
struct slow_found {
	const struct slow_call *calls;
	size_t count;
	const struct stack_table *stacks;
	uint64_t ended;          /* calls that came to their own end: those of
	                          * steps */
	uint64_t steps[HIST_STEPS]; /* of their totals */
	ticks sum, least, most;  /* of their totals */
	uint64_t open;           /* calls cut, or open at the end */
	uint64_t unknown;        /* calls whose entry nobody saw: in no list */
};
const struct slow_found *slow_found(const struct slow *);

/* Decisions: a call's time in a signal handler that interrupted a hook is its
 * own self time here. A call on a stack whose base is not known stands on
 * "[open before start]". */

#endif
