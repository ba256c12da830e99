/* callers.h - who calls whom: for each function its callers and callees, with
 * counts and times, as a graph of all stacks of a tree. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

/* One function calls another one, or resumes a coroutine whose body that is.
 *   of (of.func is the callee) is what the callee did when called so; the sums
 *     over its callers are the callee's own figures, exactly
 *   the totals of there and suspended_of are the caller's time there: in the
 *     callee and below it, until the caller is entered again. The caller's
 *     total is its self and the sum of there.total over its callees; that of a
 *     function's direct call of itself is 0. suspended_of over what it calls
 *     (not: what it resumes) and its own suspended time add up to its suspended
 *     time. */
struct callers_arc {
	struct figures of;
	func_id from;            /* 0: outside all functions, where stacks
	                          * begin */
	bool resumes;
	ticks suspended_of;
	struct figures there;    /* no more than totals */
};

/* The graph. total of a function is the time of those of its calls that are not
 * recursive, suspended that of its outermost calls in each coroutine, as in
 * flat.h. Times are ticks. */
struct callers {
	struct figures *of;      /* by func_id */
	ticks *slept;            /* by func_id: suspended as innermost frame */
	struct figures all;      /* calls and self of all functions */
	struct callers_arc *arcs;
	size_t arc_count, functions;
	size_t *into, *out_of;   /* indices of arcs: into[] in the order of the
	                          * callees, out_of[] in that of the callers */
	size_t *first_into, *first_out; /* by func_id: where its part begins; it
	                          * ends where that of func_id + 1 begins */
};

/* functions: the highest func_id in the tree, or more. Never fails. The caller
 * frees it with callers_free; the tree is not needed any more. */
struct callers *callers_new(struct cct *, size_t functions);
void callers_free(struct callers *);

/* Does the function occur on any stack of the tree? */
bool callers_has(const struct callers *, func_id);

/* ---- rows --------------------------------------------------------------- */

/* A row about the function of: the function itself, one of its callers or one
 * of its callees. */
struct callers_row {
	struct figures f;        /* func: the caller, callee or function; 0:
	                          * text says what it is */
	func_id of;
	const char *relation;    /* "caller", "resumer", "callee", "resumed",
	                          * "function" */
	const char *text;
	uint64_t all_calls;      /* what shares are parts of; 0: no share */
	ticks all_total, all_cpu;
};

/* The rows of a function's callers, or of its callees, in the order of a metric
 * of callers_view. Sets *count; the caller frees the array with mem_free. */
struct callers_row *callers_rows(const struct callers *, func_id,
				 bool of_callees, const struct metric *,
				 size_t *count);
/* The function's own row. */
struct callers_row callers_own(const struct callers *, func_id);

/* By elapsed time, by time on the CPU, by waiting. */
extern const struct metric_view callers_views[METRIC_RANKINGS];
