/* estimate.h - how many calls a budget has left out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORRECT_ESTIMATE_H
#define WEFT_ANALYZER_CORRECT_ESTIMATE_H

#include "analyzer/model/session.h"

/* Estimate the calls that were not recorded, from the windows: in proportion to
 * the calls that were, since windows slow the program down, so that time would
 * mislead. Adds them to the tree's nodes as the windows' calls are there, marks
 * the functions, and fills in the session's demotions. Calls that were counted
 * for a budget have times if there are samples. Call it once. */
void estimate_apply(struct session *);

#endif
