/* locks.c - gives the time of waiters to holders.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/locks.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* ---- the turns of one object ---- */

/* Up to an end, since the end before. */
struct turn {
	ticks since;             /* when the first of the waiters came in it */
	ticks waiting;           /* of all of them */
	uint64_t whole;          /* how many more wait all through it than
	                          * through the one before */
};

struct own { uint32_t thread; size_t end; };

struct turns {
	const struct waits *of;
	const struct waits_end *end;
	struct turn *turn; size_t count;
	struct own *own;         /* all ends again, by thread */
};

ORDER_BY(by_thread, struct own, UP(thread) ?: UP(end))

static struct turns make_turns(const struct waits *w,
			       const struct locks_object *o)
{
	struct turns t = { .of = w, .end = w->ends + o->end, .count = o->ends,
		.turn = mem_alloc((o->ends + 1) * sizeof(*t.turn)),
		.own = mem_alloc((o->ends + 1) * sizeof(*t.own)) };

	for (size_t i = 0; i < t.count; i++)
		t.own[i] = (struct own){ t.end[i].thread, i };
	order_sort(t.own, t.count, by_thread);
	return t;
}

/* The first end of the thread's own from i on, but last at most. */
static size_t own_from(const struct turns *t, uint32_t thread, size_t i,
		       size_t last)
{
	const size_t at = ORDER_FIRST(k, t->count,
		(ORDER(t->own[k].thread, thread) ?:
		 ORDER(t->own[k].end, i)) < 0);

	return at < t->count && t->own[at].thread == thread ?
	       MIN(last, t->own[at].end) : last;
}

/* of: how many wait so long. */
static void add_turn(struct turn *t, ticks from, ticks to, uint64_t of)
{
	if (from == to || of == 0)
		return;
	t->since = t->waiting == 0 ? from : MIN(t->since, from);
	t->waiting += (to - from) * of;
}

/* A waiter's time to the ends that lie in it, but for its thread's own: that
 * gives a mutex back, and waits then. Returns what no end in it explains: after
 * the last one, or all of it. */
static ticks give(struct turns *t, const struct waits_span *s, bool *any)
{
	const size_t last = ORDER_FIRST(k, t->count, t->end[k].at <= s->end);
	ticks from = s->begin;
	size_t i = ORDER_FIRST(k, t->count, t->end[k].at <= s->begin), own;

	*any = false;
	for (; i < last; i = own + 1) {
		own = own_from(t, s->thread, i, last);
		if (own == i)
			continue;
		add_turn(&t->turn[i], waits_cut(t->of, from),
			 waits_cut(t->of, t->end[i].at), 1);
		t->turn[i + 1].whole++;
		t->turn[own].whole--;
		from = t->end[own - 1].at;
		*any = true;
	}
	return waits_part(t->of, from, s->end);
}

/* Those that wait all through turns were only counted. */
static void give_whole(struct turns *t)
{
	uint64_t whole = 0;

	for (size_t i = 1; i < t->count; i++) {
		whole += t->turn[i].whole;
		add_turn(&t->turn[i], waits_cut(t->of, t->end[i - 1].at),
			 waits_cut(t->of, t->end[i].at), whole);
	}
}

static ticks held_in(const struct turns *t, size_t i)
{
	return t->turn[i].waiting == 0 ? 0 :
	       waits_cut(t->of, t->end[i].at) - t->turn[i].since;
}

/* ---- objects ---- */

ORDER_BY(by_value, ticks, ORDER(*x, *y))

/* The most that wait at a time. */
static uint64_t most_of(const struct waits *w, const struct waits_span *span,
			size_t count)
{
	ticks *const ends = mem_alloc((count + 1) * sizeof(*ends));
	uint64_t most = 0;
	size_t gone = 0;

	for (size_t i = 0; i < count; i++)
		ends[i] = span[i].end;
	order_sort(ends, count, by_value);
	for (size_t i = 0; i < count; i++) {
		while (gone < i && ends[gone] <= waits_cut(w, span[i].begin))
			gone++;
		most = MAX(most, i + 1 - gone);
	}
	mem_free(ends);
	return most;
}

static void sum_up(const struct waits *w, struct locks_object *o)
{
	struct turns t = make_turns(w, o);
	bool any;

	for (size_t i = o->span; i < o->span + o->spans; i++) {
		const struct waits_span *const s = &w->spans[i];
		const ticks part = waits_part(w, s->begin, s->end);

		give(&t, s, &any);
		o->open += s->is_open && waits_cut(w, s->end) == s->end;
		o->waits += waits_is_in(w, s->begin);
		o->waiting += part;
		o->longest = MAX(o->longest, part);
	}
	give_whole(&t);
	for (size_t i = 0; i < t.count; i++)
		o->held += held_in(&t, i);
	o->most = most_of(w, w->spans + o->span, o->spans);
	mem_free_all(t.turn, t.own);
}

ORDER_BY(by_waiting, struct locks_object,
	 DOWN(waiting) ?: waits_compare(&x->of, &y->of))

struct locks_object *locks_list(const struct waits *w, size_t *count)
{
	struct locks_object *list = NULL;
	size_t room = 0, end = 0;

	*count = 0;
	for (size_t i = 0, n; i < w->span_count; i += n) {
		const struct waits_object *const of = &w->spans[i].of;
		struct locks_object o = { .of = *of, .span = i,
					  .first = w->spans[i].stack,
					  .place = w->spans[i].place };

		for (n = 1; i + n < w->span_count &&
		     waits_compare(&w->spans[i + n].of, of) == 0; n++)
			;
		while (end < w->end_count &&
		       waits_compare(&w->ends[end].of, of) < 0)
			end++;
		for (o.end = end; end < w->end_count &&
		     waits_compare(&w->ends[end].of, of) == 0; end++)
			;
		o.spans = n;
		o.ends = end - o.end;
		sum_up(w, &o);
		*vec_add(&list, &room, count) = o;
	}
	order_sort(list, *count, by_waiting);
	return list;
}

/* ---- stacks ---- */

struct stacks {
	struct locks_stack *list; size_t count, room;
	struct map *of;          /* by role and stack or owner: index + 1 */
};

static void add(struct stacks *to, const struct locks_stack *s)
{
	uint32_t *const at = map_put(to->of, s->role, s->stack ? s->stack :
				     s->owner);
	struct locks_stack *sum;

	if (*at == 0) {
		*vec_add(&to->list, &to->room, &to->count) =
			(struct locks_stack){ .role = s->role, .owner =
				s->owner, .stack = s->stack };
		*at = (uint32_t)to->count;
	}
	sum = &to->list[*at - 1];
	sum->count += s->count;
	sum->waiting += s->waiting;
	sum->held += s->held;
	sum->longest = MAX(sum->longest, s->longest);
}

/* A span's own time, and the part of it that no end in it explains. */
static void add_span(struct stacks *to, struct turns *t,
		     const struct waits_span *s)
{
	const ticks all = waits_part(t->of, s->begin, s->end);
	const bool counts = waits_is_in(t->of, s->begin);
	struct locks_stack left = { LOCKS_UNSEEN, 0, s->owner, counts, 0, 0,
				    0 };
	bool any;

	add(to, &(struct locks_stack){ LOCKS_WAITS, s->stack, 0, counts, all, 0,
				       all });
	left.waiting = left.longest = give(t, s, &any);
	if (any) {
		left.role = LOCKS_FREE;
		left.owner = 0;
	}
	if (left.waiting > 0 || !any)
		add(to, &left);
}

ORDER_BY(by_role, struct locks_stack,
	 UP(role) ?: DOWN(waiting) ?: UP(stack) ?: UP(owner))

struct locks_stack *locks_stacks(const struct waits *w,
				 const struct locks_object *o, size_t *count)
{
	struct stacks to = { .of = map_new() };
	struct turns t = make_turns(w, o);

	for (size_t i = o->span; i < o->span + o->spans; i++)
		add_span(&to, &t, &w->spans[i]);
	give_whole(&t);
	for (size_t i = 0; i < t.count; i++) {
		const ticks held = held_in(&t, i);

		if (t.turn[i].waiting > 0)
			add(&to, &(struct locks_stack){ LOCKS_HOLDS,
				t.end[i].stack, 0, 1, t.turn[i].waiting, held,
				held });
	}
	order_sort(to.list, to.count, by_role);
	map_free(to.of);
	mem_free_all(t.turn, t.own);
	*count = to.count;
	return to.list;
}

/* ---- chains ---- */

struct locks_turn locks_turn_in(const struct waits *w,
				const struct waits_span *s)
{
	struct locks_turn t = { .from = 0 };
	ticks from = s->begin;
	size_t i = ORDER_FIRST(k, w->end_count,
		(waits_compare(&w->ends[k].of, &s->of) ?:
		 ORDER(w->ends[k].at, s->begin + 1)) < 0);

	for (; i < w->end_count && w->ends[i].at <= s->end &&
	     waits_compare(&w->ends[i].of, &s->of) == 0; i++) {
		const struct waits_end *const e = &w->ends[i];

		if (e->thread == s->thread)
			continue;
		if (e->at - from > t.to - t.from)
			t = (struct locks_turn){ s->of, s->place, e->thread,
						 e->stack, from, e->at };
		from = e->at;
	}
	return t;
}

/* The longest one of an object that ended in a call of that stack. */
static struct locks_turn longest_turn(const struct waits *w,
				      const struct locks_object *o,
				      stack_id holder)
{
	struct waits whole = *w; /* not cut */
	struct turns t = make_turns(&whole, o);
	struct locks_turn longest = { .from = 0 };
	bool any;

	whole.from = whole.to = 0;
	for (size_t i = o->span; i < o->span + o->spans; i++)
		give(&t, &w->spans[i], &any);
	give_whole(&t);
	for (size_t i = 0; i < t.count; i++)
		if (t.end[i].stack == holder &&
		    held_in(&t, i) > longest.to - longest.from)
			longest = (struct locks_turn){ o->of, o->place,
				t.end[i].thread, holder, t.turn[i].since,
				t.end[i].at };
	mem_free_all(t.turn, t.own);
	return longest;
}

/* For what the thread waited late in its turn; NULL: for nothing. */
static const struct waits_span *waited_in(const struct waits *w,
					  const struct locks_turn *t)
{
	const ticks at = locks_late(t);

	for (size_t i = 0; i < w->span_count; i++) {
		const struct waits_span *const s = &w->spans[i];

		if (s->thread == t->thread && s->begin <= at && s->end > at)
			return s;
	}
	return NULL;
}

size_t locks_chain(const struct waits *w, const struct locks_object *o,
		   stack_id holder, struct locks_turn *chain, size_t room)
{
	const struct waits_span *next;
	size_t n = 0;

	*chain = longest_turn(w, o, holder);
	while (n < room && chain[n].to > 0) {
		next = ++n < room ? waited_in(w, &chain[n - 1]) : NULL;
		if (!next)
			break;
		chain[n] = locks_turn_in(w, next);
	}
	return n;
}
