/* timeline_spans.c - which spans have a place of their own. While a lane is
 * being filled, its spans are in the order in which they ended, so that a span
 * finds what is within it, and its neighbour, at the lane's end.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/timeline_spans.h"

#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* The first grain, as a part of the range: 2^-FINEST. */
enum { FINEST = 20 };

bool timeline_is_deep(const struct timeline *t, const struct timeline_span *s)
{
	return s->depth >= t->depths;
}

static bool is_small(const struct timeline *t, const struct timeline_span *s)
{
	return s->parts > 1 || s->to - s->from < t->grain ||
	       timeline_is_deep(t, s);
}

/* Is `in` a part of what happened in s that has no place of its own? */
static bool is_swallowed(const struct timeline *t,
			 const struct timeline_span *in,
			 const struct timeline_span *s)
{
	if (in->from < s->from || in->to > s->to)
		return false;
	return in->depth > s->depth ?
	       is_small(t, s) || timeline_is_deep(t, in) :
	       in->depth == s->depth && timeline_is_deep(t, in);
}

/* Neighbours are in the order of time, unless they are of two streams. */
static bool is_joined(const struct timeline *t,
		      const struct timeline_span *last,
		      const struct timeline_span *s)
{
	return last->depth == s->depth && is_small(t, last) &&
	       is_small(t, s) && s->from >= last->from &&
	       (s->from <= last->to || s->from - last->to <= t->grain);
}

static void join(struct timeline_span *to, const struct timeline_span *s)
{
	to->to = MAX(s->to, to->to);
	if (s->longest > to->longest) {
		to->longest = s->longest;
		to->func = s->func;
		to->kind = s->kind;
		to->who = s->who;
	}
	to->by = to->by == s->by ? s->by : (uint32_t)TIMELINE_SEVERAL;
	to->back = to->back == s->back ? s->back : (uint32_t)TIMELINE_SEVERAL;
	to->busy += s->busy;
	to->calls += s->calls;
	to->parts += s->parts;
}

/* The last span, if it is of the same stream. */
static struct timeline_span *last_of(const struct timeline_spans *in)
{
	return in->count > in->fence ? &in->at[in->count - 1] : NULL;
}

void timeline_lay(struct timeline *t, struct timeline_spans *in,
		  struct timeline_span s)
{
	struct timeline_span *last;

	if (timeline_is_deep(t, &s))
		s.depth = t->depths;
	while ((last = last_of(in)) && is_swallowed(t, last, &s)) {
		s.calls += last->calls;
		in->count--;
		t->held--;
	}
	if (last && is_joined(t, last, &s)) {
		join(last, &s);
		return;
	}
	*vec_add(&in->at, &in->room, &in->count) = s;
	t->held++;
}

bool timeline_lay_short(struct timeline *t, struct timeline_spans *in,
			func_id func, uint16_t depth, ticks from, ticks to,
			uint64_t *calls)
{
	const ticks took = to - from;
	struct timeline_span *last;

	if (took >= t->grain || depth >= t->depths)
		return false;
	while ((last = last_of(in)) && last->depth > depth &&
	       last->from >= from && last->to <= to) {
		*calls += last->calls;
		in->count--;
		t->held--;
	}
	if (!last || last->depth != depth || last->parts < 2 ||
	    from < last->from ||
	    (from > last->to && from - last->to > t->grain))
		return false;
	last->to = MAX(to, last->to);
	if (took > last->longest) {
		last->longest = took;
		last->func = func;
		last->kind = TIMELINE_CALL;
		last->who = TIMELINE_NONE;
	}
	if (last->by != TIMELINE_NONE)
		last->by = TIMELINE_SEVERAL;
	if (last->back != TIMELINE_NONE)
		last->back = TIMELINE_SEVERAL;
	last->busy += took;
	last->calls += *calls;
	last->parts++;
	return true;
}

/* What is laid down never needs more room than there was. */
static void lay_again(struct timeline *t, struct timeline_spans *in)
{
	const size_t count = in->count;

	in->count = in->fence = 0;
	t->held -= count;
	for (size_t i = 0; i < count; i++)
		timeline_lay(t, in, in->at[i]);
}

/* By the end; of those that end at one tick, the innermost first. */
ORDER_BY(compare_ends, struct timeline_span, UP(to) ?: DOWN(depth) ?: UP(from))

void timeline_sort(struct timeline_spans *in,
		   int (*compare)(const void *, const void *))
{
	order_sort(in->at, in->count, compare);
}

void timeline_fold(struct timeline *t)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		struct timeline_lane *const l = &t->lanes[i];

		if (l->is_mixed)
			timeline_sort(&l->spans, compare_ends);
		lay_again(t, &l->spans);
		lay_again(t, &l->gaps);
		lay_again(t, &l->waits);
		/* What is last now may be another stream's, and later. */
		if (l->is_mixed)
			l->spans.fence = l->spans.count;
	}
}

bool timeline_coarsen(struct timeline *t)
{
	const ticks range = t->to - t->from;

	if (t->grain <= range)
		t->grain = t->grain > 0 ? 2 * t->grain :
			   (range >> FINEST) + 1;
	else if (t->depths > 1)
		t->depths /= 2;
	else
		return false;
	timeline_fold(t);
	return true;
}
