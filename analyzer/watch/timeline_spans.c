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

/* A short call as a span. Set in place: a copy would wait for what is
 * written. */
static inline void set_call(struct timeline_span *s,
			    const struct replay_call *c, uint16_t depth,
			    uint64_t calls)
{
	s->from = c->begin;
	s->to = c->end;
	s->busy = s->longest = c->end - c->begin;
	s->calls = calls;
	s->parts = 1;
	s->func = c->func;
	s->depth = depth;
	s->kind = TIMELINE_CALL;
	s->by = s->back = s->who = TIMELINE_NONE;
}

/* A short call joins a span, which is no run. */
static inline void join_call(struct timeline_span *to,
			     const struct replay_call *c, uint64_t calls)
{
	const ticks took = c->end - c->begin;

	to->to = MAX(c->end, to->to);
	if (took > to->longest) {
		to->longest = took;
		to->func = c->func;
		to->kind = TIMELINE_CALL;
		to->who = TIMELINE_NONE;
	}
	to->busy += took;
	to->calls += calls;
	to->parts++;
}

size_t timeline_lay_short(struct timeline *t, struct timeline_spans *in,
			  size_t base, const struct replay_call *call, size_t n)
{
	const ticks grain = t->grain;
	struct timeline_span *last = last_of(in);
	size_t i = 0;

	for (; i < n && t->held <= t->most; i++) {
		const struct replay_call *const c = &call[i];
		const ticks took = c->end - c->begin;
		const uint16_t depth = timeline_depth(base, c->depth);
		uint64_t calls = c->begin < t->end;

		if (took >= grain || depth >= t->depths ||
		    c->begin < t->from || c->end > t->to)
			break;
		while (last && last->depth > depth && last->from >= c->begin &&
		       last->to <= c->end) {
			calls += last->calls;
			in->count--;
			t->held--;
			last = last_of(in);
		}
		if (last && last->depth == depth && is_small(t, last) &&
		    c->begin >= last->from &&
		    (c->begin <= last->to || c->begin - last->to <= grain)) {
			join_call(last, c, calls);
			continue;
		}
		last = vec_add(&in->at, &in->room, &in->count);
		set_call(last, c, depth, calls);
		t->held++;
	}
	return i;
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
