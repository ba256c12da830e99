/* stacks_fold.h - stacks of one moment that are alike, counted.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_STACKS_FOLD_H
#define WEFT_ANALYZER_CMD_STACKS_FOLD_H

#include "analyzer/watch/snapshots.h"

typedef void (*stacks_fold_fn)(void *ctx, const struct snapshot_stack *,
			       uint64_t count);

/* Alike: the same state, functions and marks, whatever the thread and the
 * coroutines. Told at the end of each moment, the most frequent first, equally
 * frequent ones as they came. */
struct stacks_fold;
struct stacks_fold *stacks_fold_new(stacks_fold_fn, void *ctx);
void stacks_fold_add(struct stacks_fold *, const struct snapshot_stack *);
/* Tell what is left, and free. */
void stacks_fold_finish(struct stacks_fold *);

#endif
