/* budget.h - keeps what recording costs within a budget: sees all chunks pass,
 * has the rule decide, and puts verdicts into the pool. Each chunk says which
 * functions' calls may be missing from it.
 *
 * The folder budget/ decides which calls are worth their cost. It may use base/
 * and names/; it takes no chunk out of the pool.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"
#include "tracer/recorder/base/rate.h"
#include "tracer/recorder/budget/budget_known.h"

enum { BUDGET_WINDOWS = 8 };       /* the last ones are remembered */

/* For a moment, functions that are skipped are recorded: how often they are
 * called is estimated from such windows. Ticks; to is UINT64_MAX while it is
 * open. */
struct budget_window { uint64_t from, to; };

struct budget {
	double limit;              /* 0: there is none */
	double call_ns;            /* what a recorded call was found to cost
				    * here; 0: not known. The owner's to set */
	struct pool_owner *owner;
	const struct rate *rate;
	struct budget_functions all;
	/* Seen in chunks that began after a verdict changed last. */
	uint64_t changed_at;       /* tick */
	uint64_t samples, probes;
	double cpu_s, other;       /* other: as in struct budget_sight */
	double windows_s;          /* CPU time in windows, not yet judged */
	struct budget_window window[BUDGET_WINDOWS];
	uint32_t windows;          /* so far */
	bool has_looked;           /* a chunk of the last one has come */
	uint64_t next_ms;          /* a window is opened or closed, */
	uint64_t judged_ms;        /* and verdicts were judged last */
	double share;              /* what recording took, when it was judged */
	uint32_t counted, skipped; /* functions, at this time, */
	uint32_t changes;          /* and verdicts that changed, so far */
	uint32_t untold;           /* chunks whose item had no room */
	uint32_t no_room;          /* verdicts that had none in the pool */
	uint32_t random;
};

/* limit: below 1; 0: there is no budget, and nothing below does anything.
 * Otherwise the pool must have a table of verdicts. Returns negative if there
 * is no memory. Nothing is ever freed. */
int budget_init(struct budget *b, double limit, struct pool_owner *owner,
		const struct rate *rate);
/* A finished chunk of that many words passes. */
void budget_note(struct budget *b, const struct chunk_items *items,
		 uint32_t words);
/* Decide, at times. now: ms. Returns ms until it wants to be asked again. */
uint32_t budget_beat(struct budget *b, uint64_t now);
/* The window in which the chunk was opened, or NULL. */
const struct budget_window *budget_window_of(const struct budget *b,
					     const struct chunk_header *h);

/* ---- budget_item.c ---- */

/* Write, behind the chunk's items, which calls it may not have: all but the
 * dictionary is there. */
void budget_put(struct budget *b, struct chunk_items *items);
