/* slow_best.c - which calls are kept, and how long all of them took.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow_state.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

static ticks key_of(const struct slow *s, const struct slow_call *c)
{
	switch (s->options.key) {
	case SLOW_SELF:
		return c->self;
	case SLOW_WALL:
		return c->total + c->suspended;
	case SLOW_SUSPENDED:
		return c->suspended;
	default:
		return c->total;
	}
}

/* Below 0: a comes first. No two calls are equal that can be told apart. */
static int compare(const struct slow *s, const struct slow_call *a,
		   const struct slow_call *b)
{
	const ticks x = key_of(s, a), y = key_of(s, b);

	if (x != y)
		return x > y ? -1 : 1;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->func < b->func ? -1 : a->func > b->func;
}

static int is_chosen(const struct slow *s, const struct slow_call *c)
{
	const struct slow_options *const o = &s->options;

	return c->begin >= o->from && (o->to == 0 || c->begin < o->to) &&
	       (!o->threads || (c->thread < o->thread_count &&
				       o->threads[c->thread]));
}

int slow_best_is_one(const struct slow *s, const struct slow_call *c)
{
	if (!is_chosen(s, c) || key_of(s, c) < s->options.longer)
		return 0;
	return s->options.top == 0 || s->best_count < s->options.top ||
	       compare(s, c, &s->best[0]) < 0;
}

void slow_best_count(struct slow *s, const struct slow_call *c)
{
	struct slow_found *const f = &s->found;

	if (!is_chosen(s, c))
		return;
	if (c->end == SLOW_CUT || c->end == SLOW_OPEN) {
		f->open++;
		return;
	}
	if (f->ended == 0 || c->total < f->least)
		f->least = c->total;
	if (c->total > f->most)
		f->most = c->total;
	f->ended++;
	f->sum += c->total;
	f->steps[hist_step(c->total)]++;
}

static void sink_down(struct slow *s, size_t i)
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

static void rise(struct slow *s, size_t i)
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

void slow_best_put(struct slow *s, const struct slow_call *c)
{
	if (s->options.top != 0 && s->best_count == s->options.top) {
		s->best[0] = *c;
		sink_down(s, 0);
		return;
	}
	*vec_add(&s->best, &s->best_room, &s->best_count) = *c;
	if (s->options.top != 0)
		rise(s, s->best_count - 1);
}

static int compare_calls(const void *a, const void *b, void *slow)
{
	return compare(slow, a, b);
}

void slow_best_sort(struct slow *s)
{
	if (s->best_count > 0)
		qsort_r(s->best, s->best_count, sizeof(*s->best),
			compare_calls, s);
	s->found.calls = s->best;
	s->found.count = s->best_count;
	s->found.stacks = s->stacks;
}
