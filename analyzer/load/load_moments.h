/* load_moments.h - the single moments that go into a database beside the tree:
 * the slowest calls, and who resumed whom.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LOAD_MOMENTS_H
#define WEFT_ANALYZER_LOAD_LOAD_MOMENTS_H

#include "analyzer/load/load.h"
#include "analyzer/watch/resumes.h"
#include "analyzer/watch/slow/slow.h"

/* NULL where they are not known. */
struct load_moments {
	struct slow *slow;       /* the 1,000 calls of all functions that have
	                          * most self time */
	struct resumes *resumes;
	uint8_t *wanted;         /* private */
};

/* Read the trace once more. Of profiles, merged traces and parts of a trace
 * there are none. 0, or -1 with the cause in the chain; load_moments_fini in
 * any case. */
int load_moments_init(struct load_moments *, struct load *);
void load_moments_fini(struct load_moments *);

#endif
