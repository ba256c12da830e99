/* hot_path_print.h - what a slow call spent its time in, as text and as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_HOT_PATH_PRINT_H
#define WEFT_ANALYZER_CMD_HOT_PATH_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/watch/hot_path.h"
#include "analyzer/out/out_table.h"

/* Lines for the call of that index, which is c; in what the key says. */
void hot_path_print(const struct load *, struct hot_path *, size_t call,
		  const struct slow_call *c, enum slow_key);
/* Two cells: names and times in ns, outermost first, with ; between. */
void hot_path_print_csv(struct out_csv *, const struct load *,
			struct hot_path *,
		      size_t call, enum slow_key);

#endif
