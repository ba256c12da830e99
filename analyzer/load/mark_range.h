/* mark_range.h - a part of a trace by the marks that the program left: a recording
 * with a title, or the time before or after a mark.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_MARK_RANGE_H
#define WEFT_ANALYZER_LOAD_MARK_RANGE_H

#include "analyzer/model/session.h"

/* What is asked for; NULL: not asked for. The texts are borrowed. */
struct mark_range_wanted {
	const char *recording;  /* TITLE, or TITLE#N for the Nth of them */
	const char *since, *until;
};

/* The marks of a trace that matter for what is wanted. */
struct mark_range;
struct mark_range *mark_range_new(const struct mark_range_wanted *);
void mark_range_free(struct mark_range *);

/* Take a mark of the trace, in any order of time. */
void mark_range_see(struct mark_range *, const char *name, ticks);

/* Cut [*from, *to) (*to 0: no end) down to what is wanted. 0, or -1 with the
 * cause in the chain. */
int mark_range_get(struct mark_range *, ticks *from, ticks *to);

#endif
