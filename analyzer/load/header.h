/* header.h - the lines at the top of every report.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_HEADER_H
#define WEFT_ANALYZER_LOAD_HEADER_H

#include "analyzer/load/load.h"

#include <stdio.h>

/* Program, date, duration, how many threads and such, what was lost, which part
 * is shown: a few lines and an empty one. */
void header_print(FILE *, const struct load *);
/* The same without the empty line. */
void header_begin(FILE *, const struct load *);

/* For --csv: what was lost and which part is shown, as lines "# ..." on
 * stderr. */
void header_print_losses(const struct load *);

/* CMD_UNREADABLE, with the cause in the chain, if there is no call at all. */
enum cmd_exit header_need_calls(const struct load *);

#endif
