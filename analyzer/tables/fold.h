/* fold.h - a calling-context tree of a bounded size: its smallest stacks are
 * one node for each caller. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* A tree in which all sums are those of the session's. */
struct fold {
	struct cct *tree;
	uint32_t *stacks;        /* by node: how many distinct stacks it stands
	                          * for; 1 unless it is "(other)" */
	size_t folded;           /* stacks that are in an "(other)" */
	bool *has_thread;        /* by index in the session, and for the index
	                          * after these, other_threads: has a root */
	uint32_t other_threads;  /* of the roots that are not kept */
};

/* Keep the stacks in which, or below which, most time was spent or slept (where
 * no times were taken: most calls were made), `most` at most. All others become
 * nodes of the function "(other)" with CCT_OMITTED, which is added to the
 * session's: one below each stack that is kept, and one below the root of the
 * threads that are not kept. Never fails. The caller frees it with fold_free;
 * the session's own tree stays. */
struct fold *fold_new(struct session *, size_t most);
void fold_free(struct fold *);           /* NULL is allowed */
