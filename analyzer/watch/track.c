/* track.c - keeps the spans of a track in the order in which they end, so that
 * those which a span contains are right before it. All of them can be folded
 * anew at any time by adding them once more.
 *
 * Why this stays nested: a span that is kept is at least as long as the limit,
 * or as far from what was before it; so whatever contains it is kept, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/track.h"

#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <stdlib.h>

void track_fini(struct track *t)
{
	if (t->waits)
		track_fini(t->waits);
	mem_free_all(t->spans, t->pending, t->is_pending, t->waits);
}

/* ---- folding ---- */

/* Everything that pends at that depth or a lower one is over. It is earlier
 * than what comes next; the outermost is the earliest. */
static void flush(struct track *t, size_t depth)
{
	for (size_t i = t->low; i <= depth && i < t->is_pending_room; i++) {
		if (!t->is_pending[i])
			continue;
		t->is_pending[i] = false;
		*vec_add(&t->spans, &t->room, &t->count) = t->pending[i];
	}
	if (t->low <= depth)
		t->low = depth + 1;
}

static inline bool pends(const struct track *t, size_t depth)
{
	return depth < t->is_pending_room && t->is_pending[depth];
}

static void pend(struct track *t, const struct span *s)
{
	const size_t need = (size_t)s->depth + 1;

	vec_need(&t->pending, &t->pending_room, need);
	vec_need_zeroed(&t->is_pending, &t->is_pending_room, need);
	t->pending[s->depth] = *s;
	t->is_pending[s->depth] = true;
	t->low = MIN(s->depth, t->low);
}

/* Spans of one function are still that function's, but not if other calls are
 * in one of them. */
static inline void join(struct span *to, const struct span *s)
{
	to->end += s->end - s->begin;
	to->calls += s->calls;
	to->flags |= SPAN_FOLDED | (s->flags & (SPAN_DEEP | SPAN_MIXED));
	if (to->kind != s->kind || to->func != s->func ||
	    (to->to != s->to && s->kind == SPAN_RUN))
		to->flags |= SPAN_MIXED;
	if (to->kind == SPAN_SAMPLED || s->kind == SPAN_SAMPLED)
		to->kind = SPAN_SAMPLED;
	else if (to->kind != s->kind || s->kind == SPAN_RUN)
		to->kind = to->flags & SPAN_MIXED ? SPAN_CALL : to->kind;
	to->to = to->to == s->to ? s->to : (uint32_t)TRACK_NONE;
	if (s->longest > to->longest) {
		to->longest = s->longest;
		to->func = s->func;
	}
}

/* Does a short span join what was folded before it, with no time of the limit's
 * length between them? */
static inline bool is_joined(const struct track *t, const struct span *s,
			     ticks below)
{
	const struct span *const before = &t->pending[s->depth];

	return pends(t, s->depth) && !(s->flags & SPAN_ALONE) &&
	       s->begin >= before->end && s->begin - before->end < below;
}

/* The span is short: it takes what is folded below it, and joins what was
 * folded before it. */
static void fold(struct track *t, struct span s, ticks below)
{
	if (pends(t, (size_t)s.depth + 1)) {
		s.calls += t->pending[s.depth + 1].calls;
		s.flags |= SPAN_DEEP;
		t->is_pending[s.depth + 1] = false;
	}
	if (is_joined(t, &s, below)) {
		join(&t->pending[s.depth], &s);
		return;
	}
	if (pends(t, s.depth))
		flush(t, s.depth);
	pend(t, &s);
}

void track_add(struct track *t, const struct span *s, ticks below)
{
	if (s->kind != SPAN_MISSING && s->kind != SPAN_OFF &&
	    (s->flags & SPAN_FOLDED || s->end - s->begin < below)) {
		/* Most spans come here, and most of these join. */
		if (!pends(t, (size_t)s->depth + 1) && is_joined(t, s, below))
			join(&t->pending[s->depth], s);
		else
			fold(t, *s, below);
		return;
	}
	flush(t, (size_t)s->depth + 1);
	*vec_add(&t->spans, &t->room, &t->count) = *s;
}

void track_flush(struct track *t)
{
	flush(t, t->is_pending_room);
}

/* In place: what comes out is never more than what was taken in. */
void track_fold(struct track *t, ticks below)
{
	struct span s;
	size_t count;

	track_flush(t);
	count = t->count;
	t->count = 0;
	t->low = 0;
	for (size_t i = 0; i < count; i++) {
		s = t->spans[i];
		track_add(t, &s, below);
	}
}

/* ---- order ---- */

void track_join(struct track *t, struct track *from)
{
	vec_need(&t->spans, &t->room, t->count + from->count);
	if (from->count > 0)
		memcpy(t->spans + t->count, from->spans,
		       from->count * sizeof(*t->spans));
	t->count += from->count;
	if (from->runs > 0) {
		t->from = t->runs > 0 ? MIN(from->from, t->from) : from->from;
		t->to = MAX(from->to, t->to);
		t->runs += from->runs;
		t->active += from->active;
		from->runs = 0;
	}
	mem_free(from->spans);
	from->spans = NULL;
	from->count = from->room = 0;
}

/* A span of depth 0, with all that it contains: `first` and those after it. */
struct tree { ticks begin; size_t first, count; };

ORDER_BY(by_begin, struct tree, UP(begin) ?: UP(first))

/* The trees, in the order of time: other threads may have had the coroutine in
 * between. The caller frees them. */
static struct tree *list_trees(const struct track *t, size_t *count)
{
	struct tree *trees = NULL;
	size_t room = 0, first = 0;

	bool is_sorted = true;

	*count = 0;
	for (size_t i = 0; i < t->count; i++) {
		if (t->spans[i].depth != 0)
			continue;
		*vec_add(&trees, &room, count) = (struct tree){
			t->spans[i].begin, first, i + 1 - first };
		is_sorted = is_sorted && (*count < 2 ||
			trees[*count - 2].begin <= t->spans[i].begin);
		first = i + 1;
	}
	assert(first == t->count);
	if (!is_sorted)
		qsort(trees, *count, sizeof(*trees), by_begin);
	return trees;
}

/* Before a span come those that were over when the first span in it began, and
 * those that contain it, one of each lower depth. open: by depth, how many were
 * over before the spans that contain the last one began. */
static void put_in_order(const struct span *from, size_t count,
			 struct span *to, size_t **open, size_t *room)
{
	size_t depth = 0;        /* spans of this depth and above are over */

	for (size_t i = 0; i < count; i++) {
		const size_t d = from[i].depth;

		vec_need(open, room, d + 1);
		/* The first in those that contain it, too. */
		while (depth <= d)
			(*open)[depth++] = i;
		assert((*open)[d] + d < count);
		to[(*open)[d] + d] = from[i];
		depth = d;
	}
}

/* Cut what is not in the time left by what was before and by what contains it:
 * reach has that time, by depth. */
static uint64_t nest(struct track *t)
{
	struct reach { ticks from, to; } *reach = NULL;
	size_t room = 0;
	uint64_t cut = 0;

	vec_need(&reach, &room, 1);
	reach[0] = (struct reach){ 0, UINT64_MAX };
	for (size_t i = 0; i < t->count; i++) {
		struct span *const s = &t->spans[i];
		const struct reach r = reach[s->depth];
		const ticks begin = s->begin, end = s->end;

		s->begin = begin < r.from ? r.from : MIN(r.to, begin);
		s->end = end < s->begin ? s->begin : MIN(r.to, end);
		cut += s->begin != begin || s->end != end;
		vec_need(&reach, &room, (size_t)s->depth + 2);
		reach[s->depth].from = s->end;
		reach[s->depth + 1] = (struct reach){ s->begin, s->end };
	}
	mem_free(reach);
	return cut;
}

uint64_t track_finish(struct track *t)
{
	size_t count, room = 0, put = 0, *open = NULL;
	struct span *to;
	struct tree *trees;

	track_flush(t);
	to = mem_grow(NULL, t->count + 1, sizeof(*to));
	trees = list_trees(t, &count);
	for (size_t i = 0; i < count; i++) {
		put_in_order(t->spans + trees[i].first, trees[i].count,
			     to + put, &open, &room);
		put += trees[i].count;
	}
	mem_free_all(trees, open, t->spans);
	t->spans = to;
	t->room = t->count + 1;
	return nest(t);
}
