/* replay_look.h - a stream's stack as it stands during a callback of a
 * replay_sink. Knows frames and segments; changes nothing.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_REPLAY_REPLAY_LOOK_H
#define WEFT_ANALYZER_REPLAY_REPLAY_LOOK_H

#include "analyzer/replay/replay.h"

/* The session's index of its thread, and its level. */
uint32_t stream_thread(const struct stream *);
uint32_t stream_level(const struct stream *);

/* 0: its base is known; otherwise the number, from 1 on, of its window whose
 * base is not. */
uint64_t stream_window(const struct stream *);

/* An open call: frame 0 is the outermost. Frames that were left out are one. */
struct stream_frame {
	func_id func;            /* FUNC_SPECIAL if omitted */
	uint64_t omitted;        /* so many frames were left out here */
	int is_known;            /* whether its entry is: the tick it began at, */
	ticks entry;             /* later by what its coroutine slept since */
};
size_t stream_depth(const struct stream *);
void stream_frame(const struct stream *, size_t, struct stream_frame *);

/* Segment 0 is the thread's own, with serial 0; each holds the frames from its
 * base up to the next one's base, or to the depth. */
struct stream_segment {
	uint64_t serial;
	size_t base;
	ticks since;             /* resumed, or first seen */
};
size_t stream_segments(const struct stream *);
void stream_segment(const struct stream *, size_t,
			 struct stream_segment *);

#endif
