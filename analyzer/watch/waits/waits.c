/* waits.c - follows the calls that wait until they end. A stream may have
 * several open ones: a signal handler may wait, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/waits.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/watch/site.h"

#include <string.h>

/* A call that waits: its frame's depth, and its span. */
struct waits_open { uint32_t depth; size_t span; };

/* A handler may wait in a wait, but not so often: deeper ones are calls like
 * any other. */
enum { MOST_OPEN = 64 };

void waits_init(struct waits *w, const struct session *session)
{
	*w = (struct waits){ .session = session, .stacks = stack_table_new() };
}

void waits_fini(struct waits *w)
{
	for (size_t i = 0; i < w->lane_room; i++)
		mem_free(w->lanes[i].open);
	mem_free_all(w->lanes, w->spans, w->ends, w->births, w->times,
		     w->sleeps);
	stack_table_free(w->stacks);
}

static struct waits_lane *lane(struct waits *w, const struct stream *st)
{
	const size_t number = stream_number(st);

	vec_need_zeroed(&w->lanes, &w->lane_room, number + 1);
	return &w->lanes[number];
}

static struct waits_object object_of(const struct replay_event *e)
{
	const uint32_t kind = e->reason & WAIT_KIND;

	return (struct waits_object){
		.process = e->process, .address = e->object,
		.kind = kind == WAIT_WRITE ? WAIT_READ : kind };
}

/* The stack of a call that waits; who makes the call is among it also without
 * hooks. */
static stack_id stack_of(struct waits *w, const struct replay_event *e)
{
	const stack_id stack = stream_stack(e->stream, 0,
					    stream_depth(e->stream) - 1,
					    w->stacks, 0);

	return stack_table_push(w->stacks,
				site_stack(w->session, w->stacks, stack,
					   e->site), e->func, 0);
}

static void add_birth(struct waits *w, const struct replay_event *e,
		      const struct stream_frame *f, stack_id stack)
{
	const bool detaches = e->reason & WAIT_ENDS;

	*vec_add(&w->births, &w->birth_room, &w->birth_count) =
		(struct waits_birth){ .of = object_of(e),
			.begin = f->is_known ? f->entry : e->tick,
			.stack = stack_table_get(w->stacks, stack)->below,
			.is_detached = detaches || e->owner != 0,
			.is_made = !detaches };
}

/* When the call gives up; 0: never. */
static ticks until_of(const struct waits *w, const struct replay_event *e)
{
	const ticks left = (ticks)((unsigned __int128)e->left *
				   w->session->tick_hz / 1000000000);

	return e->left > 0 && left < UINT64_MAX / 4 ? e->tick + left : 0;
}

/* A call may say two things: that it lets a mutex go, and that it waits. */
static void on_wait(void *ctx, const struct replay_event *e)
{
	struct waits *const w = ctx;
	const size_t depth = stream_depth(e->stream);
	const stack_id stack = stack_of(w, e);
	const struct stream_frame f = stream_frame(e->stream, depth - 1);
	struct waits_lane *const l = lane(w, e->stream);

	if ((e->reason & WAIT_KIND) == WAIT_THREAD) {
		add_birth(w, e, &f, stack);
		return;
	}
	if (e->reason & WAIT_ENDS) {
		*vec_add(&w->ends, &w->end_room, &w->end_count) =
			(struct waits_end){ object_of(e), e->tick, e->thread,
					    stack, e->coroutine };
		return;
	}
	if (l->count == MOST_OPEN)
		return;
	*vec_add(&l->open, &l->room, &l->count) =
		(struct waits_open){ e->depth, w->span_count };
	*vec_add(&w->spans, &w->span_room, &w->span_count) =
		(struct waits_span){
			.of = object_of(e), .begin = f.is_known ? f.entry :
			e->tick, .end = e->tick, .thread = e->thread,
			.owner = e->owner, .stack = stack, .place = e->place,
			.is_open = true, .mutex = e->mutex,
			.mutex_place = e->mutex_place,
			.until = until_of(w, e) };
}

static struct waits_times *times(struct waits *w, uint32_t thread)
{
	vec_need_zeroed(&w->times, &w->time_count, (size_t)thread + 1);
	return &w->times[thread];
}

/* The innermost call that was open. */
static void see_open(struct waits *w, const struct replay_event *e)
{
	struct waits_times *const t = times(w, e->thread);

	if (e->depth + 1 < t->open_depth)
		return;
	t->open_depth = e->depth + 1;
	t->open = func_is_libc(w->session->funcs, e->func) ? e->func : 0;
}

/* What the innermost call of a thread waits for: a kind of blocked time. */
static uint32_t kind_at(struct waits *w, const struct stream *st)
{
	const struct waits_lane *const l = lane(w, st);
	const size_t depth = stream_depth(st);
	const struct waits_open *const open =
		l->count > 0 ? &l->open[l->count - 1] : NULL;

	if (open && open->depth + 1 == depth)
		return MIN(w->spans[open->span].of.kind,
			   (uint32_t)WAITS_OTHER);
	return depth > 0 && func_is_libc(w->session->funcs,
					 stream_frame(st, depth - 1).func) ?
	       (uint32_t)WAITS_CALL : (uint32_t)WAITS_OTHER;
}

/* A time comes in parts where a chunk ends in it. */
static void on_sleep(void *ctx, const struct stream *st, ticks from, ticks to,
		     bool ready)
{
	struct waits *const w = ctx;
	const struct waits_lane *const l = lane(w, st);
	const uint32_t thread = stream_thread(st);
	struct waits_sleep *const last = w->sleep_count == 0 ? NULL :
					 &w->sleeps[w->sleep_count - 1];

	if (ready || l->count == 0 ||
	    w->spans[l->open[l->count - 1].span].mutex == 0)
		return;
	if (last && last->thread == thread && last->to == from)
		last->to = to;
	else
		*vec_add(&w->sleeps, &w->sleep_room, &w->sleep_count) =
			(struct waits_sleep){ thread, from, to };
}

static void on_off(void *ctx, const struct stream *st, ticks from, ticks to,
		   bool ready)
{
	struct waits *const w = ctx;
	struct waits_times *const t = times(w, stream_thread(st));

	on_sleep(ctx, st, from, to, ready);
	if (ready)
		t->ready += waits_part(w, from, to);
	else
		t->blocked[kind_at(w, st)] += waits_part(w, from, to);
}

static void on_pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct waits *const w = ctx;
	struct waits_times *const t = times(w, stream_thread(st));
	const ticks known_from = MAX(from, MIN(to, t->known_from));
	const ticks known_to = MAX(known_from, MIN(to, t->known_to));
	uint32_t kind;

	if (stream_level(st) > 0 || known_to - known_from == to - from)
		return;
	kind = kind_at(w, st);
	if (kind != WAITS_OTHER)
		t->blocked[kind] += waits_part(w, from, to) -
				    waits_part(w, known_from, known_to);
}

static void on_chunk_begin(void *ctx, const struct replay_event *e,
			   const struct chunk *chunk)
{
	struct waits_times *const t = times(ctx, e->thread);
	struct chunk_item item = { 0 };
	struct chunk_switches s;

	if (e->level > 0)
		return;
	t->is_ended = (chunk->header.flags & CHUNK_LAST) != 0;
	t->known_from = t->known_to = 0;
	while (decode_next_item(chunk, &item)) {
		if (!decode_switches(&item, &s))
			continue;
		t->known_from = s.from;
		t->known_to = s.to;
	}
}

/* Calls of that depth and deeper ones have ended, or are open at the end. */
static void end(struct waits *w, struct waits_lane *l, uint32_t depth, ticks at,
		bool is_open)
{
	while (l->count > 0 && l->open[l->count - 1].depth >= depth) {
		struct waits_span *const s =
			&w->spans[l->open[--l->count].span];

		s->end = at;
		s->is_open = is_open;
	}
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	struct waits *const w = ctx;

	if (e->why == REPLAY_OPEN_AT_END && e->level == 0)
		see_open(w, e);
	if (e->deferred == REPLAY_NOW)
		end(w, lane(w, e->stream), e->depth, e->tick,
		    e->why == REPLAY_OPEN_AT_END);
}

/* The first of them to end after a wait began is the one that waited. */
static ticks on_calls(void *ctx, const struct replay_event *e,
		      const struct replay_call *call, size_t n)
{
	struct waits *const w = ctx;
	struct waits_lane *const l = lane(w, e->stream);

	for (size_t i = 0; i < n && l->count > 0; i++)
		end(w, l, call[i].depth, call[i].end, false);
	return UINT64_MAX;
}

const struct replay_sink waits_sink = { .wait = on_wait, .leave = on_leave,
					.calls = on_calls, .off = on_sleep };
const struct replay_sink waits_times_sink = {
	.wait = on_wait, .leave = on_leave, .off = on_off, .pass = on_pass,
	.chunk_begin = on_chunk_begin };

bool waits_owner(const struct session *s, const struct waits_span *w,
		 uint32_t *thread)
{
	bool is_known = false;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		const struct thread *const t = &s->threads[i];

		if (t->process != w->of.process || t->first >= w->end ||
		    (w->of.kind == WAIT_JOIN ? t->handle != w->of.address :
		     w->owner == 0 || t->tid != w->owner))
			continue;
		*thread = i;
		is_known = true;
	}
	return is_known;
}

const char *waits_kind_name(uint32_t kind)
{
	static const char *const names[] = {
		[WAIT_MUTEX] = "mutex", [WAIT_READ] = "rwlock",
		[WAIT_SEMAPHORE] = "semaphore", [WAIT_CONDITION] = "condition",
		[WAIT_BARRIER] = "barrier", [WAIT_JOIN] = "join",
	};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ?
	       names[kind] : "other";
}

int waits_compare(const struct waits_object *x, const struct waits_object *y)
{
	return UP(process) ?: UP(kind) ?: UP(address);
}

static int compare_spans(const void *a, const void *b)
{
	const struct waits_span *const x = a, *const y = b;

	return waits_compare(&x->of, &y->of) ?: UP(begin) ?: UP(end) ?:
	       UP(thread);
}

static int compare_ends(const void *a, const void *b)
{
	const struct waits_end *const x = a, *const y = b;

	return waits_compare(&x->of, &y->of) ?: UP(at) ?: UP(thread);
}

ORDER_BY(by_birth, struct waits_birth,
	 waits_compare(&x->of, &y->of) ?: UP(begin))
ORDER_BY(by_sleep, struct waits_sleep, UP(thread) ?: UP(from))

/* ---- mutexes that waits on conditions take again ------------------------
 * Which waiter a signal lets go on is not recorded. Among those that wait then,
 * it is the one that returns first: whoever does was let go on, and exchanging
 * two of them would not change how long they wait together. */

/* Those that wait for one condition at a moment; who returns first is the last
 * one. */
struct waiting { struct waits_span **now; size_t count, room; };

static bool gives_up(const struct waits_span *s)
{
	return s->until != 0 && s->until <= s->end && !s->is_open;
}

static bool returns_before(const struct waits_span *a,
			   const struct waits_span *b)
{
	return (ORDER(gives_up(a), gives_up(b)) ?:
		ORDER(a->is_open, b->is_open) ?: ORDER(a->end, b->end)) < 0;
}

static void come(struct waiting *g, struct waits_span *s)
{
	const size_t at = ORDER_FIRST(k, g->count,
				      returns_before(s, g->now[k]));

	vec_add(&g->now, &g->room, &g->count);
	memmove(g->now + at + 1, g->now + at,
		(g->count - 1 - at) * sizeof(*g->now));
	g->now[at] = s;
}

static void let_go(struct waiting *g, ticks at, bool all)
{
	bool any = false;

	while (g->count > 0 && (all || !any)) {
		struct waits_span *const s = g->now[--g->count];

		any = s->end > at && !(gives_up(s) && s->until <= at);
		if (any)
			s->let_go = at;
	}
}

static bool lets_all_go(const struct waits *w, const struct waits_end *e)
{
	const func_id func = stack_table_get(w->stacks, e->stack)->func;

	return strstr(func_get(w->session->funcs, func)->name, "broadcast");
}

/* The waits for the condition of the first of these. Returns how many. */
static size_t let_all_go(const struct waits *w, struct waits_span *s, size_t n,
			 struct waiting *g)
{
	const struct waits_object *const of = &s->of;
	size_t i = ORDER_FIRST(k, w->end_count,
			       waits_compare(&w->ends[k].of, of) < 0);
	size_t k = 0;

	g->count = 0;
	for (; i < w->end_count && waits_compare(&w->ends[i].of, of) == 0;
	     i++) {
		const struct waits_end *const e = &w->ends[i];

		for (; k < n && waits_compare(&s[k].of, of) == 0 &&
		     s[k].begin < e->at; k++)
			come(g, &s[k]);
		let_go(g, e->at, lets_all_go(w, e));
	}
	for (k = 0; k < n && waits_compare(&s[k].of, of) == 0; k++)
		if (s[k].let_go == 0 && gives_up(&s[k]))
			s[k].let_go = s[k].until;
	return k;
}

/* When a wait on a condition that was let go on was blocked again, or, where
 * that is not known, was let go on; UINT64_MAX: it was not blocked any more. */
static ticks blocked_again(const struct waits *w, const struct waits_span *s)
{
	const size_t i = ORDER_FIRST(k, w->sleep_count,
		(ORDER(w->sleeps[k].thread, s->thread) ?:
		 ORDER(w->sleeps[k].from, s->let_go + 1)) < 0);
	const struct waits_sleep *const sleep = w->sleeps;

	if (i < w->sleep_count && sleep[i].thread == s->thread &&
	    sleep[i].from < s->end)
		return sleep[i].from;
	return i > 0 && sleep[i - 1].thread == s->thread &&
	       sleep[i - 1].to >= s->let_go ? UINT64_MAX : s->let_go;
}

/* Does a call of another thread let the mutex go after that moment? */
static bool is_kept(const struct waits *w, const struct waits_object *mutex,
		    const struct waits_span *s, ticks from)
{
	size_t i = ORDER_FIRST(k, w->end_count,
		(waits_compare(&w->ends[k].of, mutex) ?:
		 ORDER(w->ends[k].at, from)) <= 0);

	for (; i < w->end_count && w->ends[i].at < s->end &&
	     waits_compare(&w->ends[i].of, mutex) == 0; i++)
		if (w->ends[i].thread != s->thread)
			return true;
	return false;
}

/* Blocked time from then on was for the mutex. */
static void move_time(struct waits *w, const struct waits_span *s, ticks from)
{
	struct waits_times *const t = s->thread < w->time_count ?
				      &w->times[s->thread] : NULL;
	size_t i = ORDER_FIRST(k, w->sleep_count,
		(ORDER(w->sleeps[k].thread, s->thread) ?:
		 ORDER(w->sleeps[k].from, from)) < 0);
	ticks sum = from == s->let_go ? waits_part(w, from, s->end) : 0;

	for (; i < w->sleep_count && w->sleeps[i].thread == s->thread &&
	     w->sleeps[i].to <= s->end && from != s->let_go; i++)
		sum += waits_part(w, w->sleeps[i].from, w->sleeps[i].to);
	if (!t)
		return;
	sum = MIN(sum, t->blocked[WAIT_CONDITION]);
	t->blocked[WAIT_CONDITION] -= sum;
	t->blocked[WAIT_MUTEX] += sum;
}

static void divide(struct waits *w, size_t span)
{
	struct waits_span s = w->spans[span];
	const struct waits_object mutex = { s.of.process, WAIT_MUTEX, s.mutex };
	const ticks from = s.mutex == 0 || s.let_go == 0 ? UINT64_MAX :
			   blocked_again(w, &s);

	if (from == UINT64_MAX || !is_kept(w, &mutex, &s, from))
		return;
	move_time(w, &s, from);
	w->spans[span].end = from;
	w->spans[span].is_open = false;
	s.of = mutex;
	s.begin = from;
	s.place = s.mutex_place;
	s.mutex = 0;
	*vec_add(&w->spans, &w->span_room, &w->span_count) = s;
}

static void divide_all(struct waits *w)
{
	const size_t count = w->span_count;
	struct waiting g = { .now = NULL };

	for (size_t i = 0; i < count;)
		i += w->spans[i].mutex == 0 ? 1 :
		     let_all_go(w, w->spans + i, count - i, &g);
	for (size_t i = 0; i < count; i++)
		divide(w, i);
	mem_free(g.now);
}

static void drop_others(struct waits *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->span_count; i++)
		if (waits_part(w, w->spans[i].begin, w->spans[i].end) > 0 ||
		    waits_is_in(w, w->spans[i].begin))
			w->spans[kept++] = w->spans[i];
	w->span_count = kept;
}

/* Streams come in any order: parts of one sleep may not be joined yet. */
static void join_sleeps(struct waits *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->sleep_count; i++) {
		struct waits_sleep *const s = &w->sleeps[i];
		struct waits_sleep *const last = &w->sleeps[kept - (kept > 0)];

		if (kept > 0 && last->thread == s->thread &&
		    last->to == s->from)
			last->to = s->to;
		else
			w->sleeps[kept++] = *s;
	}
	w->sleep_count = kept;
}

void waits_sort(struct waits *w)
{
	order_sort(w->births, w->birth_count, by_birth);
	order_sort(w->ends, w->end_count, compare_ends);
	order_sort(w->sleeps, w->sleep_count, by_sleep);
	join_sleeps(w);
	order_sort(w->spans, w->span_count, compare_spans);
	divide_all(w);
	drop_others(w);
	order_sort(w->spans, w->span_count, compare_spans);
}
