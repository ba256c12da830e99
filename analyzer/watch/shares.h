/* shares.h - where time went, over time: the self time of some functions in
 * each of many equal parts of a range. Collects during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* The caller sets everything but the cells, and owns what the pointers refer
 * to. Times are as recorded; a signal handler's is that of the call that it
 * interrupted. */
struct shares {
	const struct session *session; /* of an earlier replay of the trace */
	ticks from, to;          /* the range; from < to */
	size_t columns;          /* at least 1, and at most to - from */
	const uint32_t *row_of;  /* by func_id: the function's row + 1; 0: it
	                          * has none */
	size_t funcs;            /* ids from here on have none */
	size_t rows;             /* rows + SHARES_REST: functions without one,
	                          * rows + SHARES_NONE: in no function */
	const uint8_t *threads;  /* by index: those that count; NULL: all */
	uint64_t coroutine;      /* serial: only while it is on the stack; 0:
	                          * always */
	uint32_t pid;            /* of its process; 0: any */
	ticks *cells;            /* row by row, (rows + 2) * columns of them */
	ticks *off;              /* of each: off the CPU, where that is known */
};
enum { SHARES_REST, SHARES_NONE };

/* Makes cells and off, which the caller frees with mem_free. */
void shares_begin(struct shares *);
/* For a replay; its context is the struct. */
extern const struct replay_sink shares_sink;

/* When a column begins; column `columns` begins at the range's end. */
ticks shares_column(const struct shares *, size_t column);
