/* load_chronicle.h - single events for exports, by one more reading of a trace:
 * what happened when in the part that filters choose; and the slowest calls and
 * who resumed whom, for a database.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LOAD_CHRONICLE_H
#define WEFT_ANALYZER_LOAD_LOAD_CHRONICLE_H

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

/* Read the trace of an open load once more. NULL with the cause in the chain if
 * that cannot be done: a profile has no single calls. The caller frees it with
 * chronicle_free. Says on standard error what was folded or left out. */
struct chronicle *load_chronicle(struct load *, bool by_coroutine);

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

#endif
