/* callers.h - who calls whom: for each function its callers and callees, with
 * counts and times, as a graph of all stacks of a tree. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_CALLERS_H
#define WEFT_ANALYZER_TABLES_CALLERS_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

/* A call that began while its function was open already on the path (through
 * whatever others, over coroutines too) is recursive. total is the time of
 * calls that were not, suspended of those that were not within their coroutine,
 * as in rank.h: the rest has its time in an outer call. */
struct callers_figures {
	uint64_t calls, recursive;
	ticks self, total, suspended;
};

/* One function calls, or resumes a coroutine whose body is, another.
 *   of is what the callee did when called so; the sums over its callers are
 *     the callee's own figures, exactly
 *   total_of and suspended_of are the caller's time there: in the callee and
 *     below it, until the caller is entered again. The caller's total is its
 *     self and the sum of total_of over its callees; a function's direct call
 *     of itself has 0. suspended_of over what it calls (not: resumes), and what
 *     it slept itself, are its suspended. */
struct callers_arc {
	func_id from, to;        /* from 0: outside all functions, where stacks
	                          * begin */
	int resumes;
	struct callers_figures of;
	ticks total_of, suspended_of;
};

struct callers {
	struct callers_figures *of; /* by func_id */
	struct callers_arc *arcs;
	size_t arc_count, functions;
	size_t *into, *out_of;      /* indices of arcs, sorted: into[] by to,
	                             * out_of[] by from */
	size_t *first_into, *first_out; /* by func_id, where its part begins; up
	                             * to that of func_id + 1 */
};

/* functions: the highest func_id in the tree, or more. */
struct callers *callers_new(struct cct *, size_t functions);
void callers_free(struct callers *);

enum callers_key { CALLERS_TOTAL, CALLERS_SELF, CALLERS_CALLS,
		   CALLERS_SUSPENDED };

/* The arcs into a function (its callers), or out of it (its callees), by
 * descending key. An array of *count the caller frees with mem_free. */
const struct callers_arc **callers_into(const struct callers *, func_id,
					enum callers_key, size_t *count);
const struct callers_arc **callers_out_of(const struct callers *, func_id,
					  enum callers_key, size_t *count);

#endif
