/* coroutines.h - coroutines as rows: each by itself, and grouped by their body
 * with the distribution of their figures. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/tables/metric.h"

/* ---- single ones -------------------------------------------------------- */

/* A coroutine. Times are ticks; active includes the coroutines it resumed. */
struct coroutine_row {
	func_id body;            /* 0: it never ran */
	uint32_t pid;
	uint32_t inferred;       /* switches seen at the next event only */
	uint64_t id, creator;    /* serials; creator 0: a thread, or unknown */
	uint64_t vm;             /* serial of its Lua state; 0: unknown */
	uint64_t resumes;
	ticks active, suspended;
	struct coroutine_own own;
	struct cct_heap heap;
	const struct coroutine *coroutine;
};

/* A row for each coroutine of the session, in the order of a metric of
 * coroutine_view; rows borrow from the session. own, heap: by index of the
 * coroutine; NULL: not known. The caller frees the rows with mem_free. */
struct coroutine_row *coroutine_rows(struct session *,
				     const struct coroutine_own *own,
				     const struct cct_heap *heap,
				     const struct metric *);

extern const struct metric_view coroutine_view;

/* ---- by body ------------------------------------------------------------ */

/* A figure over the coroutines of a group. Times are ticks. Percentiles are
 * exact, by nearest rank. */
struct coroutine_figure { uint64_t sum, p50, p95, p99, max; };

/* The coroutines of one body, all threads and processes together. */
struct coroutine_group {
	func_id body;            /* 0: those that never ran */
	uint64_t count;
	struct coroutine_figure active, suspended, resumes;
};

/* By falling sum of active, then by rising body. The caller frees the array
 * with mem_free. */
struct coroutine_group *coroutine_groups(const struct session *, size_t *count);

/* For CSV: a row is a struct coroutine_group. */
extern const struct metric_view coroutine_group_view;

/* For people: three rows a group, one for each figure. */
struct coroutine_line {
	func_id body;
	const struct coroutine_group *group;
	const struct coroutine_figure *figure;
	const char *title;       /* of the figure */
};
extern const struct metric_view coroutine_line_view;
