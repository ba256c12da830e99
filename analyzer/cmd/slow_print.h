/* slow_print.h - single calls and a histogram, as text and as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_SLOW_PRINT_H
#define WEFT_ANALYZER_CMD_SLOW_PRINT_H

#include "analyzer/load/load.h"
#include "analyzer/watch/hot_path.h"

struct slow_print {
	const char *pattern;
	size_t frames;           /* of a stack to show; 0: all */
	size_t functions;        /* how many match */
	enum slow_key key;
	struct hot_path *hot_path;   /* of the calls found, or NULL */
	int csv;
};

void slow_print(const struct load *, const struct slow_found *,
		const struct slow_print *);

#endif
