/* prof.h - compact profiles: what is known of a session but for single
 * coroutines and moments, in a file that pprof and others open, too.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_H
#define WEFT_ANALYZER_PROFILE_PROF_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdio.h>

/* What other tools should show beside the figures; weft reads none of it. */
struct prof_about {
	const char *const *comments; /* losses, notes; untrusted */
	size_t comment_count;
	uint64_t duration;           /* ns */
};

/* Write the session, whose functions have their names. The same session gives
 * the same bytes. 0, or -1 with the cause in the chain. */
int prof_write(FILE *, struct session *, const struct prof_about *);

/* Is it a file that begins as a profile does? */
int prof_is(const char *path);

/* Read a profile: the session as it was written, names included, without its
 * coroutines (session.beyond knows their number). NULL, with the cause in the
 * chain, if it is damaged in any way or not weft's. */
struct session *prof_read(const char *path);

#endif
