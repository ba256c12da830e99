/* slow_list.c - which calls are kept, and how long all of them took.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/slow_list.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <stdlib.h>

const char *slow_list_end(enum slow_end end)
{
	static const char *const names[] = {
		[SLOW_RETURNED] = "returned", [SLOW_UNWOUND] = "unwound",
		[SLOW_DIED] = "died", [SLOW_CUT] = "cut", [SLOW_OPEN] = "open"
	};

	return names[end];
}

/* The time by which the call is sorted and limited. */
static ticks key_of(const struct slow_list *s, const struct slow_call *c)
{
	switch (s->options.key) {
	case SLOW_SELF:
		return c->self;
	case SLOW_WALL:
		return c->total + c->suspended;
	case SLOW_SUSPENDED:
		return c->suspended;
	case SLOW_CPU:
		return c->total - MIN(c->parts.off +
				      (slow_knows_switches(c) ? 0 :
				       c->parts.unknown), c->total);
	case SLOW_RUN_WAIT:
		return c->parts.ready;
	case SLOW_BLOCKED:
		return c->parts.off - MIN(c->parts.ready, c->parts.off);
	case SLOW_UNDELAYED:
		return c->total - MIN(c->parts.ready, c->total);
	default:
		return c->total;
	}
}

/* Below 0: x comes first. Calls that differ are never equal: the result is the
 * same in whatever order the streams were replayed, and with any limit. */
static int compare(const struct slow_list *s, const struct slow_call *x,
		   const struct slow_call *y)
{
	return ORDER(key_of(s, y), key_of(s, x)) ?: UP(begin) ?: UP(process) ?:
	       UP(thread) ?: DOWN(total) ?: UP(func);
}

/* Was the thread asked for? */
static bool is_on(const struct slow_options *o, uint32_t thread)
{
	return !o->threads || (thread < o->thread_count && o->threads[thread]);
}

/* Was the time? */
static inline bool is_in(const struct slow_options *o, ticks begin)
{
	return begin >= o->from && (o->to == 0 || begin < o->to);
}

static bool is_chosen(const struct slow_list *s, ticks begin, uint32_t thread)
{
	return is_in(&s->options, begin) && is_on(&s->options, thread);
}

bool slow_list_takes(const struct slow_list *s, const struct slow_call *c)
{
	const ticks key = key_of(s, c);

	if (!is_chosen(s, c->begin, c->thread) || key < s->options.longer ||
	    (s->options.no_handlers && c->level > 0) ||
	    (s->options.counted && s->options.counted[c->func]))
		return false;
	if (s->options.top == 0 || s->best_count < s->options.top)
		return true;
	/* Most calls are quicker than all that are kept. */
	return key >= key_of(s, &s->best[0]) &&
	       compare(s, c, &s->best[0]) < 0;
}

static ticks column_begin(const struct slow_options *o, size_t index)
{
	const unsigned __int128 n = (unsigned __int128)(o->last - o->first) *
				    index + o->columns - 1;

	return o->first + (ticks)(n / o->columns);
}

/* Those of the first and of the last column take what is before and behind. */
static __attribute__((noinline)) size_t find_column(struct slow_list *s,
						    ticks begin)
{
	const struct slow_options *const o = &s->options;
	struct slow_column *const c = &s->column;

	if (begin <= o->first || o->last <= o->first)
		return 0;
	if (begin >= o->last)
		return o->columns - 1;
	c->index = (size_t)((unsigned __int128)(begin - o->first) *
			    o->columns / (o->last - o->first));
	c->from = column_begin(o, c->index);
	c->to = column_begin(o, c->index + 1);
	return c->index;
}

static inline size_t column_of(struct slow_list *s, ticks begin)
{
	const struct slow_column *const c = &s->column;

	return begin >= c->from && begin < c->to ? c->index :
	       find_column(s, begin);
}

static inline void count(struct slow_list *s, ticks begin, ticks total)
{
	struct slow_found *const f = &s->found;
	const uint32_t step = hist_step(total);

	if (f->ended == 0 || total < f->least)
		f->least = total;
	f->most = MAX(total, f->most);
	f->ended++;
	f->sum += total;
	f->steps[step]++;
	if (f->over_time)
		f->over_time[column_of(s, begin) * HIST_OCTAVES +
			     step / HIST_OCTAVE]++;
}

void slow_list_count(struct slow_list *s, const struct slow_call *c)
{
	if (!is_chosen(s, c->begin, c->thread))
		return;
	/* How long it would have taken is not known. */
	if (c->end == SLOW_CUT || c->end == SLOW_OPEN)
		s->found.open++;
	else
		count(s, c->begin, c->total);
}

void slow_list_count_brief(struct slow_list *s, uint32_t thread,
			   const struct replay_call *call, size_t n)
{
	const struct slow_options *const o = &s->options;

	for (size_t i = is_on(o, thread) ? 0 : n; i < n; i++) {
		const struct replay_call *const c = &call[i];

		if (slow_list_wants(s, c->func) && is_in(o, c->begin))
			count(s, c->begin, c->end - c->begin);
	}
}

/* Restore the heap below i. */
static void sink_down(struct slow_list *s, size_t i)
{
	for (;;) {
		struct slow_call *const h = s->best;
		struct slow_call swap;
		size_t worst = i;

		for (size_t k = 2 * i + 1; k <= 2 * i + 2; k++)
			if (k < s->best_count &&
			    compare(s, &h[k], &h[worst]) > 0)
				worst = k;
		if (worst == i)
			return;
		swap = h[i];
		h[i] = h[worst];
		h[worst] = swap;
		i = worst;
	}
}

/* Restore the heap above i. */
static void rise(struct slow_list *s, size_t i)
{
	while (i > 0) {
		struct slow_call *const h = s->best;
		const size_t up = (i - 1) / 2;
		const struct slow_call swap = h[i];

		if (compare(s, &h[i], &h[up]) <= 0)
			return;
		h[i] = h[up];
		h[up] = swap;
		i = up;
	}
}

void slow_list_put(struct slow_list *s, const struct slow_call *c)
{
	assert(slow_list_takes(s, c));
	/* The new call is better than the worst one, which it replaces. */
	if (s->options.top != 0 && s->best_count == s->options.top) {
		s->best[0] = *c;
		sink_down(s, 0);
	} else {
		*vec_add(&s->best, &s->best_room, &s->best_count) = *c;
		if (s->options.top != 0)
			rise(s, s->best_count - 1);
	}
	s->least = s->options.longer;
	if (s->options.top != 0 && s->best_count == s->options.top &&
	    key_of(s, &s->best[0]) > s->least)
		s->least = key_of(s, &s->best[0]);
}

static int compare_calls(const void *a, const void *b, void *list)
{
	return compare(list, a, b);
}

void slow_list_sort(struct slow_list *s)
{
	if (s->best_count > 0)
		qsort_r(s->best, s->best_count, sizeof(*s->best),
			compare_calls, s);
	s->found.calls = s->best;
	s->found.count = s->best_count;
}
