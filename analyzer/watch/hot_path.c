/* hot_path.c - follows chosen calls from entry to exit, on whatever threads, and
 * puts what happens above them into a tree.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/hot_path.h"
#include "analyzer/watch/hot_path_state.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

struct hot_path *hot_path_new(const struct slow_call *calls, size_t count,
			  func_id deeper)
{
	struct hot_path *const in = mem_alloc(sizeof(*in));

	in->calls = calls;
	in->count = count;
	in->tree = cct_new(1 << 20);
	cct_set_deeper(in->tree, deeper);
	in->root = mem_alloc((count + 1) * sizeof(*in->root));
	for (size_t i = 0; i < count; i++)
		in->root[i] = cct_root(in->tree, (uint32_t)i);
	in->lane_of = map_new();
	return in;
}

void hot_path_free(struct hot_path *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->lane_count; i++) {
		hot_path_watch_free(in->lanes[i]);
		mem_free(in->lanes[i]->watches);
		mem_free(in->lanes[i]);
	}
	mem_free(in->lanes);
	map_free(in->lane_of);
	cct_free(in->tree);
	mem_free(in->root);
	mem_free(in->total);
	mem_free(in->suspended);
	mem_free(in);
}

static struct hot_path_lane *lane(struct hot_path *in, const struct stream *st)
{
	uint32_t *const id = map_put(in->lane_of, stream_thread(st),
				     stream_level(st));

	if (*id == 0) {
		struct hot_path_lane *const l = mem_alloc(sizeof(*l));

		l->thread = stream_thread(st);
		l->level = stream_level(st);
		*vec_add(&in->lanes, &in->lane_room, &in->lane_count) = l;
		*id = (uint32_t)in->lane_count;
	}
	return in->lanes[*id - 1];
}

/* --- events -------------------------------------------------------------- */

static struct hot_path_lane *forget_all(struct hot_path *in,
			       const struct replay_event *e, size_t frame)
{
	struct hot_path_lane *const l = lane(in, e->stream);

	hot_path_watch_refresh(in, l, e->tick);
	for (size_t i = 0; i < l->count; i++)
		hot_path_watch_forget(&l->watches[i], frame);
	return l;
}

static struct cct_node *node(struct hot_path *in, struct watch *w,
			     const struct stream *st, size_t frame)
{
	return cct_get(in->tree, hot_path_watch_node(in, w, st, frame));
}

static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct hot_path *const in = ctx;
	struct hot_path_lane *const l = lane(in, st);
	const size_t depth = stream_depth(st);

	hot_path_watch_refresh(in, l, from);
	for (size_t i = 0; i < l->count; i++)
		if (hot_path_watch_is_on(in, &l->watches[i], st))
			node(in, &l->watches[i], st, depth - 1)->self +=
				to - from;
}

static void enter(void *ctx, const struct replay_event *e)
{
	struct hot_path *const in = ctx;
	struct hot_path_lane *l;

	if (e->deferred != REPLAY_NOW)
		return;
	l = forget_all(in, e, e->depth);
	for (size_t i = 0; i < l->count && e->why == REPLAY_SEEN; i++) {
		struct watch *const w = &l->watches[i];

		if (hot_path_watch_is_on(in, w, e->stream) &&
		    e->depth > w->frame)
			node(in, w, e->stream, e->depth)->calls++;
	}
}

static void leave(void *ctx, const struct replay_event *e)
{
	if (e->deferred == REPLAY_NOW)
		forget_all(ctx, e, e->depth);
}

static void resume(void *ctx, const struct replay_event *e)
{
	struct hot_path *const in = ctx;
	struct hot_path_lane *const l = forget_all(in, e, e->depth);
	const size_t depth = stream_depth(e->stream);

	for (size_t i = 0; i < l->count; i++) {
		struct watch *const w = &l->watches[i];

		if (in->calls[w->call].coroutine == e->coroutine &&
		    hot_path_watch_is_on(in, w, e->stream))
			node(in, w, e->stream, depth - 1)->suspended +=
				e->slept;
	}
}

static void suspend(void *ctx, const struct replay_event *e)
{
	forget_all(ctx, e, e->depth);
}

static void adopt(void *ctx, const struct replay_event *e)
{
	forget_all(ctx, e, 0);
}

static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *v)
{
	struct hot_path_lane *const l = lane(ctx, e->stream);

	(void)v;
	l->process = e->process;
	/* Its first time passes from the chunk's begin on. */
	l->until = 0;
}

const struct replay_sink hot_path_sink = {
	.enter = enter, .leave = leave, .resume = resume, .suspend = suspend,
	.chunk_begin = chunk_begin, .adopt = adopt, .pass = pass,
};
