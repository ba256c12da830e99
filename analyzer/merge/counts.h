/* counts.h - how often functions were called, and from how many distinct
 * stacks, on two sides of sessions: whole numbers that no other program on the
 * machine changes. Times have no part in it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* One side of a function. least, most: calls in one session, 0 in one in which
 * it did not run. */
struct counts_side {
	func_id func;            /* 0: that side has no such function */
	uint64_t calls;          /* of all its sessions */
	uint64_t least, most;
	uint64_t stacks;         /* distinct ones that end with it */
};

/* change: by how many calls each session after differs at least from each one
 * before; 0 if their ranges overlap. stacks: the same of distinct stacks, 0 if
 * the calls vary between the sessions of a side, since then stacks may. */
struct counts_row {
	struct counts_side side[2]; /* before, after */
	int64_t change, stacks;
};

struct counts {
	struct counts_row *rows; /* that differ */
	size_t count;
	uint64_t calls[2], stacks[2]; /* of all functions */
	uint64_t sessions[2];
};

/* Compare two merged sessions, which must live as long. Rows with more calls
 * come first, then those with more stacks, then those with fewer of either. Of
 * one kind the largest change comes first. Never fails; freed with
 * counts_free. */
struct counts *counts_new(struct session *before, struct session *after);
void counts_free(struct counts *);

/* By how much more the row has after, in percent of what it had before: calls,
 * or stacks if there are not more calls. 0 if it has no more of either;
 * infinite if it had none. */
double counts_growth(const struct counts_row *);
