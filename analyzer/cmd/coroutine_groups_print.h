/* coroutine_groups_print.h - coroutines grouped by their body, as text and as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_COROUTINE_GROUPS_PRINT_H
#define WEFT_ANALYZER_CMD_COROUTINE_GROUPS_PRINT_H

#include "analyzer/load/load.h"

/* top: bodies to show; 0: all. */
void bodies_print(const struct load *, size_t top);
void bodies_print_csv(const struct load *);

#endif
