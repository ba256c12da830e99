/* coroutine_history_print.h - the life of one coroutine, as text and as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_COROUTINE_HISTORY_PRINT_H
#define WEFT_ANALYZER_CMD_COROUTINE_HISTORY_PRINT_H

#include "analyzer/load/load.h"

struct coroutine_history_print { size_t top; int csv; };

/* id: "SERIAL", or "PID:SERIAL". Reads the trace once more. The exit status,
 * with the cause in the chain. */
enum cmd_exit coroutine_history_print(struct load *, const char *id,
			  const struct coroutine_history_print *);

#endif
