/* rank.h - the flat table: one row a function, or a group of them, from a
 * session's tree. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_RANK_H
#define WEFT_ANALYZER_TABLES_RANK_H

#include "analyzer/model/group.h"
#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdint.h>

/* total counts the outermost activation of a function (or of any of its group)
 * on each path only; suspended the outermost one within each coroutine.
 * wall = total + suspended; cpu + off + unknown = self, and the same of total:
 * on the CPU, off it, and where switches are not known. */
struct rank_row {
	uint32_t group;          /* in rank.groups */
	func_id func;            /* by function; by body, where there is one */
	uint64_t calls;
	ticks self, total, suspended;
	ticks min, max;          /* of one finished call; 0 if there is none */
	ticks cpu, off, total_cpu, total_off;
	ticks p50, p95, p99;     /* of finished calls, at most HIST_ERROR off;
	                          * 0 where no histograms were collected */
};

enum rank_key { RANK_SELF, RANK_TOTAL, RANK_WALL, RANK_SUSPENDED, RANK_CALLS,
		RANK_AVERAGE, RANK_MIN, RANK_MAX, RANK_CPU, RANK_OFF,
		RANK_TOTAL_CPU, RANK_TOTAL_OFF, RANK_P50, RANK_P95, RANK_P99,
		RANK_NAME };

struct rank {
	struct rank_row *rows;   /* groups with a node in the tree, each once */
	size_t count;
	struct groups *groups;
	ticks self;              /* sum of all rows: what shares are parts of */
	ticks root_self;         /* time in no function; not in self, but by
	                          * thread, process or label */
	ticks unknown;           /* of self and root_self: where switches are
	                          * not known; all, if none are */
	uint64_t calls;
	int has_quantiles;       /* histograms were collected */
};

struct rank_options {
	enum group_by by;
	enum rank_key key;
	uint32_t thread;         /* index of the one thread to count, or */
};
#define RANK_ALL_THREADS UINT32_MAX

/* All rows, by descending key (names: rising); equal ones by rising group. */
struct rank *rank_by(struct session *, const struct rank_options *);
/* By function; equal ones by rising func. */
struct rank *rank_new(struct session *, enum rank_key, uint32_t thread);
void rank_free(struct rank *);

/* Put the rows in order again by another key. */
void rank_sort(struct rank *, enum rank_key);

const char *rank_name(const struct rank *, const struct rank_row *);

/* Average ticks of a call, entry to exit: total / calls; 0 without calls. */
ticks rank_average(const struct rank_row *);

#endif
