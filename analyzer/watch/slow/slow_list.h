/* slow_list.h - the slowest calls so far, and what all calls took.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/hist.h"
#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"
#include "analyzer/replay/replay.h"

/* How a call ended. SLOW_CUT and SLOW_OPEN are no ends of its own: such calls
 * may be kept, but they are in no sum. */
enum slow_end {
	SLOW_RETURNED,
	SLOW_UNWOUND,       /* by a jump, an exception, an error, a tail call */
	SLOW_DIED,          /* with its coroutine */
	SLOW_CUT,           /* open where records are missing or recording was
	                     * turned off */
	SLOW_OPEN,          /* open at the end */
};
/* "returned" and so on, in the words of the CSV. */
const char *slow_list_end(enum slow_end);

/* Parts of the time that a call took, where they are known. */
struct slow_parts {
	ticks off, ready;   /* off the CPU, and of that, without a core */
	ticks unknown;      /* its thread's switches are not known */
	ticks collecting;   /* its VM was noted to collect garbage */
};
static inline void slow_parts_add(struct slow_parts *to,
				  const struct slow_parts *more)
{
	to->off += more->off;
	to->ready += more->ready;
	to->unknown += more->unknown;
	to->collecting += more->collecting;
}

/* A single call. Its end is at begin + total + suspended; all of these are
 * ticks. */
struct slow_call {
	func_id func;
	uint32_t process, thread; /* indices; the thread it began on */
	uint32_t level;
	uint64_t coroutine;
	uint32_t depth;     /* frames below it that are of the same coroutine,
	                     * or the thread's own */
	ticks begin, total, self, suspended;
	struct slow_parts parts; /* of total */
	enum slow_end end;
	bool is_partial;    /* a part of it was not recorded: total is right,
	                     * self and suspended are at least these */
	stack_id stack;     /* at its entry, its own frame innermost; func 0:
	                     * "[open before start]" */
};

/* Is most of what the call did on and off the CPU known? The same part decides
 * whether a report has such columns (cct_knows_switches). */
static inline bool slow_knows_switches(const struct slow_call *c)
{
	return c->parts.unknown <= c->total / 10;
}

/* The time by which calls are sorted and limited. SLOW_WALL is total +
 * suspended; the ones from SLOW_CPU on are parts of total that take context
 * switches; SLOW_UNDELAYED is all but run-wait. */
enum slow_key {
	SLOW_TOTAL, SLOW_SELF, SLOW_WALL, SLOW_SUSPENDED,
	SLOW_CPU, SLOW_RUN_WAIT, SLOW_BLOCKED, SLOW_UNDELAYED
};
/* In an array by enum slow_key; the last one is not for people. */
#define SLOW_KEY_NAMES                                                         \
	[SLOW_TOTAL] = "total", [SLOW_SELF] = "self", [SLOW_WALL] = "wall",    \
	[SLOW_SUSPENDED] = "suspended", [SLOW_CPU] = "cpu",                    \
	[SLOW_RUN_WAIT] = "run-wait", [SLOW_BLOCKED] = "blocked"

/* Which calls are looked at. All that are wanted, in the time and on the
 * threads are counted; key, top and longer only say which of them are kept. */
struct slow_options {
	const uint8_t *wanted;   /* by func_id; borrowed */
	size_t funcs;            /* ids from here on are not wanted */
	const uint8_t *counted;  /* wanted ones that are only counted, not
	                          * kept; NULL: none; borrowed */
	enum slow_key key;
	size_t top;              /* how many to keep; 0: all */
	bool no_handlers;        /* keep none in handlers that interrupted a
	                          * hook */
	ticks longer;            /* keep calls whose key is at least this */
	ticks from, to;          /* begun in between; to 0: no bound */
	const uint8_t *threads;  /* by index: begun on one that is set; NULL:
	                          * on any; borrowed */
	size_t thread_count;
	/* Also count them over time: in so many equal parts of [first, last),
	 * by where they begin; 0: not. */
	size_t columns;
	ticks first, last;
};

/* What was found. All of it belongs to the struct slow. Without a call that
 * ended, least and most are 0. */
struct slow_found {
	const struct slow_call *calls; /* by falling key, then by begin */
	size_t count;
	const struct stack_table *stacks;
	uint64_t ended;          /* calls that came to their own end; they are
	                          * in steps, sum, least and most */
	uint64_t steps[HIST_STEPS]; /* of their totals */
	ticks sum, least, most;  /* of their totals */
	uint64_t *over_time;     /* column by column, HIST_OCTAVES each: of
	                          * those, how many had such totals; calls
	                          * outside are in the nearest column. NULL
	                          * without columns */
	uint64_t open;           /* calls cut, or open at the end */
	uint64_t unknown;        /* calls whose entry nobody saw: in no list */
};

/* Private to slow.c and slow_*.c. Without a limit, best is in no order until
 * slow_list_sort. */
struct slow_list {
	struct slow_options options;
	struct slow_found found;
	struct slow_call *best; size_t best_count, best_room; /* a heap with
	                          * the least on top, if there is a limit */
	ticks least;             /* no call with a lower key is kept */
	struct slow_column { size_t index; ticks from, to; } column; /* of the
	                          * last call, which most follow closely */
};

/* Functions that became known after the options were made are not wanted. */
static inline bool slow_list_wants(const struct slow_list *s, func_id func)
{
	const struct slow_options *const o = &s->options;

	return func < o->funcs && o->wanted[func];
}

/* Would the call be kept? Looks at all fields but the stack, so that a stack is
 * made for few calls only. The caller has checked that the function is
 * wanted. */
bool slow_list_takes(const struct slow_list *, const struct slow_call *);
/* Count a call, kept or not. To be called once for each call whose entry is
 * known. */
void slow_list_count(struct slow_list *, const struct slow_call *);
/* The same for calls that were not suspended and are quicker than `least`. */
void slow_list_count_brief(struct slow_list *, uint32_t thread,
			   const struct replay_call *, size_t n);
/* Keep a call that slow_list_takes accepts; needs its stack. */
void slow_list_put(struct slow_list *, const struct slow_call *);
/* All calls were put: set found.calls. */
void slow_list_sort(struct slow_list *);
