/* cct.h - the calling-context tree: one node for each distinct stitched stack,
 * and what happened there. Pure: ticks in, ticks out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORE_CCT_H
#define WEFT_ANALYZER_CORE_CCT_H

#include "analyzer/core/func.h"

#include <stddef.h>
#include <stdint.h>

typedef uint32_t node_id; /* index into a tree's nodes; 0 is none */

/* Invariants (cct_valid): parent < own id; a node's self and suspended hold
 * only what happened while it was the innermost frame, so that
 *   total(node)     = self(node) + sum of total(child)
 *   suspended of a function activation = suspended(node) + that of all nodes
 *     below it that belong to the same coroutine (a child with CCT_BODY starts
 *     another coroutine and does not count) */
struct cct_node {
	node_id parent, child, sibling; /* first child, next sibling */
	func_id func;                   /* 0 for a root */
	uint32_t flags;                 /* enum cct_flag */
	uint32_t thread;                /* a root's thread: index in the
	                                 * session's threads */
	uint64_t calls;                 /* entries seen */
	uint64_t self;                  /* ticks */
	uint64_t suspended;             /* ticks its coroutine slept while this
	                                 * frame was the innermost */
	uint64_t min, max;              /* ticks of one finished call, entry to
	                                 * exit less suspension; 0 if none */
};

enum cct_flag {
	CCT_BODY = 1,   /* the outermost frame of a coroutine's stack, stitched
	                 * on top of what resumed it */
	CCT_OMITTED = 2,/* stands for frames left out of a deep stack, or for
	                 * "(deeper)" */
	CCT_TIMED = 4,  /* min and max hold a finished call; not part of what
	                 * tells nodes apart */
};

struct cct;
struct cct *cct_new(size_t max_nodes);
void cct_free(struct cct *);

/* A root for a thread (several windows of one thread share it); roots are the
 * nodes whose parent is 0, linked by sibling from cct_first_root on. */
node_id cct_root(struct cct *, uint32_t thread);
node_id cct_first_root(const struct cct *);
/* Find or add the child of a node. Past max_nodes new paths go to one
 * "(deeper)" child (of function deeper) under their nearest ancestor. */
node_id cct_child(struct cct *, node_id parent, func_id func, uint32_t flags);
void cct_set_deeper(struct cct *, func_id deeper);
size_t cct_deeper(const struct cct *); /* how many paths were folded so */
void cct_set_folded(struct cct *, size_t paths); /* it was so many */

/* Borrow; valid until the tree grows. Ids run from 1 to the count. */
struct cct_node *cct_get(struct cct *, node_id);
size_t cct_count(const struct cct *);

/* Add a finished call's ticks to a node's min and max. */
void cct_time(struct cct *, node_id, uint64_t duration);

/* Add what happened at node `from` of another tree, and below it, to node `to`
 * and the nodes below it. */
void cct_graft(struct cct *, node_id to, const struct cct *other,
	       node_id from);

/* Are the invariants kept? For tests: goes over the whole tree. */
int cct_valid(const struct cct *);

/* total[id] and susp[id] for every node, as defined above; arrays of
 * cct_count + 1 the caller owns. */
void cct_totals(struct cct *, uint64_t *total, uint64_t *susp);

#endif
