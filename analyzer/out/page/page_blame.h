/* page_blame.h - who made whom wait, as data for the lanes of a page: who held
 * what was waited for, and the path of one request.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/page/page_source.h"

#include <stdio.h>

/* Write as members of the time line's object, times being ticks since the first
 * of what is shown, and lanes as `number` has them, 0: none. holds: of each of
 * the longest waits [lane, begin, length, the lane of who held it for longest
 * meanwhile, when that let it go, name]. path: of the slowest request its
 * function, its coroutine, and its steps [begin, length, enum path_kind,
 * function, lane of whom it was because of]. */
void page_blame_put(FILE *, const struct page *, const uint32_t *number);
