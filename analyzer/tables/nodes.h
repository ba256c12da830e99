/* nodes.h - the tree as it is: a row for each distinct stack, by the number of
 * its node. tree.h has the rows that people read. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

/* A node. Times are ticks. f.total is self and the total of the nodes below it,
 * f.suspended the time for which its calls were suspended. */
struct node_row {
	struct figures f;        /* func 0: a thread, or all threads */
	uint32_t number, parent; /* from 1 on; parent 0: none. Parents have
	                          * lower numbers than their children */
	uint32_t thread;         /* index + 1; 0: all threads */
	uint32_t depth;          /* 0: no parent */
	bool is_body;            /* a coroutine's outermost frame, on top of
	                          * what resumed it */
	bool is_outermost;       /* its function is not open above it */
	ticks slept;             /* suspended as the innermost frame */
	ticks min, max, p50, p95, p99;
};

/* The rows of a session's tree, which must not change meanwhile. The caller
 * frees it with nodes_free. */
struct nodes;
struct nodes *nodes_new(struct session *);
void nodes_free(struct nodes *);
size_t nodes_count(const struct nodes *);
/* Row i from 0 on; rows must be asked for in rising order. Valid until the next
 * one is. */
const struct node_row *nodes_row(struct nodes *, size_t i);

/* Its columns; source.table is the struct nodes. */
extern const struct metric_view nodes_view;
