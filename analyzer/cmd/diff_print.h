/* diff_print.h - what weft diff prints.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_DIFF_PRINT_H
#define WEFT_ANALYZER_CMD_DIFF_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/merge/diff.h"

struct diff {
	struct load side[2];     /* before, after; merged */
	struct delta *delta;
	size_t top;              /* rows of the table; 0: all */
	double min;              /* percent of the time before */
	int csv;
};

void diff_print(const struct diff *);

/* Percent of the time before. */
double diff_print_share(const struct delta *, double added);
/* As it is after, if it is there. */
const struct func *diff_print_func(const struct diff *, func_id before,
				   func_id after);
/* Of something that adds time. */
const char *diff_print_reason(enum delta_reason);

#endif
