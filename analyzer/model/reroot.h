/* reroot.h - a session's tree as a view wants it: threads merged or apart,
 * coroutines on top of what resumed them or by themselves. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_REROOT_H
#define WEFT_ANALYZER_MODEL_REROOT_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

struct merge_options {
	int by_thread;      /* one root a thread (cct_node.thread is its index);
	                     * otherwise one root for all, thread = MERGE_ALL */
	int by_coroutine;   /* a coroutine's frames hang below the root of their
	                     * thread instead of below what resumed them; their
	                     * outermost node keeps CCT_BODY */
	uint32_t thread;    /* this thread only, or MERGE_ALL */
};
#define MERGE_ALL UINT32_MAX

/* A new tree, the caller's to free with cct_free. Roots are nodes whose parent
 * is 0. self, suspended and calls are those of the nodes merged. */
struct cct *merge_tree(struct session *, const struct merge_options *);

#endif
