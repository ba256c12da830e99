/* diff.h - what "weft diff" has for more than its times.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/sides.h"

/* Rows that are shown unless --top says otherwise. */
enum { DIFF_TOP = 20 };

struct diff_args {
	double min, limit;       /* --min-share and --fail-over, -1: not
	                          * given */
	bool all;                /* --all */
};

/* Print what differs, and judge it if --fail-over asks for that. Both sides are
 * open. Return CMD_WORSE if it is more than allowed, with the cause in the
 * chain. */
enum cmd_exit diff_counts(const struct sides *, const struct diff_args *);
enum cmd_exit diff_heap(const struct sides *, const struct diff_args *);
