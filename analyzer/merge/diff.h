/* diff.h - what made one side of sessions slower than the other: every change
 * of time is attributed to the function that changed, with the reason.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

enum diff_reason {
	DIFF_CALLED,       /* a caller calls it more often than it did */
	DIFF_NEW_CALLER,   /* functions call it that did not call it before */
	DIFF_NEW,          /* it did not run before */
	DIFF_MORE_WAITS,   /* what it and its callees wait, off the CPU, for
	                    * something else than a core, in calls that are
	                    * more or fewer than they were */
	DIFF_COST,         /* its own code takes longer a call: on the CPU if
	                    * both sides know times off the CPU */
	DIFF_SAMPLED,      /* it takes more of a session. Of its calls nothing
	                    * is known, as a sampled VM ran it; or they
	                    * contradict a reference: the run that was sampled
	                    * may have made others */
	DIFF_WAIT,         /* it waits longer a call, off the CPU, for
	                    * something else than a core */
	DIFF_SLEEP,        /* its coroutine is suspended in it for longer */
	DIFF_REASONS
};

/* One function and one reason. An id is 0 if that side has no such function.
 * Figures are means: over the sessions of a side, or over the calls in them. */
struct diff_row {
	enum diff_reason reason;
	func_id before, after;  /* in the sessions' tables */
	func_id caller_before, caller_after; /* of reasons of calls: the caller
	                         * that adds most */
	double added;           /* ns a session; < 0: it takes less. For reasons
	                         * of calls with all that it calls */
	double share;           /* that in percent of time[0]; of waits: of
	                         * that and all waits before; of sleep: of the
	                         * sleep before, if there was */
	double was, is;         /* reasons of calls: calls a session; others:
	                         * ns a call; of DIFF_SAMPLED ns a session */
	double rate[2];         /* reasons of calls, by side: calls for each
	                         * one of the caller's */
	double error;           /* DIFF_SAMPLED, and DIFF_COST and reasons of
	                         * calls of one session each: of added, as far
	                         * as samples and counts tell; 0: not known */
	double calls;           /* DIFF_SAMPLED: how many times as many calls a
	                         * session were recorded; 0: not known */
	bool is_fastest;        /* was, is: of each session's fastest call */
	double chance;          /* the probability that sessions of one kind
	                         * differ so much, corrected for the number of
	                         * rows, 0 to 1; -1: not known */
};

/* A comparison of two sides. Changes of less than a five-thousandth of
 * what their share is of have no row, so the rows need not add up to the
 * difference. */
struct diff {
	struct diff_row *rows;
	size_t count;
	double time[2];         /* by side, ns a session: of all functions on
	                         * the CPU, or, without has_cpu, their self
	                         * time */
	double error[2];        /* of that, one standard error; 0: not known */
	double no_core[2];      /* by side: self time without a core, ns a
	                         * session, as far as is known; in no row */
	bool has_cpu;           /* both sides know times off the CPU, for nine
	                         * tenths of the time */
};

/* Compare two merged sessions (merge.h), which stay the caller's and must live
 * while the ids in the rows are used. Functions are matched as diff_match.h
 * says. Rows that may be chance come last. Of the others, those of sleep come
 * last, as somebody else's change may be their cause; so do those of waits if
 * their chance is not known. Within these, the largest comes first. Never
 * fails; freed with diff_free. */
struct diff *diff_new(struct session *before, struct session *after);
void diff_free(struct diff *);

/* Are `was` and `is` calls, not times? */
static inline bool diff_is_of_calls(const struct diff_row *row)
{
	return row->reason < DIFF_COST;
}

/* What changed, in words: "called more", "costs less a call". */
const char *diff_reason_words(const struct diff_row *);

/* A difference that is less likely than this is not taken for chance: the usual
 * level of significance, applied to the corrected probability. */
#define DIFF_CHANCE 0.05
