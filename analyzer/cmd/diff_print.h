/* diff_print.h - what weft diff prints.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_DIFF_PRINT_H
#define WEFT_ANALYZER_CMD_DIFF_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/merge/diff.h"

struct diff_report {
	struct load side[2];     /* before, after; merged */
	struct diff *diff;
	size_t top;              /* rows of the table; 0: all */
	double min;              /* percent of the time before */
	int csv;
};

void diff_print(const struct diff_report *);

/* Percent of the time before. */
double diff_print_share(const struct diff *, double added);
/* As it is after, if it is there. */
const struct func *diff_print_func(const struct diff_report *, func_id before,
				   func_id after);
/* Of something that adds time. */
const char *diff_print_reason(enum diff_reason);

#endif
