/* slow_waits.c - sees the stack only when the thread was off the CPU, which is
 * seldom: what has ended since is found by the entries of its calls.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/slow_waits.h"
#include "analyzer/base/vec.h"

/* Calls that are not on the stack any more have ended, or are suspended: their
 * waits are those of the call below. */
static void fold(struct slow_waits *w, const struct stream *st)
{
	while (w->count > 0) {
		const struct slow_wait top = w->at[w->count - 1];

		if (w->count <= stream_depth(st) &&
		    top.entry == stream_frame(st, w->count - 1).entry)
			return;
		if (--w->count == 0)
			return;
		w->at[w->count - 1].off += top.off;
		w->at[w->count - 1].ready += top.ready;
	}
}

void slow_waits_add(struct slow_waits *w, const struct stream *st, ticks span,
		    bool ready)
{
	const size_t depth = stream_depth(st);

	fold(w, st);
	while (w->count < depth) {
		const ticks entry = stream_frame(st, w->count).entry;

		*vec_add(&w->at, &w->room, &w->count) =
			(struct slow_wait){ .entry = entry };
	}
	if (depth == 0)
		return;
	w->at[depth - 1].off += span;
	w->at[depth - 1].ready += ready ? span : 0;
}

void slow_waits_of(const struct slow_waits *w, size_t depth, ticks entry,
		   ticks *off, ticks *ready)
{
	if (depth >= w->count || w->at[depth].entry != entry)
		return;
	for (size_t i = depth; i < w->count; i++) {
		*off += w->at[i].off;
		*ready += w->at[i].ready;
	}
}
