/* waits.c - follows the calls that wait until they end. A stream may have
 * several open ones: a signal handler may wait, too.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/waits.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"
#include "analyzer/watch/site.h"

#include <inttypes.h>
#include <stdio.h>
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
	mem_free_all(w->lanes, w->spans, w->ends, w->times, w->sleeps);
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
		.kind = kind == WAIT_WRITE ? WAIT_READ : kind,
		.place = e->place };
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

static void add_end(struct waits *w, const struct replay_event *e,
		    ticks begin, stack_id stack)
{
	const bool ends = e->reason & WAIT_ENDS;
	const bool is_thread = (e->reason & WAIT_KIND) == WAIT_THREAD;

	*vec_add(&w->ends, &w->end_room, &w->end_count) = (struct waits_end){
		.of = object_of(e), .at = is_thread ? begin : e->tick,
		.thread = e->thread, .coroutine = e->coroutine,
		.stack = is_thread ? stack_table_get(w->stacks, stack)->below :
			 stack,
		.is_made = is_thread && !ends, .is_detached = e->owner != 0 };
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
	const ticks begin = f.is_known ? f.entry : e->tick;
	struct waits_lane *const l = lane(w, e->stream);

	if ((e->reason & WAIT_ENDS) || (e->reason & WAIT_KIND) == WAIT_THREAD) {
		add_end(w, e, begin, stack);
		return;
	}
	if (l->count == MOST_OPEN)
		return;
	*vec_add(&l->open, &l->room, &l->count) =
		(struct waits_open){ e->depth, w->span_count };
	*vec_add(&w->spans, &w->span_room, &w->span_count) =
		(struct waits_span){
			.of = object_of(e), .begin = begin, .end = e->tick,
			.thread = e->thread, .owner = e->owner,
			.stack = stack, .is_open = true,
			.mutex = { e->process, WAIT_MUTEX, e->mutex,
				   e->mutex_place },
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
		return waits_kind(w->spans[open->span].of.kind);
	return depth > 0 && func_is_libc(w->session->funcs,
					 stream_frame(st, depth - 1).func) ?
	       (uint32_t)WAITS_CALL : (uint32_t)WAITS_OTHER;
}

static void on_off(void *ctx, const struct stream *st, ticks from, ticks to,
		   bool ready)
{
	struct waits *const w = ctx;
	const uint32_t thread = stream_thread(st);
	struct waits_times *const t = times(w, thread);
	const struct waits_lane *const l = lane(w, st);

	if (ready) {
		t->ready += waits_part(w, from, to);
		return;
	}
	t->blocked[kind_at(w, st)] += waits_part(w, from, to);
	if (l->count > 0 && w->spans[l->open[l->count - 1].span].mutex.address)
		*vec_add(&w->sleeps, &w->sleep_room, &w->sleep_count) =
			(struct waits_sleep){ thread, from, to };
}

/* A call that waits counts as blocked where switches are not known. */
static void on_unknown(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct waits *const w = ctx;
	const uint32_t kind = kind_at(w, st);

	if (kind != WAITS_OTHER)
		times(w, stream_thread(st))->blocked[kind] +=
			waits_part(w, from, to);
}

/* The same in a trace without switches. */
static void on_pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	const struct waits *const w = ctx;

	if (!cct_has_cpu(w->session->cct) && stream_level(st) == 0)
		on_unknown(ctx, st, from, to);
}

static void on_chunk_begin(void *ctx, const struct replay_event *e,
			   const struct chunk *chunk)
{
	if (e->level == 0)
		times(ctx, e->thread)->is_ended =
			(chunk->header.flags & CHUNK_LAST) != 0;
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
					.calls = on_calls, .off = on_off };
const struct replay_sink waits_times_sink = {
	.wait = on_wait, .leave = on_leave, .off = on_off, .pass = on_pass,
	.unknown = on_unknown, .chunk_begin = on_chunk_begin };

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

size_t waits_end_after(const struct waits *w, const struct waits_object *of,
		       ticks at)
{
	return ORDER_FIRST(k, w->end_count,
		(waits_compare(&w->ends[k].of, of) ?:
		 ORDER(w->ends[k].at, at)) <= 0);
}

size_t waits_ends_in(const struct waits *w, const struct waits_span *s,
		     const struct waits_end **first)
{
	const size_t i = waits_end_after(w, &s->of, s->begin);

	*first = w->ends + i;
	return waits_end_after(w, &s->of, MAX(s->begin, s->end)) - i;
}

static const struct { const char *name; uint32_t is; } kinds[] = {
	[0] = { "other", WAITS_OTHER },
	[WAIT_MUTEX] = { "mutex", WAITS_LOCK },
	[WAIT_READ] = { "rwlock", WAITS_LOCK },
	[WAIT_WRITE] = { "other", WAITS_OTHER },
	[WAIT_SEMAPHORE] = { "semaphore", WAITS_LOCK },
	[WAIT_CONDITION] = { "condition", WAITS_CONDITION },
	[WAIT_BARRIER] = { "barrier", WAITS_CONDITION },
	[WAIT_JOIN] = { "join", WAITS_JOIN },
};

uint32_t waits_kind(uint32_t kind)
{
	return kinds[kind <= WAIT_JOIN ? kind : 0].is;
}

const char *waits_kind_name(uint32_t kind)
{
	return kinds[kind <= WAIT_JOIN ? kind : 0].name;
}

const char *waits_symbol(const struct session *s, const struct waits_object *of)
{
	const struct func *const f = of->place == 0 ? NULL :
				     func_get(s->funcs, of->place);

	return f && f->kind == FUNC_NATIVE ? f->name : "";
}

const char *waits_name(const struct session *s, const struct waits_object *of,
		       char room[24])
{
	const char *const symbol = waits_symbol(s, of);

	snprintf(room, 24, "0x%" PRIx64, of->address);
	return symbol[0] ? symbol : room;
}

int waits_compare(const struct waits_object *x, const struct waits_object *y)
{
	return UP(process) ?: UP(kind) ?: UP(address);
}

ORDER_BY(by_value, ticks, ORDER(*x, *y))

uint64_t waits_most(ticks *begins, ticks *ends, size_t n, ticks *at)
{
	uint64_t most = 0;
	size_t gone = 0;

	*at = 0;
	order_sort(begins, n, by_value);
	order_sort(ends, n, by_value);
	for (size_t i = 0; i < n; i++) {
		while (gone < i && ends[gone] <= begins[i])
			gone++;
		if (i + 1 - gone > most) {
			most = i + 1 - gone;
			*at = begins[i];
		}
	}
	return most;
}

ORDER_BY(by_begin, struct waits_span, waits_compare(&x->of, &y->of) ?:
	 UP(begin) ?: UP(end) ?: UP(thread))
ORDER_BY(by_end, struct waits_end,
	 waits_compare(&x->of, &y->of) ?: UP(at) ?: UP(thread))
ORDER_BY(by_sleep, struct waits_sleep, UP(thread) ?: UP(from))

/* ---- mutexes that waits on conditions take again ------------------------
 * Which waiter a signal lets go on is not recorded. Among those that wait then,
 * it is the one that returns first: whoever does was let go on, and exchanging
 * two of them would not change how long they wait together. */

static bool gives_up(const struct waits_span *s)
{
	return s->until != 0 && s->until <= s->end && !s->is_open;
}

ORDER_BY(by_return, struct waits_span *, ORDER(gives_up(*x), gives_up(*y)) ?:
	 ORDER((*x)->is_open, (*y)->is_open) ?: ORDER((*x)->end, (*y)->end) ?:
	 ORDER((*x)->thread, (*y)->thread))

static bool lets_all_go(const struct waits *w, const struct waits_end *e)
{
	const func_id func = stack_table_get(w->stacks, e->stack)->func;

	return strstr(func_get(w->session->funcs, func)->name, "broadcast");
}

/* next: by end, it or a later one that may let somebody go on. */
static void let_go(const struct waits *w, struct waits_span *s, size_t *next)
{
	size_t i = waits_end_after(w, &s->of, s->begin);
	const struct waits_end *e;

	while (next[i] != i)
		i = next[i] = next[next[i]];
	e = &w->ends[i];
	s->let_go = gives_up(s) ? s->until : 0;
	if (i == w->end_count || waits_compare(&e->of, &s->of) != 0 ||
	    e->at >= s->end || (s->let_go != 0 && e->at >= s->let_go))
		return;
	s->let_go = e->at;
	if (!lets_all_go(w, e))
		next[i] = i + 1;
}

/* Who returns first takes the first end since it waits. */
static void let_all_go(struct waits *w)
{
	size_t *const next = mem_alloc((w->end_count + 1) * sizeof(*next));
	struct waits_span **const all =
		mem_alloc((w->span_count + 1) * sizeof(*all));
	size_t n = 0;

	for (size_t i = 0; i <= w->end_count; i++)
		next[i] = i;
	for (size_t i = 0; i < w->span_count; i++)
		if (w->spans[i].mutex.address != 0)
			all[n++] = &w->spans[i];
	order_sort(all, n, by_return);
	for (size_t i = 0; i < n; i++)
		let_go(w, all[i], next);
	mem_free_all(next, all);
}

/* A wait that was let go on may be blocked again: since then it is one for the
 * mutex, if somebody lets that go in it. Where it is not known when threads
 * were blocked, that is since it was let go on. */
static void divide(struct waits *w, size_t span)
{
	struct waits_span s = w->spans[span];
	const struct waits_sleep *const sleep = w->sleeps;
	const size_t i = ORDER_FIRST(k, w->sleep_count,
		(ORDER(sleep[k].thread, s.thread) ?:
		 ORDER(sleep[k].from, s.let_go)) <= 0);
	const bool slept = i < w->sleep_count && sleep[i].thread == s.thread &&
			   sleep[i].from < s.end;
	const struct waits_end *first;
	struct waits_times *t;
	ticks sum = 0;

	if (!slept && i > 0 && sleep[i - 1].thread == s.thread &&
	    sleep[i - 1].to >= s.let_go)
		return;
	s.begin = slept ? sleep[i].from : s.let_go;
	s.of = s.mutex;
	s.mutex.address = 0;
	if (waits_ends_in(w, &s, &first) == 0)
		return;
	w->spans[span].end = s.begin;
	w->spans[span].is_open = false;
	*vec_add(&w->spans, &w->span_room, &w->span_count) = s;
	if (s.thread >= w->time_count)
		return;
	for (size_t k = i; slept && k < w->sleep_count &&
	     sleep[k].thread == s.thread && sleep[k].to <= s.end; k++)
		sum += waits_part(w, sleep[k].from, sleep[k].to);
	t = &w->times[s.thread];
	sum = MIN(slept ? sum : waits_part(w, s.begin, s.end),
		  t->blocked[WAITS_CONDITION]);
	t->blocked[WAITS_CONDITION] -= sum;
	t->blocked[WAITS_LOCK] += sum;
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

/* A sleep comes in parts where a chunk ends in it. */
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

/* ---- turns -------------------------------------------------------------- */

/* of: how many wait so long. */
static void add_turn(const struct waits *w, struct waits_end *e, ticks from,
		     uint64_t of)
{
	const ticks since = MAX(from, e->since);
	const ticks time = waits_part(w, since, e->at);
	const ticks gap = waits_part(w, from, since);

	e->waiting += time * of;
	e->free += gap * of;
	e->held = of > 0 ? MAX(e->held, time) : e->held;
	e->gap = of > 0 ? MAX(e->gap, gap) : e->gap;
}

/* Whoever ends a wait may have waited before, and has had the object since. */
static void see_own_waits(struct waits *w)
{
	for (size_t i = 0; i < w->span_count; i++) {
		const struct waits_span *const s = &w->spans[i];
		const size_t at = waits_end_after(w, &s->of, s->end);
		struct waits_end *const e = &w->ends[at];

		if (at < w->end_count && e->thread == s->thread &&
		    waits_compare(&e->of, &s->of) == 0)
			e->since = MAX(e->since, s->end);
	}
}

/* Those that wait all through a turn are only counted: whole has how many more
 * do so than through the one before. */
static void give_turns(struct waits *w)
{
	uint64_t *const whole =
		mem_alloc((w->end_count + 1) * sizeof(*whole));
	const struct waits_end *first;
	uint64_t many = 0;

	see_own_waits(w);
	for (size_t i = 0; i < w->span_count; i++) {
		const size_t n = waits_ends_in(w, &w->spans[i], &first);
		const size_t at = (size_t)(first - w->ends);

		if (n == 0)
			continue;
		add_turn(w, &w->ends[at], w->spans[i].begin, 1);
		whole[at + 1]++;
		whole[at + n]--;
	}
	for (size_t i = 1; i < w->end_count; i++) {
		many += whole[i];
		add_turn(w, &w->ends[i], w->ends[i - 1].at, many);
	}
	mem_free(whole);
}

void waits_sort(struct waits *w)
{
	const size_t count = w->span_count;

	order_sort(w->ends, w->end_count, by_end);
	order_sort(w->sleeps, w->sleep_count, by_sleep);
	join_sleeps(w);
	let_all_go(w);
	for (size_t i = 0; i < count; i++)
		if (w->spans[i].let_go != 0)
			divide(w, i);
	drop_others(w);
	order_sort(w->spans, w->span_count, by_begin);
	give_turns(w);
}
