/* slow_waits.c - sees the stack only when there is a part to add, which is
 * seldom: what has ended since is found by the entries of its calls.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/slow/slow_waits.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* What is above so many calls has ended, or is suspended: its parts are those
 * of the call below. */
static void keep(struct slow_waits *w, size_t depth)
{
	while (w->count > depth) {
		const struct slow_wait top = w->at[--w->count];

		if (w->count == 0)
			return;
		slow_parts_add(&w->at[w->count - 1].parts, &top.parts);
	}
}

/* Calls that are not on the stack any more. */
static void fold(struct slow_waits *w, const struct stream *st)
{
	keep(w, stream_depth(st));
	while (w->count > 0 && w->at[w->count - 1].entry !=
			       stream_frame(st, w->count - 1).entry)
		keep(w, w->count - 1);
}

void slow_waits_add(struct slow_waits *w, const struct stream *st,
		    const struct slow_parts *more)
{
	const size_t depth = stream_depth(st);

	fold(w, st);
	while (w->count < depth) {
		const ticks entry = stream_frame(st, w->count).entry;

		*vec_add(&w->at, &w->room, &w->count) =
			(struct slow_wait){ .entry = entry };
	}
	if (depth > 0)
		slow_parts_add(&w->at[depth - 1].parts, more);
}

void slow_waits_of(struct slow_waits *w, const struct stream *st, size_t depth,
		   ticks entry, struct slow_parts *to)
{
	keep(w, MAX(depth + 1, stream_depth(st)));
	if (depth >= w->count || w->at[depth].entry != entry)
		return;
	for (size_t i = depth; i < w->count; i++)
		slow_parts_add(to, &w->at[i].parts);
}
