/* bottom_up.h - a calling-context tree as rows, inverted: below each root its
 * functions, below each function its callers, below each caller its own
 * callers, up to where the stack begins. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/tree.h"

/* The figures of the row (f, its caller c, its caller d ...) are those of f on
 * the stacks that end with ... d, c, f. They are the sums of the rows below:
 *   calls, recursive, self   of all its nodes there
 *   total       of the nodes that are f's outermost call on their path
 *   suspended   of the nodes that are its outermost one in their coroutine
 * levels is that of the function that the row names. The functions' own rows
 * have the figures of the flat table. The self times of the rows below a root
 * add up to all the time there was. Totals and suspended times of functions
 * overlap: so the root's row has that time as its total. */
struct bottom_up;
/* Borrows the recursion. functions: the highest func_id, or more. */
struct bottom_up *bottom_up_new(const struct recursion *, size_t functions);
void bottom_up_free(struct bottom_up *);
struct tree_source bottom_up_source(struct bottom_up *);
