/* tree_walk.h - a tree as lines, in the order in which they are shown: what
 * top_down.h and bottom_up.h have in common. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_TREE_WALK_H
#define WEFT_ANALYZER_TABLES_TREE_WALK_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

enum tree_kind {
	TREE_ROOT,    /* a thread, or all of them: func is 0 */
	TREE_FUNC,
	TREE_OUTSIDE, /* bottom up: outside all functions, where a stack begins;
	               * func is 0 */
};

struct tree_row {
	size_t number, parent; /* rows count from 1; parent 0: none */
	size_t depth;          /* 0 for the roots */
	size_t siblings;       /* how many rows stand below its parent */
	enum tree_kind kind;
	func_id func;
	uint32_t thread;       /* TREE_ROOT: as cct_node has it */
	int crosses;           /* top down: the body of a coroutine; bottom up:
	                        * it resumed the coroutine whose body stands in
	                        * the parent row */
	uint64_t calls, recursive; /* see fold.h */
	uint32_t levels;
	ticks self, total, suspended;
	size_t from, to;       /* the view's own */
};

enum tree_key { TREE_TOTAL, TREE_SELF, TREE_WALL, TREE_SUSPENDED, TREE_CALLS };
uint64_t tree_walk_value(const struct tree_row *, enum tree_key);

/* What is walked. add() appends the rows below a row (NULL: the roots), in any
 * order, with tree_walk_add. */
struct tree_rows;
struct tree_view {
	void *of;
	void (*add)(void *of, const struct tree_row *, struct tree_rows *);
};
/* A zeroed row to fill in; valid until the next one. */
struct tree_row *tree_walk_add(struct tree_rows *);

/* Call fn for each row, parents first, siblings by descending key. The rows
 * below one whose fn gives 0 are left out. */
typedef int (*tree_fn)(void *ctx, const struct tree_row *);
void tree_walk_each(const struct tree_view *, enum tree_key, tree_fn,
		    void *ctx);

#endif
