/* sampled_calls.h - functions that were not recorded, as samples show them
 * below those that were: libc's, excluded ones, the kernel.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CORRECT_SAMPLED_CALLS_H
#define WEFT_ANALYZER_CORRECT_SAMPLED_CALLS_H

#include "analyzer/base/mem.h"
#include "analyzer/model/session.h"

/* In a tree of net times, give each function that samples found in code that is
 * not recorded a node below the innermost recorded call, without calls, with
 * its samples' part of that call's self. Its name ends in " [sampled]" and
 * lives in the arena. Code without a name stays its caller's. all: false: only
 * where calls of demoted functions may lie between the two, so that nobody
 * knows whose callee it is; there, code without a name has its module's. To be
 * called once, after net_apply; does nothing if times are not net. */
void sampled_calls_add(struct session *, struct arena *, bool all);

#endif
