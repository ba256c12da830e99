/* callers_print.h - a function between its callers and callees, as a table or
 * as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_CALLERS_PRINT_H
#define WEFT_ANALYZER_CMD_CALLERS_PRINT_H

#include "analyzer/tables/callers.h"

struct callers_print {
	struct session *session;
	const struct callers *callers;
	enum callers_key key;
	size_t lines;            /* callers, and callees, in a table; 0: all */
	uint64_t calls;          /* of all functions, and all the time there */
	ticks time;              /* was: what the function's shares are of */
};

void callers_print_table(const struct callers_print *, func_id);
void callers_print_csv(const struct callers_print *, const func_id *,
		       size_t count);

#endif
