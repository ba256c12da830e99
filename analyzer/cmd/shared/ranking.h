/* ranking.h - what hot functions are ranked by: time on the CPU where the
 * trace's context switches tell it from waiting, else elapsed time.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/args/opt.h"
#include "analyzer/model/session.h"
#include "analyzer/tables/metric.h"

/* --waiting, for OPT_MORE. */
extern const struct opt ranking_opts[];
bool ranking_wants_waiting(void);

struct ranking {
	enum metric_ranking by;
	const struct metric *sort; /* what rows are sorted by */
	const struct metric *first;/* what they are ranked by: the first column
	                            * of the usual table */
	bool has_switches;
	ticks time, unknown;       /* of all time, without switches */
};

/* Choose the ranking, of a table that has views[METRIC_RANKINGS]. sort is what
 * --sort said, or NULL. 0, or -1 with the cause in the chain: it contradicts
 * --waiting. */
int ranking_choose(struct ranking *, const struct session *,
		   const struct metric_view *, const struct metric *sort);
/* -1 with the cause in the chain if the rows are sorted by what the trace does
 * not hold; else 0. */
int ranking_check(const struct ranking *);
/* One line among the table's notes on what is known of running and waiting,
 * unless all of it is. */
void ranking_note(const struct ranking *, const struct session *);
