/* sleeps.c - one entry for each place where coroutines of a body are suspended.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/sleeps.h"

#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <string.h>

/* Times for which a thread had no core, rising; before: the sum of those in
 * front. */
struct no_core {
	struct no_core_span { ticks from, to, before; } *list;
	size_t count, room;
};

void sleeps_init(struct sleeps *s, const struct session *session)
{
	*s = (struct sleeps){ .session = session, .of = map_new() };
}

void sleeps_fini(struct sleeps *s)
{
	for (size_t i = 0; i < s->threads; i++)
		mem_free(s->of_thread[i].list);
	map_free(s->of);
	mem_free_all(s->list, s->of_thread);
}

static void sleeps_off(void *ctx, const struct stream *st, ticks from, ticks to,
		       bool ready)
{
	struct sleeps *const s = ctx;
	const uint32_t thread = stream_thread(st);
	struct no_core *of;
	ticks before = 0;

	if (!ready)
		return;
	while (s->threads <= thread)
		*vec_add(&s->of_thread, &s->thread_room, &s->threads) =
			(struct no_core){ .count = 0 };
	of = &s->of_thread[thread];
	if (of->count > 0) {
		const struct no_core_span *const last =
			&of->list[of->count - 1];

		before = last->before + (last->to - last->from);
		from = MAX(from, last->to);
	}
	if (from >= to)
		return;
	*vec_add(&of->list, &of->room, &of->count) =
		(struct no_core_span){ from, to, before };
}

/* From the thread's first tick on. */
static ticks no_core_until(const struct no_core *of, ticks until)
{
	const size_t n = ORDER_FIRST(i, of->count, of->list[i].from < until);
	const struct no_core_span *const last = n ? &of->list[n - 1] : NULL;

	return last ? last->before + MIN(last->to, until) - last->from : 0;
}

/* Of the sleep that ends with the event. */
static ticks no_core_of(const struct sleeps *s, const struct replay_event *e)
{
	const uint32_t thread = stream_thread(e->stream);

	if (thread >= s->threads)
		return 0;
	return no_core_until(&s->of_thread[thread], e->tick) -
	       no_core_until(&s->of_thread[thread],
			     e->tick - MIN(e->slept, e->tick));
}

/* The innermost function, or the one that calls coroutine.yield, which says
 * more. */
static func_id where_of(const struct sleeps *s, const struct stream *st,
			size_t base)
{
	const size_t depth = stream_depth(st);
	const func_id func = stream_frame(st, depth - 1).func;
	const char *const name = func_get(s->session->funcs, func)->name;

	return depth - 1 > base && strcmp(name, "coroutine.yield") == 0 ?
	       stream_frame(st, depth - 2).func : func;
}

static void compare(struct sleeps *s, const struct replay_event *e, ticks slept)
{
	const bool is_same = e->coroutine == s->longest_of &&
			     e->process == s->longest_in;

	if (!is_same && slept > s->longest) {
		s->second = s->longest;
		s->longest_of = e->coroutine;
		s->longest_in = e->process;
	} else if (!is_same && slept > s->second) {
		s->second = slept;
	}
	if (slept > s->longest)
		s->longest = slept;
}

/* The coroutine is on top of the stack again, as it was when it went to
 * sleep. One that is only closed was not waited for. */
static void sleeps_resume(void *ctx, const struct replay_event *e)
{
	struct sleeps *const s = ctx;
	const size_t base = stream_top(e->stream).base;
	uint32_t *at;
	struct sleep *of;

	if (e->slept == 0 || e->reason == SUSPEND_CLOSED ||
	    stream_depth(e->stream) <= base)
		return;
	const ticks no_core = MIN(no_core_of(s, e), e->slept);
	const ticks slept = e->slept - no_core;
	const func_id body = stream_frame(e->stream, base).func;
	const func_id where = where_of(s, e->stream, base);

	compare(s, e, slept);
	at = map_put(s->of, where, body);
	if (*at == 0) {
		*vec_add(&s->list, &s->room, &s->count) =
			(struct sleep){ .where = where, .body = body };
		*at = (uint32_t)s->count;
	}
	of = &s->list[*at - 1];
	of->count++;
	of->sum += e->slept;
	if (slept <= of->longest - of->no_core)
		return;
	of->longest = e->slept;
	of->no_core = no_core;
	of->coroutine = e->coroutine;
	of->process = e->process;
	of->at = e->tick;
}

const struct replay_sink sleeps_sink = { .resume = sleeps_resume,
					  .off = sleeps_off };
