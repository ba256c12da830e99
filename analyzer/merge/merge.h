/* merge.h - several sessions as one: functions matched by build-id and
 * offset, or Lua source and lines; threads by program and name. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_MERGE_H
#define WEFT_ANALYZER_MERGE_MERGE_H

#include "analyzer/model/session.h"

/* The order in which sessions are added does not matter, nor which of them were
 * combined before: the result is the same to the last byte. For that a
 * session's times become whole nanoseconds first, once (tick_hz is 10^9 then),
 * figures over sessions are integers, and all lists are in an order that
 * follows from their contents. Of a function's names, of a module's paths and
 * of what is wrong, the first in the alphabet stands for all; notes stay that
 * are the same everywhere, counts of losses add up. Gaps are counted, not
 * listed. */
struct merge;
struct merge *merge_new(void);

/* Add a session, which stays the caller's: one trace's, or a combined one. */
void merge_add(struct merge *, struct session *);

/* The sum, now the caller's; frees the rest. A single session comes out
 * combined, too. */
struct session *merge_end(struct merge *);

#endif
