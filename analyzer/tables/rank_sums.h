/* rank_sums.h - what a ranking needs of each node's subtree, and of each
 * group's calls. For rank.c only.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_RANK_SUMS_H
#define WEFT_ANALYZER_TABLES_RANK_SUMS_H

#include "analyzer/tables/rank.h"

/* By node; off and unknown are NULL where nothing was collected. */
struct rank_sums {
	uint64_t *total, *suspended, *off, *unknown;
};

void rank_sums_init(struct rank_sums *, struct cct *);
void rank_sums_fini(struct rank_sums *);

/* Fill in p50, p95 and p99. */
void rank_sums_quantiles(struct rank *, struct cct *, uint32_t thread);

/* What is left on the CPU. A signal handler's time was taken off what it
 * interrupted, but not its time off the CPU: that may be more than is left. */
static inline ticks rank_sums_cpu(ticks whole, ticks off, ticks unknown)
{
	return whole > off + unknown ? whole - off - unknown : 0;
}

#endif
