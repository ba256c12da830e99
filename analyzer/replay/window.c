/* window.c - what a thread did since recording began, while calls were open
 * that nobody saw enter: a window with an unknown base (replay.h).
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_private.h"

#include <assert.h>

/* Calls were open at its beginning that nobody saw enter. What happens goes
 * into a tree of its own, and from there below the calls that turn out, when
 * they end, to have been open. */
void replay_window_begin(struct replay *r, struct stream *st)
{
	struct window *const w = mem_alloc(sizeof(*w));

	assert(replay_stack_is_empty(st) && !st->window);
	w->tree = cct_new(r->session->cct->max);
	cct_set_deeper(w->tree, r->session->cct->deeper);
	cct_collect_as(w->tree, r->session->cct);
	w->root = cct_root(w->tree, 0);
	st->window = w;
	st->windows++;
	st->tree = w->tree;
	replay_stack_init(st, replay_time_side(st, w->root));
}

bool replay_window_leave_old(struct stream *st, func_id func)
{
	struct window *const w = st->window;

	if (!w)
		return false;
	*vec_add(&w->old, &w->room, &w->count) = (struct old){ w->root, func };
	w->root = cct_root(w->tree, (uint32_t)w->count);
	return true;
}

/* Did nothing happen below that root? */
static bool is_blank(const struct cct *t, node_id root)
{
	return t->nodes[root].child == 0 && t->nodes[root].self == 0;
}

/* Graft the window's trees from the outside in: what happened last is
 * outermost. */
static void place(struct replay *r, struct cct *t, const struct window *w,
		  uint32_t thread)
{
	node_id at = cct_root(t, thread);

	if (w->count == 0 && !is_blank(w->tree, w->root)) {
		if (!r->open_before)
			r->open_before = func_special(r->session->funcs,
						      "[open before start]");
		at = cct_child(t, at, r->open_before, 0);
	}
	cct_graft(t, at, w->tree, w->root);
	for (size_t i = w->count; i-- > 0; ) {
		at = cct_child(t, at, w->old[i].func, 0);
		cct_graft(t, at, w->tree, w->old[i].root);
	}
}

/* Streams of handlers may hang in the window's tree: they end with it. */
static void detach_handlers(struct replay *r, struct stream *st, node_id root)
{
	for (uint32_t level = 1; level < LEVELS; level++) {
		struct stream *const upper = replay_stream(r, st->thread,
							   level);

		if (!upper || upper->tree != st->window->tree)
			continue;
		if (upper->room > 0) {
			replay_stack_close(r, upper, REPLAY_CUT);
			replay_stack_init(upper, root);
			upper->outside = 0;
		}
		upper->tree = r->session->cct;
	}
}

void replay_window_end(struct replay *r, struct stream *st)
{
	struct window *const w = st->window;
	const node_id root = cct_root(r->session->cct, st->thread);

	if (!w)
		return;
	detach_handlers(r, st, root);
	place(r, r->session->cct, w, st->thread);
	cct_free(w->tree);
	mem_free_all(w->old, w);
	st->window = NULL;
	st->tree = r->session->cct;
	replay_stack_init(st, replay_time_side(st, root));
}

struct cct *replay_tree_now(struct replay *r)
{
	struct session *const s = r->session;
	struct cct *t;
	size_t windows = 0;

	for (size_t i = 0; i < r->stream_count; i++)
		windows += r->streams[i]->window != NULL;
	if (windows == 0)
		return s->cct;
	t = cct_new(s->cct->max);
	cct_set_deeper(t, s->cct->deeper);
	cct_collect_as(t, s->cct);
	for (uint32_t i = 0; i < s->thread_count; i++)
		cct_graft(t, cct_root(t, i), s->cct, cct_root(s->cct, i));
	for (size_t i = 0; i < r->stream_count; i++)
		if (r->streams[i]->window)
			place(r, t, r->streams[i]->window,
			      r->streams[i]->thread);
	return t;
}
