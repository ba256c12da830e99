/* diff_match.h - which function of one build is which of another.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_DIFF_MATCH_H
#define WEFT_ANALYZER_MERGE_DIFF_MATCH_H

#include "analyzer/model/session.h"

/* A function that occurs on one side or both; index 0 is a thread's root. */
struct delta_pair { func_id id[2]; };

struct delta_pairs {
	struct delta_pair *pairs;
	size_t count;
	uint32_t *of[2];         /* by side and function: its pair */
};

void delta_pair_init(struct delta_pairs *, struct session *const side[2]);
void delta_pair_fini(struct delta_pairs *);

#endif
