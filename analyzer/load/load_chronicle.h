/* load_chronicle.h - single events for exports: what happened when in the part
 * that filters choose, collected while the trace is opened if there are none;
 * and by one more reading, the slowest calls and who resumed whom, for a
 * database.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"
#include "analyzer/watch/chronicle.h"
#include "analyzer/watch/resumes.h"
#include "analyzer/watch/slow/slow.h"

/* --max-events and --merge-below, for OPT_MORE. */
extern const struct opt load_chronicle_opts[];
/* Call it after opt_parse, where there is no chronicle: 0, or -1 with the cause
 * in the chain if one of them was given. why follows the option's name. */
int load_chronicle_refuse(const char *why);

/* Call it before load_open. 0, or -1 with the cause in the chain: a filter
 * makes no sense. */
int load_chronicle_check(void);

/* Call it before load_open: what that reads goes into the chronicle, if the
 * options allow it; else NULL. */
struct chronicle *load_chronicle_begin(bool by_coroutine);
/* After load_open: the chronicle that was begun is complete, or it is replaced
 * by another one, for which the trace is read once more. 0, or -1 with the
 * cause in the chain: a profile has no single calls. The caller frees it with
 * chronicle_free in any case. Says on standard error what was folded or left
 * out. */
int load_chronicle(struct load *, struct chronicle **, bool by_coroutine);

/* ---- beside the tree, in a database ---- */

/* NULL where they are not known. */
struct load_moments {
	struct slow *slow;       /* the 1,000 calls of all functions that have
	                          * most self time */
	struct resumes *resumes;
	uint8_t *wanted;         /* private */
};

/* Read the trace once more. Of profiles, merged traces and parts of a trace
 * there are none. 0, or -1 with the cause in the chain; load_moments_fini in
 * any case. */
int load_moments_init(struct load_moments *, struct load *);
void load_moments_fini(struct load_moments *);
