/* rank.h - the flat table: one row a function, from a session's tree. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORE_RANK_H
#define WEFT_ANALYZER_CORE_RANK_H

#include "analyzer/core/session.h"

#include <stddef.h>
#include <stdint.h>

/* total counts a function's outermost activation on each path only; suspended
 * the outermost one within each coroutine. wall = total + suspended. */
struct rank_row {
	func_id func;
	uint64_t calls;
	ticks self, total, suspended;
	ticks min, max;          /* of one finished call; 0 if there is none */
};

enum rank_key { RANK_SELF, RANK_TOTAL, RANK_WALL, RANK_SUSPENDED, RANK_CALLS,
		RANK_AVERAGE, RANK_MIN, RANK_MAX };

struct rank {
	struct rank_row *rows;   /* functions with a node in the tree, each once */
	size_t count;
	ticks self;              /* sum of all rows: what shares are parts of */
	ticks root_self;         /* time in no function; not in self */
	uint64_t calls;
};

/* All rows, by descending key; equal ones by rising func. thread: index of the
 * one thread to count, or RANK_ALL_THREADS. */
#define RANK_ALL_THREADS UINT32_MAX
struct rank *rank_new(struct session *, enum rank_key, uint32_t thread);
void rank_free(struct rank *);

/* Put the first n rows in order again by another key. */
void rank_sort(struct rank *, enum rank_key);

/* Average ticks of a call, entry to exit: total / calls; 0 without calls. */
ticks rank_average(const struct rank_row *);

#endif
