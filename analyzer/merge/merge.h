/* merge.h - several sessions as one.
 *
 * This folder adds sessions up (merge) and compares two of them (diff). It may
 * use analyzer/base, model and tables; it knows nothing of files or output.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* Modules are the same if their build-ids are; native functions if module and
 * offset are; Lua functions if source and lines are; processes if program and
 * labels are; threads of one process if their names are.
 *
 * The result does not depend on the order in which sessions are added, nor on
 * which of them were merged before: it is the same to the last byte. For that
 *   - times of a trace are converted to whole nanoseconds once (tick_hz of a
 *     merged session is 10^9), and figures over sessions are integers;
 *   - every list is sorted by its contents;
 *   - if a function has several names, or a module several paths or faults, the
 *     first in alphabetical order is kept.
 * Notes are kept if they are the same everywhere; counts of losses add up. Gaps
 * are counted, but not listed. */
struct merge;

/* An empty merge; merge_end frees it. */
struct merge *merge_new(void);

/* Add a session: a trace's, or a merged one. It stays the caller's, and nothing
 * of it is borrowed: it may be freed at once. Its functions must have their
 * names: the names of the sum are chosen among them. 0; or -1 with the cause in
 * the chain, and it is not added: sums of its figures and of those before would
 * not fit. */
int merge_add(struct merge *, struct session *);

/* Free the merge and return the merged session, which is the caller's. The
 * result of a single session is a merged session, too. */
struct session *merge_end(struct merge *);
