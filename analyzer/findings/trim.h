/* trim.h - the functions that a recording could do without: many calls, each of
 * them short. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/flat.h"

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
 * function, in `to`, of `size` bytes, usually TRIM_NAME: its name without
 * parameters, of letters, digits and "_:~" only, so that no shell and no gcc
 * (which splits the list at commas) takes it for something else. False if there
 * is no such text for it: it is not native, or has no name. */
enum { TRIM_NAME = 512 };
bool trim_gcc_name(const struct func *, char *to, size_t size);

/* The columns of the rows; source.table is the struct trim. */
extern const struct metric_view trim_view;
