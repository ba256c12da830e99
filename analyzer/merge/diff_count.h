/* diff_count.h - what delta compares: by pair of functions, and by who calls
 * whom.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_DIFF_COUNT_H
#define WEFT_ANALYZER_MERGE_DIFF_COUNT_H

#include "analyzer/merge/diff_match.h"

/* A function on one side, over all its sessions. */
struct diff_func {
	uint64_t calls, outer;   /* outer: while it was not open already */
	uint64_t self, off, sleep;
	uint64_t total;          /* of the outer ones */
};

/* Pairs of functions, the one calling the other; caller 0: a thread. */
struct diff_edge {
	uint32_t caller, func;
	int is_again;            /* func is open already: it calls itself, in
	                          * the end */
	uint64_t calls[2];
};

struct diff_count {
	struct diff_func *func[2];  /* by pair */
	struct diff_edge *edges;
	size_t edge_count, edge_room;
	struct map *edge_of;
};

void diff_count_init(struct diff_count *, const struct diff_matches *,
		      struct session *const side[2]);
void diff_count_fini(struct diff_count *);

#endif
