/* coroutine_times.h - in what each coroutine spent the time in which it ran
 * itself. Collects while a trace is replayed. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_WATCH_COROUTINE_TIMES_H
#define WEFT_ANALYZER_WATCH_COROUTINE_TIMES_H

#include "analyzer/replay/replay.h"

/* The time while a coroutine was the topmost one on a thread, by its innermost
 * frame; the rest of its active time was that of coroutines it resumed. The
 * arrays are by index in the session. */
struct coroutine_times {
	ticks *lua, *native;
	/* Private. */
	const struct session *session;
	struct map *index;
	const struct stream *stream;  /* the last lookup: of its topmost */
	uint64_t serial;              /* coroutine; what was found is an */
	uint32_t found;               /* index + 1; 0: none */
};

/* Borrows the session of a first replay of the same trace. */
void coroutine_times_init(struct coroutine_times *, const struct session *);
void coroutine_times_fini(struct coroutine_times *);

/* For a replay; its context is the struct. */
extern const struct replay_sink coroutine_times_sink;

#endif
