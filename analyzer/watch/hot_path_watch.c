/* hot_path_watch.c - which of the calls are open at a tick, where they stand on
 * a stream's stack, and the nodes of what stands above them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/hot_path_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

void hot_path_watch_free(struct hot_path_lane *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->watches[i].node);
	l->count = 0;
}

static ticks end_of(const struct slow_call *c)
{
	return c->begin + c->total + c->suspended;
}

static void watch(struct hot_path_lane *l, size_t call)
{
	*vec_add(&l->watches, &l->room, &l->count) =
		(struct watch){ .call = (uint32_t)call };
}

void hot_path_watch_refresh(const struct hot_path *in, struct hot_path_lane *l,
			   ticks at)
{
	if (at < l->until)
		return;
	hot_path_watch_free(l);
	l->until = UINT64_MAX;
	for (size_t i = 0; i < in->count; i++) {
		const struct slow_call *const c = &in->calls[i];
		const ticks edge = at < c->begin ? c->begin :
				   at <= end_of(c) ? end_of(c) + 1 : UINT64_MAX;

		if (c->process != l->process || c->level != l->level ||
		    (c->coroutine == 0 && c->thread != l->thread))
			continue;
		if (edge < l->until)
			l->until = edge;
		if (at >= c->begin && at <= end_of(c))
			watch(l, i);
	}
}

/* The frames of a coroutine, or of the thread itself. */
static int find_segment(const struct stream *st, uint64_t serial,
			size_t *from, size_t *to)
{
	const size_t count = stream_segments(st);
	struct stream_segment s;

	*to = stream_depth(st);
	for (size_t i = count; i-- > 0; *to = s.base) {
		s = stream_segment(st, i);
		*from = s.base;
		if (s.serial == serial)
			return 1;
	}
	return 0;
}

/* A frame's entry is later than the call's by what it slept so far. */
static int is_call(const struct stream *st, size_t frame,
		   const struct slow_call *c)
{
	struct stream_frame f;

	f = stream_frame(st, frame);
	return f.omitted == 0 && f.func == c->func && f.is_known &&
	       f.entry >= c->begin && f.entry <= c->begin + c->suspended;
}

int hot_path_watch_is_on(const struct hot_path *in, struct watch *w,
		 const struct stream *st)
{
	const struct slow_call *const c = &in->calls[w->call];
	size_t from, to;

	if (w->where != NOT_LOOKED)
		return w->where == IS_ON;
	w->known = 0;
	w->where = IS_OFF;
	if (!find_segment(st, c->coroutine, &from, &to) ||
	    c->depth >= to - from || !is_call(st, from + c->depth, c))
		return 0;
	w->frame = from + c->depth;
	w->where = IS_ON;
	return 1;
}

static int is_base(const struct stream *st, size_t frame)
{
	struct stream_segment s;

	for (size_t i = stream_segments(st); i-- > 1;) {
		s = stream_segment(st, i);
		if (s.base <= frame)
			return s.base == frame;
	}
	return 0;
}

node_id hot_path_watch_node(struct hot_path *in, struct watch *w,
		       const struct stream *st, size_t frame)
{
	const size_t wanted = frame - w->frame;
	struct stream_frame f;

	vec_need(&w->node, &w->room, wanted + 1);
	for (; w->known <= wanted; w->known++) {
		const size_t at = w->frame + w->known;

		if (w->known == 0) {
			w->node[0] = in->root[w->call];
			continue;
		}
		f = stream_frame(st, at);
		w->node[w->known] = cct_child(in->tree, w->node[w->known - 1],
			f.func, (is_base(st, at) ? CCT_BODY : 0) |
			(f.omitted > 0 ? CCT_OMITTED : 0));
	}
	return w->node[wanted];
}

void hot_path_watch_forget(struct watch *w, size_t frame)
{
	if (w->where != IS_ON || frame <= w->frame)
		w->where = NOT_LOOKED;
	else if (frame - w->frame < w->known)
		w->known = frame - w->frame;
}
