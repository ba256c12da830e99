/* coroutine_groups.h - coroutines grouped by their body: how many, and how their figures
 * are distributed; and how each spent its own time. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_COROUTINE_GROUPS_H
#define WEFT_ANALYZER_TABLES_COROUTINE_GROUPS_H

#include "analyzer/replay/replay.h"

/* Exact, by nearest rank. */
struct bodies_figure {
	uint64_t sum, p50, p95, p99, max;
};

struct bodies_row {
	func_id body;            /* 0: those that never ran */
	size_t count;
	struct bodies_figure active, suspended, resumes;
};

/* The rows by falling sum of active, equal ones by rising func; the caller's to
 * free. */
struct bodies_row *bodies_group(const struct session *, size_t *count);

/* Time while a coroutine was the topmost on a thread, by what was innermost;
 * the rest of its active time was that of coroutines it resumed. By index in
 * the session. Context of the sink. */
struct bodies_times {
	const struct session *session;
	ticks *lua, *native;
	struct map *index;
	const struct stream *stream;  /* whose topmost coroutine was looked */
	uint64_t serial;              /* up last */
	uint32_t found;               /* index + 1; 0: none */
};
void bodies_times_init(struct bodies_times *, const struct session *);
void bodies_times_fini(struct bodies_times *);
extern const struct replay_sink bodies_times_sink;

#endif
