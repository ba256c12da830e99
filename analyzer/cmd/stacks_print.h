/* stacks_print.h - stacks at moments, as text and as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_STACKS_PRINT_H
#define WEFT_ANALYZER_CMD_STACKS_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/watch/snapshots.h"

struct stacks_options {
	const uint64_t *ns;      /* the moments, since the start */
	size_t count;
	size_t top;              /* stacks a moment; 0: all */
	int fold, csv;
	const uint8_t *threads;  /* by index: those to show; NULL: all, and
	                          * coroutines that are on none */
	size_t thread_count;
};

void stacks_print(struct load *, struct snapshots *,
		  const struct stacks_options *);

#endif
