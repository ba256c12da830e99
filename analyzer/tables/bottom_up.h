/* bottom_up.h - a tree as lines, inverted: below each root its functions, below
 * each function its callers, and theirs, up to where the stack begins. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_BOTTOM_UP_H
#define WEFT_ANALYZER_TABLES_BOTTOM_UP_H

#include "analyzer/tables/recursion.h"
#include "analyzer/tables/tree_walk.h"

/* Figures of the row (f, its caller c, its caller d ...) are those of f on the
 * stacks that end with ... d, c, f; they are the sums of the rows below it:
 *   calls, recursive, self   of all its nodes there
 *   total       of those that are f's outermost activation on their path
 *   suspended   of those that are outermost within their coroutine
 * levels is that of the function the row names. The functions' rows are as
 * weft report has them. The self times of the rows
 * below a root add up to all the time there was; total and suspended of
 * functions overlap, and so the root's row has the time as its total. */
struct bottom_up;
struct bottom_up *bottom_up_new(const struct recursion *, size_t functions);
void bottom_up_free(struct bottom_up *);  /* borrows the fold until then */
struct tree_view bottom_up_view(struct bottom_up *);

#endif
