/* replay_window.c - a window that began with calls open which nobody saw enter:
 * what happens in it goes into a tree of its own, and below the calls that turn
 * out to have been open, once they end.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

/* Needs an empty stack. */
void replay_window_begin(struct replay *r, struct stream *st)
{
	struct window *const w = mem_alloc(sizeof(*w));

	w->tree = cct_new(r->session->cct->max);
	cct_set_deeper(w->tree, r->session->cct->deeper);
	cct_collect_as(w->tree, r->session->cct);
	w->root = cct_root(w->tree, 0);
	st->window = w;
	st->windows++;
	st->tree = w->tree;
	replay_stack_init(st, replay_clock_side(st, w->root));
}

int replay_window_leave_old(struct stream *st, func_id func)
{
	struct window *const w = st->window;

	if (!w)
		return 0;
	*vec_add(&w->old, &w->room, &w->count) = (struct old){ w->root, func };
	w->root = cct_root(w->tree, (uint32_t)w->count);
	return 1;
}

static int is_empty(const struct cct *t, node_id root)
{
	return t->nodes[root].child == 0 && t->nodes[root].self == 0;
}

/* From the outside in: what happened last is outermost. */
static void place(struct replay *r, const struct window *w, uint32_t thread)
{
	struct cct *const t = r->session->cct;
	node_id at = cct_root(t, thread);

	if (w->count == 0 && !is_empty(w->tree, w->root)) {
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
		const uint32_t i = map_find(r->stream_of, st->thread, level);
		struct stream *const upper = i ? r->streams[i - 1] : NULL;

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

/* Needs an empty stack. */
void replay_window_end(struct replay *r, struct stream *st)
{
	struct window *const w = st->window;
	const node_id root = cct_root(r->session->cct, st->thread);

	if (!w)
		return;
	detach_handlers(r, st, root);
	place(r, w, st->thread);
	cct_free(w->tree);
	mem_free(w->old);
	mem_free(w);
	st->window = NULL;
	st->tree = r->session->cct;
	replay_stack_init(st, replay_clock_side(st, root));
}
