/* flat.h - the flat table: a row for each function, or for each group of them,
 * from a session's tree. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/group.h"
#include "analyzer/tables/metric.h"

/* A group's total is that of its outermost activation on each path, suspended
 * that of its outermost one in each coroutine. All times are ticks.
 *   wall = total + suspended */
struct flat_row {
	struct figures f;        /* func: by function, and by body where there
	                          * is one */
	uint32_t group;          /* in flat.groups */
	ticks min, max;          /* of one finished call; 0 if there is none */
	ticks p50, p95, p99;     /* of finished calls, off by HIST_ERROR at
	                          * most; 0 if no histograms were collected;
	                          * FLAT_BRIEF: those of brief ones */
};

#define FLAT_BRIEF UINT64_MAX

/* The table. A node is in one group at most, so calls and self of all rows add
 * up; totals overlap. */
struct flat {
	struct session *session; /* borrowed */
	struct flat_row *rows;   /* groups that have a node in the tree */
	size_t count;
	struct groups *groups;
	uint32_t thread;         /* the one that is counted; see the options */
	ticks self, cpu, blocked; /* sums of all rows: shares are parts of
	                          * them */
	ticks root_self;         /* time in no function. Not in self, unless
	                          * groups are threads, processes or labels */
	uint64_t calls;
	bool has_quantiles;      /* histograms were collected */
	bool has_switches;       /* cct_knows_switches, of the session */
};

struct flat_options {
	enum group_by by;
	const struct metric *sort; /* one of flat_views; NULL: self */
	uint32_t thread;         /* an index, or CCT_ALL_THREADS */
};

/* Never fails. The caller frees the table with flat_free; the session must live
 * as long. Without options: functions of all threads. Rows that are equal in
 * what they are sorted by rise by func, then by group. */
struct flat *flat_new(struct session *, const struct flat_options *);
void flat_free(struct flat *);

/* The p50, p95 and p99 of the calls of a histogram and of brief ones without
 * records; least and most are of the former. FLAT_BRIEF where it is that of a
 * brief one; 0 without calls. Adds the brief ones to counts. */
void flat_quantiles(uint64_t *counts, uint64_t brief, ticks least, ticks most,
		    ticks *const to[3]);

/* Sort the rows by another metric. */
void flat_sort(struct flat *, const struct metric *);

/* The sum of all rows in a metric that is a field: shares are parts of it. */
uint64_t flat_whole(const struct flat *, const struct metric *);

/* The name of a row's group; untrusted. */
const char *flat_name(const struct flat *, const struct flat_row *);

/* The columns of the table; source.table is the struct flat. */
extern const struct metric_view flat_views[METRIC_RANKINGS];
