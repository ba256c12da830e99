/* top_down.h - a tree as lines, callees below their callers. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_TOP_DOWN_H
#define WEFT_ANALYZER_TABLES_TOP_DOWN_H

#include "analyzer/tables/recursion.h"
#include "analyzer/tables/tree_walk.h"

/* total of a row = its self + total of the rows below it; suspended is that of
 * the call in this place, as cct_totals has it. */
struct top_down;
struct top_down *top_down_new(const struct recursion *); /* borrows it */
void top_down_free(struct top_down *);
struct tree_view top_down_view(struct top_down *);

#endif
