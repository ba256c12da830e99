/* delta_pair.h - which function of one build is which of another.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORE_DELTA_PAIR_H
#define WEFT_ANALYZER_CORE_DELTA_PAIR_H

#include "analyzer/core/session.h"

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
