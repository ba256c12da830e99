/* sleeps.c - one entry for each place where coroutines of a body are suspended.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/sleeps.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <string.h>

void sleeps_init(struct sleeps *s, const struct session *session)
{
	*s = (struct sleeps){ .session = session, .of = map_new() };
}

void sleeps_fini(struct sleeps *s)
{
	map_free(s->of);
	mem_free(s->list);
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

static void compare(struct sleeps *s, const struct replay_event *e)
{
	const bool is_same = e->coroutine == s->longest_of &&
			     e->process == s->longest_in;

	if (!is_same && e->slept > s->longest) {
		s->second = s->longest;
		s->longest_of = e->coroutine;
		s->longest_in = e->process;
	} else if (!is_same && e->slept > s->second) {
		s->second = e->slept;
	}
	if (e->slept > s->longest)
		s->longest = e->slept;
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
	compare(s, e);
	const func_id body = stream_frame(e->stream, base).func;
	const func_id where = where_of(s, e->stream, base);

	at = map_put(s->of, where, body);
	if (*at == 0) {
		*vec_add(&s->list, &s->room, &s->count) =
			(struct sleep){ .where = where, .body = body };
		*at = (uint32_t)s->count;
	}
	of = &s->list[*at - 1];
	of->count++;
	of->sum += e->slept;
	if (e->slept <= of->longest)
		return;
	of->longest = e->slept;
	of->coroutine = e->coroutine;
	of->process = e->process;
	of->at = e->tick;
}

const struct replay_sink sleeps_sink = { .resume = sleeps_resume };
