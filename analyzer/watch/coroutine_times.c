/* coroutine_times.c - a coroutine's own time goes to Lua or to native code.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/coroutine_times.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

void coroutine_times_init(struct coroutine_times *t, const struct session *s)
{
	*t = (struct coroutine_times){ .session = s, .index = map_new() };
	t->lua = mem_alloc((s->coroutine_count + 1) * sizeof(*t->lua));
	t->native = mem_alloc((s->coroutine_count + 1) * sizeof(*t->native));
	for (size_t i = 0; i < s->coroutine_count; i++)
		*map_put(t->index, s->coroutines[i].process,
			 s->coroutines[i].serial) = (uint32_t)i + 1;
}

void coroutine_times_fini(struct coroutine_times *t)
{
	map_free(t->index);
	mem_free(t->lua);
	mem_free(t->native);
}

static uint32_t find(struct coroutine_times *t, const struct stream *st,
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
static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct coroutine_times *const t = ctx;
	const struct stream_segment top = stream_top(st);
	const size_t depth = stream_depth(st);
	const uint32_t i = top.serial == 0 ? 0 : find(t, st, top.serial);
	enum func_kind kind;

	if (i == 0)
		return;
	kind = t->session->coroutines[i - 1].is_native ? FUNC_NATIVE : FUNC_LUA;
	if (depth > top.base)
		kind = func_get(t->session->funcs,
				stream_frame(st, depth - 1).func)->kind;
	if (kind == FUNC_NATIVE || kind == FUNC_CODE)
		t->native[i - 1] += to - from;
	else
		t->lua[i - 1] += to - from;
}

const struct replay_sink coroutine_times_sink = { .pass = pass };
