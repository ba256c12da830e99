/* diff.h - what made one side of sessions slower than the other: each change
 * is laid at the door of the function that changed, with its reason. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MERGE_DIFF_H
#define WEFT_ANALYZER_MERGE_DIFF_H

#include "analyzer/model/session.h"

#include <stddef.h>

enum diff_reason {
	DIFF_CALLED,       /* a caller calls it more often than it did */
	DIFF_NEW_CALLER,   /* called by functions that did not call it */
	DIFF_NEW,          /* did not run before */
	DIFF_COST,         /* its own code takes longer a call: on the CPU,
	                     * where both sides know that, else at all */
	DIFF_WAIT,         /* waits longer a call, off the CPU */
	DIFF_SLEEP,        /* its coroutine is suspended in it for longer */
	DIFF_REASONS
};

/* One function and one reason. Ids are 0 where a side has no such function. */
struct diff_row {
	enum diff_reason reason;
	func_id before, after;  /* in the sessions' tables */
	func_id caller_before, caller_after; /* DIFF_CALLED, _NEW_CALLER, _NEW:
	                         * who adds most */
	double added;           /* ns a session, with all that it calls, for
	                         * the first three; < 0: it takes less */
	double was, is;         /* calls a session, or ns a call */
	int is_fastest;         /* was, is: each session's fastest call */
	double chance;          /* that sessions of one kind differ so, already
	                         * times the number of rows; -1: not known */
};

struct diff {
	struct diff_row *rows;
	size_t count;
	double before, after;   /* ns a session, waiting and sleep included */
	int has_cpu;            /* both sides know times off the CPU */
};

/* Both are sums (combine.h). A function of the one is that of the other if
 * build-id and offset (Lua: source and lines) are the same; where they are not,
 * because the module is another build, if name and file's last part are (Lua:
 * source and the name it is called by). Rows that may be chance come last;
 * others by what they add. */
struct diff *diff_new(struct session *before, struct session *after);
void diff_free(struct diff *);

/* Less likely than this is no chance. */
#define DIFF_CHANCE 0.05

#endif
