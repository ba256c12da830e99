/* tree.h - a calling-context tree as rows: recursion shown once, callees below
 * their callers (top down), in the order in which rows are printed. bottom_up.h
 * has the other direction. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

/* ---- recursion ---------------------------------------------------------- */

enum recursion_kind {
	RECURSION_DIRECT, /* a > a > a > b becomes a > b */
	RECURSION_ALL,    /* a > b > a > c becomes a > b and a > c, too: a call
	                   * of an open function goes back to its node, so that
	                   * b's total ends where a is entered again */
	RECURSION_NONE,   /* each stack as it was */
};

/* The body of a coroutine never goes to a node of what resumed it. */
struct recursion {
	struct cct *tree;
	/* By node of the tree: */
	uint64_t *recursive; /* those of its calls that began while the function
	                      * was open already on the path from the root */
	uint32_t *levels;    /* most calls on one path that went to it; 1
	                      * without recursion */
};

/* A new tree; the old one stays, and is not needed any more. Its nodes have the
 * sums of the calls, self and suspended times of those that went to them.
 * functions: the highest func_id in the tree, or more. The caller frees it with
 * recursion_free. */
struct recursion *recursion_new(struct cct *, enum recursion_kind,
				size_t functions);
void recursion_free(struct recursion *);

/* ---- rows --------------------------------------------------------------- */

enum tree_kind {
	TREE_ROOT,    /* a thread, or all threads: func is 0 */
	TREE_FUNC,
	TREE_OUTSIDE, /* bottom up: where a stack begins, outside all functions:
	               * func is 0 */
};

struct tree_row {
	struct figures f;
	size_t number, parent; /* rows count from 1; parent 0: none */
	size_t depth;          /* 0 for the roots */
	size_t siblings;       /* how many rows its parent has below it */
	enum tree_kind kind;
	uint32_t thread;       /* TREE_ROOT: as in struct cct_node */
	uint32_t levels;       /* as in struct recursion */
	bool crosses;          /* top down: the body of a coroutine; bottom up:
	                        * it resumed the coroutine whose body is the
	                        * parent row's function */
	size_t from, to;       /* private to what made the row */
};

/* Makes rows when they are needed: add() adds the rows below a row (NULL: the
 * roots), in any order, by tree_add. */
struct tree_rows;
struct tree_source {
	void *of;
	void (*add)(void *of, const struct tree_row *, struct tree_rows *);
};
/* A zeroed row to fill in; valid until the next one is added. */
struct tree_row *tree_add(struct tree_rows *);

/* Call fn for each row, parents before their children, siblings in the order of
 * the metric. If fn returns false, the rows below are left out. */
typedef bool (*tree_fn)(void *ctx, const struct tree_row *);
void tree_each(const struct tree_source *, const struct metric *, tree_fn,
	       void *ctx);

/* Callees below their callers. A row's total is its self and the totals of the
 * rows below it; suspended is that of this call, as cct_totals says. */
struct top_down;
struct top_down *top_down_new(const struct recursion *); /* borrows it */
void top_down_free(struct top_down *);
struct tree_source top_down_source(struct top_down *);

/* ---- columns ------------------------------------------------------------ */

/* source.table of the columns. */
struct tree_style {
	bool is_bottom_up;          /* shares are of self */
	struct figures whole;       /* of all nodes, what shares are parts of:
	                             * calls, self, cpu, off, ready, heap */
	size_t step;                /* columns that a level is indented by */
	size_t levels_shown;        /* deeper rows show their depth as a number
	                             * instead */
};

/* The same metrics; bottom up, a row's own time comes first. */
extern const struct metric_view tree_views[METRIC_RANKINGS],
	tree_bottom_up_views[METRIC_RANKINGS];
