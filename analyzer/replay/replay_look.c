/* replay_look.c - what a stream's stack looks like from outside.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_look.h"
#include "analyzer/replay/replay_state.h"

uint32_t stream_thread(const struct stream *st)
{
	return st->thread;
}

uint32_t stream_level(const struct stream *st)
{
	return st->level;
}

uint64_t stream_window(const struct stream *st)
{
	return st->window ? st->windows : 0;
}

size_t stream_depth(const struct stream *st)
{
	return st->depth - 1;
}

void stream_frame(const struct stream *st, size_t i,
		       struct stream_frame *out)
{
	const struct frame *const f = &st->frame[i + 1];

	*out = (struct stream_frame){
		.func = f->func,
		.omitted = frame_is_omitted(f) ? frame_omitted(f) : 0,
		.is_known = f->entry < ENTRY_NONE,
		.entry = f->entry < ENTRY_NONE ? f->entry : 0 };
}

size_t stream_segments(const struct stream *st)
{
	return st->segments;
}

void stream_segment(const struct stream *st, size_t i,
			 struct stream_segment *out)
{
	const struct segment *const s = &st->segment[i];

	*out = (struct stream_segment){ s->serial, s->base - 1, s->since };
}
