/* budget.h - keeps what recording costs within a budget: sees all chunks pass,
 * has the rule decide which functions are only counted, and puts verdicts into
 * the pool. No call is left out.
 *
 * The folder budget/ decides which records are worth their cost. It may use
 * base/ and names/; it takes no chunk out of the pool.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/budget/budget_known.h"

/* In which a Lua state was sampled: CLOCK_MONOTONIC ns. to: 0: till the end. */
struct budget_time {
	uint32_t vm;
	uint64_t from, to;
};
enum { BUDGET_TIMES = 16 };        /* kept */

struct budget {
	double limit;              /* 0: there is none */
	double call_ns;            /* what a recorded call was found to cost
				    * here; 0: not known. The owner's to set */
	bool lua;                  /* may Lua be sampled? The owner's to set */
	struct pool_owner *owner;
	const struct rate *rate;
	struct budget_functions all;
	/* Seen in chunks that began after a verdict changed last. */
	uint64_t changed_at;       /* tick */
	uint64_t samples, probes;
	double cpu_s, other;       /* other: as in struct budget_sight */
	uint64_t judged_ms;        /* verdicts were judged last */
	double share;              /* what recording took, when it was judged */
	uint32_t sampled;          /* Lua states, and */
	uint32_t counted;          /* functions, at this time, */
	uint32_t changes;          /* and verdicts that changed, so far */
	uint32_t no_room;          /* verdicts that had none in the pool */
	uint32_t times;            /* in which Lua states were sampled; the */
	struct budget_time time[BUDGET_TIMES]; /* first of them */
};

/* limit: below 1; 0: there is no budget, and nothing below does anything.
 * Otherwise the pool must have a table of verdicts. Returns negative if there
 * is no memory. Nothing is ever freed. */
int budget_init(struct budget *b, double limit, struct pool_owner *owner,
		const struct rate *rate);
/* A finished chunk of that many words passes. */
void budget_note(struct budget *b, const struct chunk_items *items,
		 uint32_t words);
/* What recording has taken since a verdict changed last, or before that, if
 * nothing came since; 0: that is not known. */
double budget_share(const struct budget *b);
/* Decide, at times. now: ms. Returns ms until it wants to be asked again. */
uint32_t budget_beat(struct budget *b, uint64_t now);
