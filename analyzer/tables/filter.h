/* filter.h - a part of a session's tree: some threads, one coroutine, what
 * happened below a function, and frames that are not to be seen. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_FILTER_H
#define WEFT_ANALYZER_TABLES_FILTER_H

#include "analyzer/model/session.h"

/* Any may be NULL or 0: no such condition. Patterns are those of select_match.h;
 * names must be known. Conditions are met together; under and focus look at the stacks as they were recorded, skip
 * at what they leave. */
struct select {
	const char *thread;  /* its tid, or a pattern for its name */
	int coroutine;       /* what stands on the bodies with CCT_CHOSEN, down
	                      * to what they resumed */
	int range;           /* what is not below CCT_OUTSIDE */
	const char *under;   /* the outermost frames that match, and what is
	                      * below them, at the top of their thread */
	const char *focus;   /* stacks in which a frame matches; those that only
	                      * lead there keep neither calls nor self */
	const char *skip;    /* frames that match: what they did is their
	                      * caller's, their calls are nobody's */
};

/* What the selection is of the whole: of the tree before and after. */
struct selected {
	ticks self, whole_self;    /* threads' time, that in no function too */
	uint64_t calls, whole_calls;
};

/* Put the selected part in the place of the session's tree. Flags beyond
 * CCT_SHAPE end here, but for those that --by vm needs (keep_vm). */
struct selected select_apply(struct session *, const struct select *,
			     int keep_vm);

#endif
