/* diff_find.h - figures over sessions, by function and by caller.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_DIFF_FIND_H
#define WEFT_ANALYZER_MERGE_DIFF_FIND_H

#include "analyzer/model/session.h"

/* Borrow; all 0 where there are none. */
const struct func_statistics *diff_find_func(const struct session *, func_id);
const struct statistics *diff_find_rate(const struct session *, func_id caller,
				     func_id func);

#endif
