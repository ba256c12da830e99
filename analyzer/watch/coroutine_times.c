/* coroutine_times.c - adds each span of time to the coroutine that is on top.
 * Knows coroutines by process and serial alone; what their times mean in a
 * report is not decided here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/coroutine_times.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

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
