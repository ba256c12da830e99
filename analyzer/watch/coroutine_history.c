/* coroutine_history.c - the steps of one coroutine, from streams in any order,
 * and the own times of all coroutines. Knows coroutines by process and serial
 * alone; what their times mean in a report is not decided here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/coroutine_history.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

void coroutine_history_init(struct coroutine_history *s,
			    const struct session *session,
		uint32_t process, uint64_t serial, size_t top)
{
	*s = (struct coroutine_history){ .session = session, .process = process,
			     .serial = serial, .top = top };
	s->stacks = stack_table_new();
	s->func_of = map_new();
}

void coroutine_history_fini(struct coroutine_history *s)
{
	stack_table_free(s->stacks);
	map_free(s->func_of);
	mem_free_all(s->steps, s->funcs);
}

/* By time. At one tick, the creation is first, and a suspend comes before the
 * resume that slept 0. */
ORDER_BY(compare_steps, struct history_step, UP(tick) ?:
	 ORDER(y->kind == HISTORY_CREATE, x->kind == HISTORY_CREATE) ?:
	 (x->kind == HISTORY_CREATE ? 0 : ORDER(x->span == 0, y->span == 0)))

/* By falling self. Functions with equal times keep the order of their ids, so
 * that the output does not depend on the order of streams. */
ORDER_BY(compare_funcs, struct history_func, DOWN(self) ?: UP(func))

/* Drop what is not among the earliest steps. */
static void keep_earliest(struct coroutine_history *s)
{
	qsort(s->steps, s->count, sizeof(*s->steps), compare_steps);
	s->count = MIN(s->top, s->count);
}

void coroutine_history_sort(struct coroutine_history *s)
{
	order_sort(s->steps, s->count, compare_steps);
	if (s->top != 0 && s->count > s->top)
		s->count = s->top;
	order_sort(s->funcs, s->func_count, compare_funcs);
}

static bool is_ours(const struct coroutine_history *s,
		   const struct replay_event *e)
{
	return e->coroutine == s->serial && e->process == s->process;
}

/* Steps come in no order, so the latest are dropped now and then: once in `top`
 * steps, which keeps both the memory and the time for sorting bounded. */
static void add_step(struct coroutine_history *s, struct history_step step)
{
	if (s->top != 0 && s->count >= 2 * s->top)
		keep_earliest(s);
	*vec_add(&s->steps, &s->room, &s->count) = step;
}

/* The innermost of the outermost `frames` frames, as a function. 0: there is
 * none, or frames were left out there. */
static func_id below(const struct stream *st, size_t frames)
{
	struct stream_frame f;

	if (frames == 0)
		return 0;
	f = stream_frame(st, frames - 1);
	return f.omitted > 0 ? 0 : f.func;
}

/* A resume or a suspend. At both, the coroutine is on top of the stack, and
 * what lies below its base is what resumed it. */
static struct history_step step(struct coroutine_history *s,
				const struct replay_event *e,
				enum history_kind kind)
{
	const struct stream_segment top = stream_top(e->stream);

	return (struct history_step){
		.kind = kind, .tick = e->tick, .thread = e->thread,
		.by = e->in, .by_func = below(e->stream, top.base),
		.span = kind == HISTORY_RESUME ? e->slept :
						 e->tick - top.since,
		.reason = e->reason, .is_inferred = e->inferred,
		.stack = stream_own_stack(e->stream, s->stacks) };
}

static void history_resume(void *ctx, const struct replay_event *e)
{
	struct coroutine_history *const s = ctx;

	if (!is_ours(s, e) || e->reason == SUSPEND_CLOSED)
		return;
	s->resumes++;
	add_step(s, step(s, e, HISTORY_RESUME));
}

static void history_suspend(void *ctx, const struct replay_event *e)
{
	struct coroutine_history *const s = ctx;

	if (!is_ours(s, e))
		return;
	s->suspends++;
	add_step(s, step(s, e, HISTORY_SUSPEND));
}

static void history_create(void *ctx, const struct replay_event *e)
{
	struct coroutine_history *const s = ctx;

	if (!is_ours(s, e))
		return;
	s->creates++;
	add_step(s, (struct history_step){
		.kind = HISTORY_CREATE, .tick = e->tick, .thread = e->thread,
		.by = e->in,
		.by_func = below(e->stream, stream_depth(e->stream)) });
}

/* The function's entry; made when it is first asked for. Valid until the next
 * call. */
static struct history_func *func(struct coroutine_history *s, func_id id)
{
	uint32_t *const at = map_put(s->func_of, id, 0);

	if (*at == 0) {
		*vec_add(&s->funcs, &s->func_room, &s->func_count) =
			(struct history_func){ .func = id };
		*at = (uint32_t)s->func_count;
	}
	return &s->funcs[*at - 1];
}

static void history_enter(void *ctx, const struct replay_event *e)
{
	struct coroutine_history *const s = ctx;

	if (is_ours(s, e) && e->why == REPLAY_SEEN)
		func(s, e->func)->calls++;
}

/* A span of time names no process: it is found by the thread. */
static bool is_of_process(const struct coroutine_history *s,
			 const struct stream *st)
{
	const uint32_t thread = stream_thread(st);

	return thread < s->session->thread_count &&
	       s->session->threads[thread].process == s->process;
}

/* Time counts only while the coroutine is on top and has a known frame. */
static void history_pass(void *ctx, const struct stream *st, ticks from,
			 ticks to)
{
	struct coroutine_history *const s = ctx;
	const struct stream_segment top = stream_top(st);
	const size_t depth = stream_depth(st);

	if (top.serial == s->serial && is_of_process(s, st) && depth > top.base)
		func(s, stream_frame(st, depth - 1).func)->self += to - from;
}

const struct replay_sink coroutine_history_sink = {
	.enter = history_enter, .resume = history_resume,
	.suspend = history_suspend, .create = history_create,
	.pass = history_pass,
};

/* ---- own times of all coroutines ---------------------------------------- */

/* A map from process and serial to the index + 1 spares a search at each span
 * of time. */
void coroutine_times_init(struct coroutine_times *t, const struct session *s)
{
	*t = (struct coroutine_times){ .session = s, .index = map_new() };
	t->own = mem_alloc((s->coroutine_count + 1) * sizeof(*t->own));
	for (size_t i = 0; i < s->coroutine_count; i++)
		*map_put(t->index, s->coroutines[i].process,
			 s->coroutines[i].serial) = (uint32_t)i + 1;
}

void coroutine_times_fini(struct coroutine_times *t)
{
	map_free(t->index);
	mem_free(t->own);
}

/* The coroutine's index in the session + 1; 0: not known there. Remembers the
 * last answer, as spans of one coroutine come in a row. */
static uint32_t find_index(struct coroutine_times *t, const struct stream *st,
		     uint64_t serial)
{
	const uint32_t thread = stream_thread(st);

	if (st == t->stream && serial == t->serial)
		return t->found;
	t->stream = st;
	t->serial = serial;
	t->found = thread >= t->session->thread_count ? 0 :
		map_find(t->index, t->session->threads[thread].process,
			 serial);
	return t->found;
}

/* Without a known frame, a coroutine runs the kind of code that it is. */
static void pass_time(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct coroutine_times *const t = ctx;
	const struct stream_segment top = stream_top(st);
	const size_t depth = stream_depth(st);
	const uint32_t i = top.serial == 0 ? 0 : find_index(t, st, top.serial);
	enum func_kind kind;

	if (i == 0)
		return;
	kind = t->session->coroutines[i - 1].is_native ? FUNC_NATIVE : FUNC_LUA;
	if (depth > top.base)
		kind = func_get(t->session->funcs,
				stream_frame(st, depth - 1).func)->kind;
	if (kind == FUNC_NATIVE || kind == FUNC_CODE)
		t->own[i - 1].native += to - from;
	else
		t->own[i - 1].lua += to - from;
}

static void off_time(void *ctx, const struct stream *st, ticks from, ticks to,
		     bool ready)
{
	struct coroutine_times *const t = ctx;
	const uint64_t serial = stream_top(st).serial;
	const uint32_t i = serial == 0 ? 0 : find_index(t, st, serial);

	if (i == 0)
		return;
	t->own[i - 1].off += to - from;
	t->own[i - 1].ready += ready ? to - from : 0;
}

const struct replay_sink coroutine_times_sink = {
	.pass = pass_time, .off = off_time };
