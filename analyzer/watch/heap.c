/* heap.c - pairs what is taken with what is given back.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/heap.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/watch/site.h"

#include <math.h>
#include <string.h>

void heap_init(struct heap *h, const struct session *session)
{
	*h = (struct heap){ .session = session, .stacks = stack_table_new() };
}

void heap_fini(struct heap *h)
{
	mem_free(h->events);
	map_free(h->coroutine_of);
	stack_table_free(h->stacks);
}

static void add(struct heap *h, const struct replay_event *e, uint64_t address,
		ticks at)
{
	*vec_add(&h->events, &h->room, &h->count) = (struct heap_event){
		.address = address, .at = at, .number = h->count,
		.process = e->process, .thread = e->thread };
}

/* By index + 1; 0: a thread itself takes it. */
static uint32_t coroutine_of(struct heap *h, const struct replay_event *e)
{
	const struct session *const s = h->session;

	if (!h->coroutine_of) {
		h->coroutine_of = map_new();
		for (size_t i = 0; i < s->coroutine_count; i++)
			*map_put(h->coroutine_of, s->coroutines[i].process,
				 s->coroutines[i].serial) = (uint32_t)i + 1;
	}
	return map_find(h->coroutine_of, e->process, e->coroutine);
}

static void on_heap(void *ctx, const struct replay_event *e)
{
	struct heap *const h = ctx;
	struct heap_event *taken;

	if (e->reason == HEAP_FREE)
		add(h, e, e->object, e->tick);
	if (e->reason == HEAP_MOVE) {
		add(h, e, e->old, e->begin);
		h->events[h->count - 1].moves = e->object != 0;
	}
	if (e->reason == HEAP_FREE || e->object == 0)
		return;
	add(h, e, e->object, e->tick);
	taken = &h->events[h->count - 1];
	taken->size = e->size;
	taken->takes = true;
	taken->stack = h->by == HEAP_BY_COROUTINE ? coroutine_of(h, e) :
		       site_stack(h->session, h->stacks,
				  replay_heap_stack(e, h->stacks), e->site);
}

const struct replay_sink heap_sink = { .heap = on_heap };

/* ---- pairs -------------------------------------------------------------- */

ORDER_BY(by_block, struct heap_event,
	 UP(process) ?: UP(address) ?: UP(at) ?: UP(number))

/* Two threads read their clocks in another order than what they did, by less
 * than this. */
#define SLACK_NS 1000

struct pairing {
	struct heap *heap;
	const uint8_t *threads;
	ticks from, to, slack;
	struct heap_table *to_table;
	heap_tell tell;          /* instead of rows; or NULL */
	void *ctx;
	size_t *place;           /* of events, by number */
	struct map *row_of;      /* by stack: index + 1 */
	size_t room;
	struct change { ticks at; double blocks, bytes; } *changes;
	size_t change_count, change_room;
};

static struct heap_row *row_of(struct pairing *p, stack_id stack,
			       uint32_t taker)
{
	const uint32_t thread = p->heap->by == HEAP_BY_THREAD ? taker : 0;
	struct heap_table *const t = p->to_table;
	uint32_t *const at = map_put(p->row_of, stack, thread);

	if (*at == 0) {
		*vec_add(&t->rows, &p->room, &t->count) = (struct heap_row){
			.stack = stack, .thread = thread };
		*at = (uint32_t)t->count;
	}
	return &t->rows[*at - 1];
}

/* What a noted block stands for: a block of n bytes has a sample with the
 * probability p = 1 - exp(-n / mean), so that it stands for 1 / p blocks. */
static struct heap_sum weight(const struct pairing *p, uint64_t bytes)
{
	const double n = (double)bytes, mean = (double)p->to_table->mean;
	const double chance = mean > 0 && n > 0 ? -expm1(-n / mean) : 1;

	return (struct heap_sum){ 1 / chance, n / chance,
				  n * n * (1 - chance) / chance / chance,
				  mean * mean };
}

static void change(struct pairing *p, ticks at, double sign,
		   const struct heap_sum *w)
{
	if (at < p->to)
		*vec_add(&p->changes, &p->change_room, &p->change_count) =
			(struct change){ at, sign * w->blocks,
					 sign * w->bytes };
}

static bool is_in(const struct pairing *p, ticks at)
{
	return at >= p->from && at < p->to;
}

static const struct heap_event *event_of(const struct pairing *p,
					 uint64_t number)
{
	const struct heap_event *const e = number >= p->heap->count ? NULL :
		&p->heap->events[p->place[number]];

	return e && e->number == number ? e : NULL;
}

/* The next one of the same block's address; or NULL. */
static const struct heap_event *after(const struct pairing *p,
				      const struct heap_event *e)
{
	const struct heap_event *const next = e + 1;

	return next < p->heap->events + p->heap->count &&
	       next->process == e->process && next->address == e->address ?
	       next : NULL;
}

/* The first of the moves that led to a block. Times rise along moves, and so do
 * the numbers of equal times: there is an end, this way and the other. */
static const struct heap_event *birth(const struct pairing *p,
				      const struct heap_event *taken)
{
	const struct heap_event *old;

	while ((old = event_of(p, taken->number - 1)) && old->moves &&
	       old > p->heap->events && old[-1].takes &&
	       after(p, old - 1) == old)
		taken = old - 1;
	return taken;
}

/* The fewest bytes of a block until then, in whatever place; 0: it is given
 * back before. */
static uint64_t least_until(const struct pairing *p,
			    const struct heap_event *taken, ticks until)
{
	const struct heap_event *freed = after(p, taken);
	uint64_t least = taken->size;

	while (freed && freed->at < until) {
		taken = freed->moves ? event_of(p, freed->number + 1) : NULL;
		if (!taken || !taken->takes)
			return 0;
		least = MIN(least, taken->size);
		freed = after(p, taken);
	}
	return least;
}

/* What is moved is charged to who took it first, if that one is asked for. */
static struct heap_row *first_row(struct pairing *p,
				  const struct heap_event *taken)
{
	const struct heap_event *first = birth(p, taken);

	if (!p->threads[first->thread])
		first = taken;
	return row_of(p, first->stack, first->thread);
}

/* At each point. */
static void last(struct pairing *p, const struct heap_event *taken,
		 const struct heap_event *freed)
{
	const ticks *const q = p->to_table->quarter;
	struct heap_sum w;
	uint64_t least;

	for (int k = 0; k < HEAP_POINTS; k++) {
		if (taken->at >= q[k] || (freed && freed->at < q[k]))
			continue;
		least = least_until(p, taken, q[k + 2]);
		w = weight(p, taken->size);
		w.bytes *= (double)least / (double)MAX(taken->size, 1);
		if (least == 0)
			continue;
		cct_heap_add(&first_row(p, taken)->lasts[k], &w);
	}
}

/* A block's life. freed: NULL: it is still in use. */
static void live(struct pairing *p, const struct heap_event *taken,
		 const struct heap_event *freed)
{
	const ticks end = freed ? freed->at : UINT64_MAX;
	const struct heap_sum w = weight(p, taken->size);
	struct heap_row *r;

	if (!p->threads[taken->thread] || taken->at >= p->to || end < p->from)
		return;
	if (p->tell) {
		p->tell(p->ctx, &(struct heap_life){ taken->stack,
			taken->thread, taken->at, end, w });
		return;
	}
	last(p, taken, freed);
	if (is_in(p, taken->at) == !is_in(p, end))
		first_row(p, taken)->grown += is_in(p, taken->at) ? w.bytes :
					      -w.bytes;
	r = row_of(p, taken->stack, taken->thread);
	p->to_table->noted += is_in(p, taken->at);
	change(p, taken->at, 1, &w);
	if (freed)
		change(p, end, -1, &w);
	cct_heap_add(is_in(p, taken->at) ? &r->is.taken : &r->before, &w);
	if (!freed || !is_in(p, end)) {
		cct_heap_add(&r->is.in_use, &w);
		return;
	}
	cct_heap_add(&r->is.freed, &w);
	r->lived += end > taken->at ? w.blocks * (double)(end - taken->at) : 0;
}

/* Was what had this address given back after it, as it seems, was taken once
 * more? */
static bool is_late(const struct pairing *p, const struct heap_event *taken)
{
	const struct heap_event *const next = after(p, taken);

	return next && taken->takes && !next->takes && taken[-1].takes &&
	       after(p, taken - 1) == taken && next->thread != taken->thread &&
	       next->at - taken->at <= p->slack;
}

/* By block, and each in its order; before anything follows moves to others. */
static void sort_events(const struct pairing *p)
{
	struct heap_event *const e = p->heap->events;

	order_sort(e, p->heap->count, by_block);
	for (size_t i = 1; i < p->heap->count; i++) {
		const struct heap_event taken = e[i];

		if (!is_late(p, &e[i]))
			continue;
		e[i] = e[i + 1];
		e[i + 1] = taken;
	}
}

/* All events; they are sorted. */
static void pair(struct pairing *p)
{
	const struct heap_event *const e = p->heap->events;
	const size_t n = p->heap->count;
	const struct heap_event *open = NULL;

	for (size_t i = 0; i < n; i++) {
		if (open && (open->process != e[i].process ||
			     open->address != e[i].address)) {
			live(p, open, NULL);
			open = NULL;
		}
		if (open)
			live(p, open, &e[i]);
		p->to_table->lost += open && e[i].takes;
		p->to_table->unknown += !open && !e[i].takes &&
					p->threads[e[i].thread] &&
					is_in(p, e[i].at);
		open = e[i].takes ? &e[i] : NULL;
	}
	if (open)
		live(p, open, NULL);
}

/* Tell of what pair would make rows of. */
static void each(const struct pairing *of, heap_tell tell, void *ctx)
{
	struct heap_table t = { .mean = of->to_table->mean };
	struct pairing p = *of;

	p.to_table = &t;
	p.tell = tell;
	p.ctx = ctx;
	pair(&p);
}

/* ---- sums --------------------------------------------------------------- */

/* What is given back at a moment goes first. */
ORDER_BY(by_time, struct change, UP(at) ?: UP(bytes))

static size_t part_of(const struct pairing *p, ticks at)
{
	const double length = (double)(p->to - p->from);

	const double part = (double)(at - MIN(at, p->from)) / length *
			    (double)p->heap->parts;

	return MIN((size_t)part, p->heap->parts - 1);
}

/* So many bytes are in use in that time. */
static void draw(const struct pairing *p, ticks since, ticks until,
		 double bytes)
{
	double *const curve = p->heap->curve;

	if (!curve || until <= p->from || until <= since)
		return;
	for (size_t i = part_of(p, since); i <= part_of(p, until - 1); i++)
		curve[i] = fmax(curve[i], bytes);
}

static void find_most(struct pairing *p)
{
	struct heap_table *const t = p->to_table;
	double bytes = 0, blocks = 0;
	ticks since = 0;

	order_sort(p->changes, p->change_count, by_time);
	for (size_t i = 0; i < p->change_count; i++) {
		const struct change *const c = &p->changes[i];

		draw(p, since, c->at, bytes);
		since = c->at;
		bytes += c->bytes;
		blocks += c->blocks;
		if (c->at < p->from || bytes <= t->most.bytes)
			continue;
		t->most = (struct heap_sum){ blocks, bytes, 0, 0 };
		t->most_at = c->at;
	}
	draw(p, since, p->to, bytes);
}

void heap_add_row(struct heap_row *to, const struct heap_row *r)
{
	cct_heap_join(&to->is, &r->is);
	cct_heap_add(&to->before, &r->before);
	cct_heap_add(&to->at_most, &r->at_most);
	to->grown += r->grown;
	for (int k = 0; k < HEAP_POINTS; k++)
		cct_heap_add(&to->lasts[k], &r->lasts[k]);
	to->lived += r->lived;
}

double heap_lasting(const struct heap_row *r, int earlier, int later)
{
	return r->lasts[later].bytes - r->lasts[earlier].bytes;
}

ORDER_BY(compare_ticks, ticks, ORDER(*x, *y))

/* Of the events from first until last. */
static void find_quarters(struct pairing *p, ticks first, ticks last)
{
	ticks *const q = p->to_table->quarter;
	const size_t n = p->heap->is_by_events ? p->heap->count : 0;
	ticks *const at = mem_alloc((n + 1) * sizeof(*at));
	size_t in = 0;

	for (size_t i = 0; i < n; i++)
		if (p->heap->events[i].at >= first &&
		    p->heap->events[i].at < last)
			at[in++] = p->heap->events[i].at;
	order_sort(at, in, compare_ticks);
	for (size_t k = 0; k < HEAP_QUARTERS; k++)
		q[k] = in > 0 ? at[in * k / HEAP_QUARTERS] :
		       first + (last - first) / HEAP_QUARTERS * k;
	q[HEAP_QUARTERS] = last;
	mem_free(at);
}

/* The events are sorted. */
static void find_places(struct pairing *p)
{
	const size_t n = p->heap->count;
	ticks first = UINT64_MAX, last = 0;

	p->place = mem_alloc((n + 1) * sizeof(*p->place));
	for (size_t i = 0; i < n; i++) {
		const struct heap_event *const e = &p->heap->events[i];

		p->place[e->number] = i;
		first = MIN(first, e->at);
		last = MAX(last, e->at);
	}
	first = MAX(first, p->from);
	last = MAX(MIN(last, p->to - 1), first) + 1;
	find_quarters(p, first, last);
}

static void add_at_most(void *ctx, const struct heap_life *life)
{
	struct pairing *const p = ctx;
	const ticks at = p->to_table->most_at;

	if (life->from <= at && life->to > at)
		cct_heap_add(&row_of(p, life->stack, life->thread)->at_most,
			     &life->is);
}

void heap_sum_up(struct heap *h, const uint8_t *threads, ticks from, ticks to,
		 struct heap_table *t)
{
	struct pairing p = { .heap = h, .threads = threads, .from = from,
		.to = to, .to_table = t, .row_of = map_new(),
		.slack = h->session->tick_hz / (1000000000 / SLACK_NS) };

	*t = (struct heap_table){ .mean = session_noted(h->session, "heap") };
	sort_events(&p);
	find_places(&p);
	pair(&p);
	find_most(&p);
	each(&p, add_at_most, &p);
	for (size_t i = 0; i < t->count; i++)
		heap_add_row(&t->all, &t->rows[i]);
	map_free(p.row_of);
	mem_free_all(p.changes, p.place);
}

void heap_each(struct heap *h, const uint8_t *threads, heap_tell tell,
	       void *ctx)
{
	struct heap_table t = { .mean = session_noted(h->session, "heap") };
	const struct pairing p = { .heap = h, .threads = threads,
		.to = UINT64_MAX, .to_table = &t,
		.slack = h->session->tick_hz / (1000000000 / SLACK_NS) };

	sort_events(&p);
	each(&p, tell, ctx);
}

/* ---- in the tree -------------------------------------------------------- */

struct putting {
	const struct heap *heap;
	struct session *session;
	struct map *node_of;     /* by thread and stack */
};

static bool is_place(const struct putting *p, const struct stack_frame *f)
{
	return !(f->flags & STACK_OMITTED) &&
	       strstr(func_get(p->session->funcs, f->func)->name, "+0x");
}

/* Below a node. A body may have its Lua state's number in its flags, sampled
 * Lua others. */
static node_id child_of(const struct putting *p, node_id at,
			const struct stack_frame *f)
{
	struct cct *const t = p->session->cct;
	struct func_table *const funcs = p->session->funcs;
	const uint32_t flags = (f->flags & STACK_BODY ? CCT_BODY : 0) |
			       (f->flags & STACK_OMITTED ? CCT_OMITTED : 0);
	const bool is_special = f->func == 0 || (f->flags & STACK_OMITTED);
	char room[48];
	const func_id func = !is_special ? f->func :
		func_special(funcs, stack_frame_name(funcs, f, room));
	node_id id = flags & CCT_BODY || func_get(funcs, func)->noted ?
		     cct_get(t, at)->child : 0;

	while (id && (cct_get(t, id)->func != func ||
		      (cct_get(t, id)->flags & CCT_SHAPE) != flags))
		id = cct_get(t, id)->sibling;
	return id ? id : cct_child(t, at, func, flags);
}

static node_id node_of(struct putting *p, uint32_t thread, stack_id stack)
{
	const size_t depth = stack ? stack_table_depth(p->heap->stacks, stack) :
				     0;
	stack_id *const path = mem_alloc((depth + 1) * sizeof(*path));
	size_t n = 0;
	node_id at;

	while (stack && !map_find(p->node_of, thread, stack)) {
		path[n++] = stack;
		stack = stack_table_get(p->heap->stacks, stack)->below;
	}
	at = stack ? map_find(p->node_of, thread, stack) :
		     cct_root(p->session->cct, thread);
	while (n-- > 0) {
		at = child_of(p, at, stack_table_get(p->heap->stacks,
						     path[n]));
		*map_put(p->node_of, thread, path[n]) = at;
	}
	mem_free(path);
	return at;
}

void heap_put(struct heap *h, struct session *s, ticks from, ticks to)
{
	uint8_t *const threads = mem_alloc(s->thread_count + 1);
	struct putting p = { h, s, map_new() };
	struct heap_table t;

	memset(threads, 1, s->thread_count);
	heap_sum_up(h, threads, from, to > 0 ? to : UINT64_MAX, &t);
	cct_collect_heap(s->cct);
	for (size_t i = 0; i < t.count; i++) {
		const struct heap_row *const r = &t.rows[i];
		stack_id stack = r->stack;

		while (stack) {
			const struct stack_frame *const f =
				stack_table_get(h->stacks, stack);

			if (!f->below || !is_place(&p, f))
				break;
			stack = f->below;
		}
		cct_add_heap(s->cct, node_of(&p, r->thread, stack), &r->is);
	}
	map_free(p.node_of);
	mem_free_all(t.rows, threads);
}

func_id heap_taker(const struct heap *h, struct func_table *funcs,
		   stack_id stack)
{
	while (stack != 0) {
		const struct stack_frame *const f = stack_table_get(h->stacks,
								    stack);

		if (!(f->flags & STACK_OMITTED) &&
		    !strstr(func_get(funcs, f->func)->name, "+0x"))
			return f->func;
		stack = f->below;
	}
	return 0;
}

bool heap_is_luas(const struct heap *h, struct func_table *funcs,
		  stack_id stack)
{
	const struct stack_frame *const f = stack == 0 ? NULL :
					    stack_table_get(h->stacks, stack);
	const char *const name = !f || f->flags & STACK_OMITTED ? "" :
				 func_get(funcs, f->func)->name;

	return strstr(name, "+0x") &&
	       (strstr(name, "lua") || strncmp(name, "lj_", 3) == 0 ||
		strncmp(name, "l_alloc", 7) == 0);
}
