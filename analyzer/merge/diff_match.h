/* diff_match.h - which function of one build is which of another.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_DIFF_MATCH_H
#define WEFT_ANALYZER_MERGE_DIFF_MATCH_H

#include "analyzer/model/session.h"

/* A function that occurs on one side or both; index 0 is a thread's root. */
struct diff_match { func_id id[2]; };

struct diff_matches {
	struct diff_match *pairs;
	size_t count;
	uint32_t *of[2];         /* by side and function: its pair */
};

void diff_match_init(struct diff_matches *, struct session *const side[2]);
void diff_match_fini(struct diff_matches *);

#endif
