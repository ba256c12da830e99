/* lanes.h - a replay that uses several processors: each thread of the trace is
 * replayed by one of several workers, and what they filled is joined at the
 * end. No sink: events have an order that only one replay keeps.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

enum { LANES_MAX = 64 };

/* Fills the session, which is empty and the caller's. jobs: how many workers, 1
 * to LANES_MAX; the result is the same for any number. want is copied. */
struct lanes;
struct lanes *lanes_new(struct session *, const struct replay_collect *want,
			unsigned jobs);
/* Ends the workers, too, if lanes_finish was not called. */
void lanes_free(struct lanes *);

/* As replay_chunk: the chunk is borrowed. Returns -1 if there is no use in
 * going on, because several workers together have more nodes than the session's
 * tree may have: where paths end then depends on the order of events, so that
 * the trace must be read once more with one worker. */
int lanes_chunk(struct lanes *, const struct chunk *);
bool lanes_are_full(const struct lanes *);

/* No chunk follows: waits for the workers and fills the session. */
void lanes_finish(struct lanes *);
