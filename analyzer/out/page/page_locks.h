/* page_locks.h - what was waited for, with the stacks that waited and those
 * that they waited for.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/page/page_source.h"

#include <stdio.h>

/* Write the first objects as an array: [kind, name, waiting, held, waits,
 * longest, most, when the longest wait began, stacks, waits]. A stack is [role,
 * waiting, held, longest, count, functions], the innermost first. waits are the
 * beginning and the length of each, one after the other; none if there are too
 * many. Moments are ticks since `first`. */
void page_locks_put(FILE *, const struct page_locks *, const struct session *,
		    size_t most, ticks first);
