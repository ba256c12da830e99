/* trim.h - the functions that a recording could do without: many calls, each of
 * them short. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/flat.h"

/* What a list for gcc does with a function: gcc leaves out every function in
 * whose name it finds one of the list. */
enum trim_gcc {
	TRIM_STAYS,              /* no row, and in no name of the list */
	TRIM_LISTED,
	TRIM_FOUND,              /* it goes with another one */
	TRIM_UNNAMED,            /* the list cannot name it: it stays */
	TRIM_COSTLY,             /* too much would go with it: it stays */
	TRIM_DOUBTFUL            /* not listed; gcc may find it all the same */
};

/* A recorded time holds a part of what recording costs: the shortest call of
 * the whole recording, of native code or of Lua, did next to nothing. So much
 * is taken off each call here. What is left is still more than the truth for
 * functions that call others, because the rest of a callee's cost is in it. */
struct trim_row {
	struct figures f;
	double mean;             /* ticks of a call: total less the cost of its
	                          * own recording; callees are in it */
	ticks net;               /* self less that cost */
	double share;            /* calls as a part of all calls, 0 to 1 */
	enum trim_gcc gcc;       /* set by trim_choose_gcc */
	func_id other;           /* TRIM_COSTLY: whose calls it is for */
};

struct trim_options {
	double below;            /* ns: functions whose mean is longer stay */
	double min_share;        /* those with a smaller share of all calls
	                          * stay, too; 0 to 1 */
};

/* Invariant: rows are sorted by calls, which fall; calls <= all_calls and net
 * <= all_net are sums over the rows, and over all functions. */
struct trim {
	struct session *session; /* borrowed */
	struct trim_row *rows;
	size_t count;
	struct trim_row *kept;   /* functions with calls that are in no row */
	size_t kept_count;
	ticks cost[2];           /* taken off each call: of native code, of
	                          * Lua */
	uint64_t calls, all_calls;
	ticks net, all_net;
};

/* Marks and what the analyzer made are never among the rows. The session must
 * live as long; the caller frees it with trim_free. */
struct trim *trim_new(struct session *, const struct trim_options *);
void trim_free(struct trim *);           /* NULL is allowed */

/* What gcc's -finstrument-functions-exclude-function-list is given for a
 * function, in `to`, of `size` bytes, usually TRIM_NAME. False if there is no
 * such text for it: it is not native, or has no name. */
enum { TRIM_NAME = 512 };
bool trim_gcc_name(const struct func *, char *to, size_t size);

/* Choose the names of the list, and mark rows and kept functions. Those that no
 * row has may go with them, as long as their calls took in all at most the
 * share `most` of all net time, 0 to 1, callees included. */
void trim_choose_gcc(struct trim *, double most);

/* The columns of the rows; source.table is the struct trim. */
extern const struct metric_view trim_view;
