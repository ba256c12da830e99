/* heaps.h - how much memory functions took, and had at the end, on two sides of
 * sessions. SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* One side of a function, in one session on average. */
struct heaps_side {
	func_id func;            /* 0: that side has no such function */
	struct heap_sum taken, in_use;
};

/* before, after. Differences are in bytes, errors are standard errors of them,
 * 0 where each block was recorded. */
struct heaps_row {
	struct heaps_side side[2];
	double taken, taken_error;
	double in_use, in_use_error;
	bool is_chance;          /* both are less than twice their errors */
};

struct heaps {
	struct heaps_row *rows;  /* that differ */
	size_t count;
	struct heaps_row all;    /* of all functions */
};

/* Compare the memory that functions took themselves in two merged sessions
 * whose trees have it (cct_has_heap), and which must live as long. The largest
 * changes of what was in use at the end come first, then those of what was
 * taken. Never fails; freed with heaps_free. */
struct heaps *heaps_new(struct session *before, struct session *after);
void heaps_free(struct heaps *);
