/* recursion.h - a tree in which recursion is shown once: calls that a function makes
 * of itself stand in the line of the outermost one. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_RECURSION_H
#define WEFT_ANALYZER_TABLES_RECURSION_H

#include "analyzer/model/cct.h"

enum recursion_kind {
	RECURSION_DIRECT, /* a > a > a > b becomes a > b */
	RECURSION_ALL,    /* a > b > a > c becomes a > b and a > c, too: a call of a
	              * function that is open goes back to its node, so that b's
	              * total ends where a is entered again */
	RECURSION_NONE,
};

/* The body of a coroutine is never folded into what resumed it: each coroutine
 * is folded by itself. */
struct recursion {
	struct cct *tree;
	/* By node of the tree: */
	uint64_t *recursive; /* those of its calls that began while the function
	                      * was open already on the path from the root */
	uint32_t *levels;    /* most activations folded into it on one path; 1
	                      * without recursion */
};

/* A new tree; the old one stays. self, calls and suspended of the nodes are
 * sums of those folded. functions: the highest func_id, or more. */
struct recursion *recursion_new(struct cct *, enum recursion_kind,
				size_t functions);
void recursion_free(struct recursion *);

#endif
