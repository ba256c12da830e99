/* locks.c - sums up waits and their ends: by object, and by stack.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/locks.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* ---- objects ---- */

static void sum_up(const struct waits *w, struct locks_object *o)
{
	ticks *const begins = mem_alloc(2 * o->spans * sizeof(*begins));
	ticks *const ends = begins + o->spans, at;

	for (size_t i = 0; i < o->spans; i++) {
		const struct waits_span *const s = &w->spans[o->span + i];
		const ticks part = waits_part(w, s->begin, s->end);

		begins[i] = waits_cut(w, s->begin);
		ends[i] = s->end;
		o->open += s->is_open && waits_cut(w, s->end) == s->end;
		o->waits += waits_is_in(w, s->begin);
		o->waiting += part;
		o->longest = MAX(o->longest, part);
	}
	for (size_t i = o->end; i < o->end + o->ends; i++)
		o->held += w->ends[i].held;
	o->most = waits_most(begins, ends, o->spans, &at);
	mem_free(begins);
}

ORDER_BY(by_waiting, struct locks_object,
	 DOWN(waiting) ?: waits_compare(&x->of, &y->of))

struct locks_object *locks_list(const struct waits *w, size_t *count)
{
	struct locks_object *list = NULL;
	size_t room = 0, end = 0;

	*count = 0;
	for (size_t i = 0; i < w->span_count;) {
		const struct waits_object *const of = &w->spans[i].of;
		struct locks_object o = { .of = *of, .span = i,
					  .first = w->spans[i].stack };

		while (i < w->span_count &&
		       waits_compare(&w->spans[i].of, of) == 0)
			i++;
		while (end < w->end_count &&
		       waits_compare(&w->ends[end].of, of) < 0)
			end++;
		for (o.end = end; end < w->end_count &&
		     waits_compare(&w->ends[end].of, of) == 0; end++)
			;
		o.spans = i - o.span;
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

static void add(struct stacks *to, struct locks_stack s)
{
	uint32_t *const at = map_put(to->of, s.role, s.stack ?: s.owner);
	struct locks_stack *sum;

	if (*at == 0) {
		*vec_add(&to->list, &to->room, &to->count) = s;
		*at = (uint32_t)to->count;
		return;
	}
	sum = &to->list[*at - 1];
	sum->count += s.count;
	sum->waiting += s.waiting;
	sum->held += s.held;
	sum->longest = MAX(sum->longest, s.longest);
}

/* A span's own time, and the part of it that no end in it explains. */
static void add_span(struct stacks *to, const struct waits *w,
		     const struct waits_span *s)
{
	const struct waits_end *first;
	const size_t ends = waits_ends_in(w, s, &first);
	const ticks all = waits_part(w, s->begin, s->end);
	const ticks left = ends == 0 ? all :
			   waits_part(w, first[ends - 1].at, s->end);
	const bool counts = waits_is_in(w, s->begin);

	add(to, (struct locks_stack){ LOCKS_WAITS, s->stack, 0, counts, all, 0,
				      all });
	if (ends == 0)
		add(to, (struct locks_stack){ LOCKS_UNSEEN, 0, s->owner, counts,
					      left, 0, left });
	else if (left > 0)
		add(to, (struct locks_stack){ LOCKS_FREE, 0, 0, counts, left, 0,
					      left });
}

ORDER_BY(by_role, struct locks_stack,
	 UP(role) ?: DOWN(waiting) ?: UP(stack) ?: UP(owner))

struct locks_stack *locks_stacks(const struct waits *w,
				 const struct locks_object *o, size_t *count)
{
	struct stacks to = { .of = map_new() };

	for (size_t i = o->span; i < o->span + o->spans; i++)
		add_span(&to, w, &w->spans[i]);
	for (size_t i = o->end; i < o->end + o->ends; i++) {
		const struct waits_end *const e = &w->ends[i];

		if (e->waiting > 0)
			add(&to, (struct locks_stack){ LOCKS_HOLDS, e->stack, 0,
				1, e->waiting, e->held, e->held });
		if (e->free > 0)
			add(&to, (struct locks_stack){ LOCKS_FREE, 0, 0, 0,
				e->free, 0, e->gap });
	}
	order_sort(to.list, to.count, by_role);
	map_free(to.of);
	*count = to.count;
	return to.list;
}

const char *locks_role_name(enum locks_role role)
{
	return role == LOCKS_WAITS ? "waits" :
	       role == LOCKS_FREE ? "nobody" : "holds";
}

/* ---- chains ---- */

struct locks_turn locks_turn_in(const struct waits *w,
				const struct waits_span *s)
{
	struct locks_turn t = { .end = NULL };
	const struct waits_end *e;
	ticks from = s->begin;

	for (size_t n = waits_ends_in(w, s, &e); n > 0; n--, e++) {
		from = MAX(from, e->since);
		if (!t.end || e->at - from > t.end->at - t.from)
			t = (struct locks_turn){ e, from };
		from = e->at;
	}
	return t;
}

/* The longest one of an object that ended in a call of that stack. */
static struct locks_turn longest_turn(const struct waits *w,
				      const struct locks_object *o,
				      stack_id holder)
{
	struct locks_turn t = { .end = NULL };

	for (size_t i = o->end; i < o->end + o->ends; i++) {
		const struct waits_end *const e = &w->ends[i];

		if (e->stack == holder && e->held > 0 &&
		    (!t.end || e->held > t.end->held))
			t = (struct locks_turn){ e, e->at - e->held };
	}
	return t;
}

size_t locks_chain(const struct waits *w, const struct locks_object *o,
		   stack_id holder, struct locks_turn *chain, size_t room)
{
	struct locks_turn t = longest_turn(w, o, holder);
	size_t n = 0;

	while (n < room && t.end) {
		const ticks at = locks_late(&t);
		const uint32_t thread = t.end->thread;

		chain[n++] = t;
		t.end = NULL;
		for (size_t i = 0; i < w->span_count && !t.end; i++)
			if (w->spans[i].thread == thread &&
			    w->spans[i].begin <= at && w->spans[i].end > at)
				t = locks_turn_in(w, &w->spans[i]);
	}
	return n;
}
