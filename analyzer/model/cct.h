/* cct.h - the calling-context tree: one node for each distinct stitched stack,
 * with the figures of what happened there.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/func.h"

#include <stdbool.h>

typedef uint32_t node_id; /* index into a tree's nodes; 0 is none */

/* Invariants (cct_valid): parent < own id. A node's self and suspended hold
 * only what happened while it was the innermost frame, so that
 *   total(node)     = self(node) + sum of total(child)
 *   suspended of a call = suspended(node) + that of all nodes below it that
 *     belong to the same coroutine (a child with CCT_BODY begins another
 *     coroutine and does not count) */
struct cct_node {
	node_id parent;
	func_id func;                   /* 0 for a root */
	node_id child, sibling;         /* first child, next sibling */
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

/* Nodes with different flags are different nodes, except for CCT_TIMED. Tables
 * see only the first three: tables/filter.h ends the use of the others. */
enum cct_flag {
	CCT_BODY = 1,   /* the outermost frame of a coroutine's stack, stitched
	                 * on top of what resumed it */
	CCT_OMITTED = 2,/* stands for frames left out of a deep stack, or for
	                 * "(deeper)" */
	CCT_TIMED = 4,  /* min and max hold a finished call */
	CCT_CHOSEN = 8, /* body of the one coroutine that is asked for */
	CCT_NOTED = 32, /* no call was seen: a sampled VM noted that its
	                 * function ran */
	CCT_OUTSIDE = 16, /* no call: what is below happened outside of the
	                 * time that is asked for */
};
/* The Lua state of a body's coroutine is in the bits from here on:
 * session_body_vm. */
#define CCT_OF_SHIFT 8
#define CCT_SHAPE (CCT_BODY | CCT_OMITTED) /* the flags that tables see */

/* Parts of a node's self time, where chunks carry context switches. */
struct cct_cpu {
	uint64_t off;     /* the thread did not run */
	uint64_t unknown; /* its switches are not known */
	uint64_t ready;   /* part of off: it had no core, as far as is known */
};

/* Of a node's calls, those that have no records; and where a sampled VM was. */
struct cct_counted {
	uint64_t untimed; /* their time is their caller's */
	uint64_t brief;   /* their time is in self, that of each is not known:
	                   * all were shorter than those that have records */
	uint64_t noted, noted_ns; /* so often, for so much CPU time */
};

/* How exactly the time of a function is divided among its nodes. Of a node, or
 * of several; doubts are variances, in ticks squared. */
struct cct_division {
	double doubt;       /* of the weights of these, in ticks of time; */
	double cross;       /* the same times the parts that they still have of
	                     * what they were given */
	double share;       /* of the function's time, times these parts */
	double all;         /* the doubts of all nodes of the function; */
	func_id func;       /* which that is, 0: several. What differs in one of
	                     * these two is divided apart: sessions merge */
	double most;        /* doubt that any of these can have, as the sum of
	                     * all is known; 0: no limit */
	double others;      /* the variances of such that rows added */
};

/* What samples of the program tell of a node's self time. */
struct cct_sampled {
	uint64_t unsampled; /* part of self, on the CPU as far as that is known,
	                     * in which no samples were taken */
	/* Samples in the function's own code, in code that is not recorded and
	 * that it called, and in weft's code. One that stands for several
	 * periods counts several times. */
	uint32_t own, other, probe;
	uint32_t first;     /* of its samples: a number + 1; 0: none */
	uint32_t given;     /* cct_samples.c's */
	/* In a tree of net times (correct/correct.h): */
	uint64_t raw;       /* self with the probes; self itself is net */
	double variance;    /* of self, in ticks squared */
	struct cct_division division; /* by a reference: beside it */
};

/* Memory. Where only samples of it were recorded, what these stand for. What
 * has no sample by chance is about as much as one: N samples are N +- the root
 * of N + 1, also where few are of blocks so small that all of them might have
 * been missed. */
struct heap_sum {
	double blocks, bytes;
	double variance;    /* of bytes, by those that were seen */
	double unseen;      /* its part that is the same in every sum: that of
	                     * one more sample */
};

/* What a node took, what of that was given back, by whomever, and what was in
 * use at the end: of what it took before the part that is shown, too. */
struct cct_heap { struct heap_sum taken, freed, in_use; };

/* A sample. place: a number in the session, from 0 on. near: until places are
 * known, the node that it belongs to if the place is code of that node's
 * function; 0: none. hides: 1: calls that were open then may have no node, as
 * they were only counted. */
struct cct_sample {
	node_id node, near;
	uint32_t place;
	uint32_t period;    /* ns on the CPU that it stands for */
	uint32_t next;      /* of its node: a number + 1 */
	uint32_t hides;
	float worth;        /* ticks of self, where a reference tells; else 0 */
};

/* ---- nodes ---- */

struct cct;
struct cct *cct_new(size_t max_nodes);
void cct_free(struct cct *);             /* NULL is allowed */

/* Find or add the root of a thread. Roots are the nodes whose parent is 0,
 * linked by sibling from cct_first_root on. */
node_id cct_root(struct cct *, uint32_t thread);
node_id cct_first_root(const struct cct *);
/* Find or add the child of a node. Beyond max_nodes, a new path leads to a node
 * of the same function below "(deeper)" (of the function deeper), where each
 * function has one node for all its stacks: calls and self of functions stay
 * exact, the totals of what is above the callees are too small. */
node_id cct_child(struct cct *, node_id parent, func_id func, uint32_t flags);
void cct_set_deeper(struct cct *, func_id deeper);
/* How many paths ended below "(deeper)". */
size_t cct_deeper(const struct cct *);
void cct_set_folded(struct cct *, size_t paths);

/* Borrowed; valid until the tree grows. Ids run from 1 to the count; any other
 * gives a node without function. */
struct cct_node *cct_get(struct cct *, node_id);
size_t cct_count(const struct cct *);

/* Take over the other tree's nodes and free it; the number of folded paths
 * stays. */
void cct_take(struct cct *, struct cct *other);

/* The node of the same stack outside of the time that is asked for, or inside
 * it. All that is below a root's own CCT_OUTSIDE node is outside. */
node_id cct_beside(struct cct *, node_id, bool outside);

/* Are the invariants kept? Looks at the whole tree. */
bool cct_valid(const struct cct *);

/* ---- figures ---- */

/* Add a finished call of so many ticks to min and max. */
static inline void cct_time_node(struct cct_node *n, uint64_t duration)
{
	if (!(n->flags & CCT_TIMED)) {
		n->flags |= CCT_TIMED;
		n->min = n->max = duration;
	} else if (duration > n->max) {
		n->max = duration;
	} else if (duration < n->min) {
		n->min = duration;
	}
}

/* The same, and to the node's histogram where these are collected. */
void cct_time(struct cct *, node_id, uint64_t duration);

/* Collect histograms from now on, or no longer. */
void cct_collect_hist(struct cct *);
void cct_drop_hist(struct cct *);
bool cct_has_hist(const struct cct *);
/* Collect times off the CPU from now on; self times until now are unknown. */
void cct_collect_cpu(struct cct *);
bool cct_has_cpu(const struct cct *);
/* Collect samples from now on; in self times until now, none were taken. */
void cct_collect_samples(struct cct *);
bool cct_has_samples(const struct cct *);
/* Are its self times net? Such a tree has samples. */
bool cct_is_net(const struct cct *);
void cct_set_net(struct cct *, bool);
/* NULL without samples. Valid until the tree grows. */
struct cct_sampled *cct_sampled_of(const struct cct *, node_id);
/* Collect what another tree collects, and be net if it is; or only what it does
 * of samples. */
void cct_collect_as(struct cct *, const struct cct *other);
void cct_collect_samples_as(struct cct *, const struct cct *other);

/* Add calls of a histogram's step; needs cct_has_hist. */
void cct_put_lengths(struct cct *, node_id, uint32_t step, uint64_t calls);
/* Add the node's histogram to an array of HIST_STEPS; false if histograms are
 * not collected. */
bool cct_hist_counts(const struct cct *, node_id, uint64_t *counts);
/* Set a node's times off the CPU; needs cct_has_cpu, and ready <= off. */
void cct_put_cpu(struct cct *, node_id, struct cct_cpu);
/* Zeros where they are not collected. */
struct cct_cpu cct_cpu_of(const struct cct *, node_id);
/* Are switches known well enough to be shown: for nine tenths of all time? Sets
 * how much time there is, and for how much of it they are not known; each may
 * be NULL. */
bool cct_knows_switches(const struct cct *, uint64_t *time, uint64_t *unknown);

/* Collect memory from now on. */
void cct_collect_heap(struct cct *);
bool cct_has_heap(const struct cct *);
/* Needs cct_has_heap. */
void cct_add_heap(struct cct *, node_id, const struct cct_heap *);
/* Zeros where it is not collected. */
struct cct_heap cct_heap_of(const struct cct *, node_id);
double cct_heap_error(const struct heap_sum *);  /* standard, of bytes */
void cct_heap_add(struct heap_sum *, const struct heap_sum *more);
void cct_heap_join(struct cct_heap *, const struct cct_heap *more);

/* Add calls that have no records, to calls, too. */
void cct_add_untimed(struct cct *, node_id, uint64_t calls);
/* The time of the node's calls is known after all. */
void cct_time_untimed(struct cct *, node_id);
void cct_add_brief(struct cct *, node_id, uint64_t calls);
/* A sampled VM was there so many times, for so much CPU time. */
void cct_note(struct cct *, node_id, uint64_t times, uint64_t ns);
/* Zeros where there are none. */
struct cct_counted cct_counted_of(const struct cct *, node_id);
/* The same of the whole tree. */
struct cct_counted cct_counted_sum(const struct cct *);
/* So much of a node's self is another one's, with what is known of it; false,
 * and nothing is changed: it has less. */
bool cct_move_self(struct cct *, node_id from, node_id to, uint64_t ticks);

/* Add a sample to its node's list; needs cct_has_samples. */
void cct_add_sample(struct cct *, const struct cct_sample *);
/* Go through a node's samples: NULL gives the first one. Valid until a sample
 * is added. */
const struct cct_sample *cct_sample_next(const struct cct *, node_id,
					 const struct cct_sample *);
/* All samples of the tree, by numbers from 0 on. */
size_t cct_sample_count(const struct cct *);
struct cct_sample *cct_sample_get(struct cct *, size_t);
/* To be called when samples got other nodes. */
void cct_link_samples(struct cct *);
/* The samples from number `from` on came from another tree, whose nodes are
 * map[node] here. */
void cct_map_near(struct cct *, size_t from, const node_id *map);

/* Add all figures of a node of another tree. */
void cct_add(struct cct *, node_id to, const struct cct *from, node_id);
/* Only its times: no calls, nothing of single calls. */
void cct_add_times(struct cct *, node_id to, const struct cct *from, node_id);
/* Add all figures of a node of another tree and of those below it to node `to`
 * and the nodes below that. */
void cct_graft(struct cct *, node_id to, const struct cct *other,
	       node_id from);

/* total[id] and susp[id] of every node, as defined above. The arrays are the
 * caller's, of cct_count + 1 elements. */
void cct_totals(struct cct *, uint64_t *total, uint64_t *susp);

/* The largest sum of a figure, such as calls or self, over all nodes: no table
 * has more in a row. UINT64_MAX: or more. */
uint64_t cct_largest_sum(const struct cct *);

/* The errors of several nodes; the variance that follows. */
void cct_division_add(struct cct_division *to,
		      const struct cct_division *more);
/* The node has a part of another function's time, or of another session's, or
 * of several functions' as if these were one. */
void cct_division_give(struct cct *, node_id to, const struct cct_division *);
/* Add what a node was given so. */
void cct_division_add_given(struct cct_division *to, const struct cct *,
			    node_id);
double cct_division_variance(const struct cct_division *);
/* Of a net tree, by node: the variance of how the times of other functions than
 * its own are divided, as far as these lie below it, or were given to it. The
 * caller frees it. */
double *cct_division_below(struct cct *);
/* The same of rows that add up several nodes, none of which is below another
 * one of its row: what one has too much, others of the row may lack. of[node]
 * is its row, 1 to rows; 0: it is in none. By row; the caller frees it. */
double *cct_division_of_rows(struct cct *, const uint32_t *of, size_t rows);

/* Of a net tree: each node's raw total, and the variance of its net one. The
 * arrays are as above. */
void cct_net_totals(const struct cct *, uint64_t *raw, double *variance);

/* ---- paths ---- */

/* For each node: whether its function is open already on the path that leads
 * from the root to it, and where. A path goes on over the bodies of coroutines.
 * All tables mean this by recursion. Arrays by node id. */
struct cct_path {
	node_id *same;   /* the innermost node above it of the same function;
	                  * 0: this is an outermost call */
	node_id *branch; /* the child of `same` that the path goes through; may
	                  * be the node itself; 0 without `same` */
	node_id *body;   /* where its coroutine's frames begin: the nearest node
	                  * with CCT_BODY, itself included, or the root */
};

/* functions: the highest func_id in the tree, or more. */
struct cct_path *cct_path_new(struct cct *, size_t functions);
/* The same for groups of functions in place of functions: of[node] is the
 * node's group, 1 to groups; 0: it is in none. */
struct cct_path *cct_path_new_of(struct cct *, const uint32_t *of,
				 size_t groups);
void cct_path_free(struct cct_path *);   /* NULL is allowed */

/* Is this its function's outermost call on the path, and within its coroutine?
 * Only such nodes count for totals and suspended times. */
static inline bool cct_path_is_outermost(const struct cct_path *p, node_id id)
{
	return p->same[id] == 0;
}

static inline bool cct_path_is_first(const struct cct_path *p, node_id id)
{
	return p->same[id] == 0 || p->body[p->same[id]] != p->body[id];
}

/* ---- other roots ---- */

#define CCT_ALL_THREADS UINT32_MAX

struct cct_reroot {
	bool by_thread;     /* one root a thread; otherwise one root for all,
	                     * whose thread is CCT_ALL_THREADS */
	bool by_coroutine;  /* a coroutine's frames hang below the root of their
	                     * thread instead of below what resumed them; their
	                     * outermost node keeps CCT_BODY */
	uint32_t thread;    /* only this thread, or CCT_ALL_THREADS */
};

/* A new tree with the figures of t under such roots; the caller frees it. */
struct cct *cct_reroot(struct cct *t, const struct cct_reroot *);
