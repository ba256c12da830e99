/* cct.h - the calling-context tree: one node for each distinct stitched stack,
 * and what happened there. Pure: ticks in, ticks out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_CCT_H
#define WEFT_ANALYZER_MODEL_CCT_H

#include "analyzer/model/func.h"

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

/* All but CCT_TIMED are part of what tells nodes apart. Views see only the
 * first three: the others end with filter.h. */
enum cct_flag {
	CCT_BODY = 1,   /* the outermost frame of a coroutine's stack, stitched
	                 * on top of what resumed it */
	CCT_OMITTED = 2,/* stands for frames left out of a deep stack, or for
	                 * "(deeper)" */
	CCT_TIMED = 4,  /* min and max hold a finished call */
	CCT_CHOSEN = 8, /* body of the one coroutine that is asked for */
	CCT_OUTSIDE = 16, /* no call: what is below happened outside of the
	                 * time that is asked for */
};
/* What a body's coroutine is of, in the bits from here on: session_body_vm. */
#define CCT_OF_SHIFT 8
#define CCT_SHAPE (CCT_BODY | CCT_OMITTED) /* the flags of a view's tree */

/* Of a node's self time, where the chunks carry context switches. */
struct cct_cpu {
	uint64_t off;     /* the thread did not run */
	uint64_t unknown; /* its switches are not known */
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

/* Add a finished call's ticks to a node's min and max, and to its histogram
 * where these are collected. */
void cct_time(struct cct *, node_id, uint64_t duration);

/* Collect histograms from now on. */
void cct_collect_hist(struct cct *);
/* Collect times off the CPU from now on; self times until now are unknown. */
void cct_collect_cpu(struct cct *);
/* The same as another tree. */
void cct_collect_as(struct cct *, const struct cct *other);
/* Are they? And a step of a histogram, added to one that is collected. */
int cct_has_hist(const struct cct *);
int cct_has_cpu(const struct cct *);
void cct_put_lengths(struct cct *, node_id, uint32_t step, uint64_t calls);
void cct_put_cpu(struct cct *, node_id, struct cct_cpu);
/* 0s where nothing was collected. */
struct cct_cpu cct_cpu_of(const struct cct *, node_id);
/* Add the node's histogram to an array of HIST_STEPS; 0 if none was
 * collected. */
int cct_hist_counts(const struct cct *, node_id, uint64_t *counts);

/* Add calls, times and all else that was collected of a node of another
 * tree. */
void cct_add(struct cct *, node_id to, const struct cct *from, node_id);
/* The same without what belongs to calls: times only. */
void cct_add_times(struct cct *, node_id to, const struct cct *from, node_id);

/* Become the other tree, which ends; how many paths were folded stays. */
void cct_take(struct cct *, struct cct *other);

/* The node of the same stack outside of the time that is asked for, or inside;
 * below a root's own CCT_OUTSIDE node all is outside. */
node_id cct_beside(struct cct *, node_id, int outside);

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
