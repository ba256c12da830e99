/* page_moments.h - what happened when, as data of a page: the lanes of threads
 * and coroutines, and single calls by time and duration.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/watch/chronicle.h"
#include "analyzer/watch/waits/sleeps.h"
#include "analyzer/watch/slow/slow.h"

#include <stdio.h>

/* Begin an object, which the caller ends: the lanes of tracks that have a
 * number in `number` (by index; from 1 on, rising; 0: left out), and their
 * spans column by column. The spans of a lane are those from first[lane] on,
 * until first[lane + 1]. Times are ticks since the first of what is shown,
 * which is `offset` after that of the recording; `from` of a span is the
 * distance from that of the one before in its lane. Lanes that `to` says are
 * numbers + 1; 0: none or several. */
void page_moments_put_lanes(FILE *, const struct session *,
			    const struct chronicle_found *,
			    const uint32_t *number);

/* Single calls of chosen functions. All is borrowed. */
struct page_calls {
	const char *pattern;     /* untrusted; NULL: all functions */
	const struct slow_found *found;
	const struct slow_found *requests; /* calls of coroutines' bodies
	                          * alone; NULL: there are none */
	size_t columns;          /* of found->over_time, from `first` to
	                          * `last` */
	ticks first, last;
};
/* Write as JSON: the columns of counts, and the `most` slowest calls, and as
 * many requests, with their
 * stacks (functions, innermost first; 0 for frames that are left out). Times of
 * moments are ticks since `first`. */
void page_moments_put_calls(FILE *, const struct page_calls *, size_t most);

/* Write as JSON: where coroutines were suspended, a row each, `most` of those
 * that `order` has the indices of: function, body, how often, sum and longest,
 * the coroutine that slept longest, and when that was over, in ticks since
 * `first`. */
void page_moments_put_sleeps(FILE *, const struct sleeps *,
			     const uint32_t *order, size_t most, ticks first);
