/* snapshot_groups.h - the stacks of one moment that are equal, counted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/snapshots/snapshots.h"

/* Gets the first of the equal stacks, and how many there are. The stack is
 * valid during the call. */
typedef void (*snapshot_groups_fn)(void *ctx, const struct snapshot_stack *,
				   uint64_t count);

/* Stacks are equal if they have the same state, functions and marks, whatever
 * their thread and coroutines are. fn is called at the end of each moment, for
 * the most frequent stacks first, equally frequent ones as they came. */
struct snapshot_groups;
struct snapshot_groups *snapshot_groups_new(snapshot_groups_fn, void *ctx);
/* Count a stack. The frames are copied. Stacks of one moment must come
 * together, as snapshots_each gives them. */
void snapshot_groups_add(struct snapshot_groups *,
			 const struct snapshot_stack *);
/* Call fn for the last moment, and free. */
void snapshot_groups_finish(struct snapshot_groups *);
