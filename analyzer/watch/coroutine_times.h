/* coroutine_times.h - the own times of all coroutines, from a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

struct coroutine_times {
	struct coroutine_own *own;    /* by index in the session */
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

/* For a replay; its context is the struct coroutine_times. */
extern const struct replay_sink coroutine_times_sink;
