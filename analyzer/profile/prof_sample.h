/* prof_sample.h - what other tools show of a profile: one sample a node of the
 * tree, with its stack.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_SAMPLE_H
#define WEFT_ANALYZER_PROFILE_PROF_SAMPLE_H

#include "analyzer/profile/prof.h"
#include "analyzer/profile/prof_out.h"

void prof_sample_put(struct prof_out *, struct session *,
		     const struct prof_about *);

#endif
