/* coroutine_groups.c - coroutines by body.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/coroutine_groups.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

static int compare_body(const void *a, const void *b, void *session)
{
	const struct coroutine *const all =
		((const struct session *)session)->coroutines;
	const func_id x = all[*(const uint32_t *)a].body;
	const func_id y = all[*(const uint32_t *)b].body;

	return x < y ? -1 : x > y;
}

static int compare_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int compare_row(const void *a, const void *b)
{
	const struct bodies_row *const x = a, *const y = b;

	if (x->active.sum != y->active.sum)
		return x->active.sum > y->active.sum ? -1 : 1;
	return x->body < y->body ? -1 : x->body > y->body;
}

static uint64_t quantile(const uint64_t *sorted, size_t n, size_t percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

/* Sorts the values. */
static struct bodies_figure figure(uint64_t *values, size_t n)
{
	struct bodies_figure f = { 0 };

	qsort(values, n, sizeof(*values), compare_number);
	for (size_t i = 0; i < n; i++)
		f.sum += values[i];
	f.p50 = quantile(values, n, 50);
	f.p95 = quantile(values, n, 95);
	f.p99 = quantile(values, n, 99);
	f.max = values[n - 1];
	return f;
}

static struct bodies_row row(const struct session *s, const uint32_t *of,
			     size_t n, uint64_t *values)
{
	const struct coroutine *const all = s->coroutines;
	struct bodies_row r = { .body = all[of[0]].body, .count = n };

	for (size_t i = 0; i < n; i++)
		values[i] = all[of[i]].active;
	r.active = figure(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = all[of[i]].suspended;
	r.suspended = figure(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = all[of[i]].resumes;
	r.resumes = figure(values, n);
	return r;
}

struct bodies_row *bodies_group(const struct session *s, size_t *count)
{
	const size_t n = s->coroutine_count;
	uint32_t *const of = mem_alloc((n + 1) * sizeof(*of));
	uint64_t *const values = mem_alloc((n + 1) * sizeof(*values));
	struct bodies_row *rows = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++)
		of[i] = (uint32_t)i;
	qsort_r(of, n, sizeof(*of), compare_body, (void *)(uintptr_t)s);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && s->coroutines[of[end]].body ==
					 s->coroutines[of[i]].body; end++)
			;
		vec_need(&rows, &room, *count + 1);
		rows[(*count)++] = row(s, of + i, end - i, values);
	}
	if (*count > 0)
		qsort(rows, *count, sizeof(*rows), compare_row);
	mem_free(of);
	mem_free(values);
	return rows;
}

/* --- own times --------------------------------------------------------- */

void bodies_times_init(struct bodies_times *t, const struct session *s)
{
	*t = (struct bodies_times){ .session = s, .index = map_new() };
	t->lua = mem_alloc((s->coroutine_count + 1) * sizeof(*t->lua));
	t->native = mem_alloc((s->coroutine_count + 1) * sizeof(*t->native));
	for (size_t i = 0; i < s->coroutine_count; i++)
		*map_put(t->index, s->coroutines[i].process,
			 s->coroutines[i].serial) = (uint32_t)i + 1;
}

void bodies_times_fini(struct bodies_times *t)
{
	map_free(t->index);
	mem_free(t->lua);
	mem_free(t->native);
}

static uint32_t find(struct bodies_times *t, const struct stream *st,
		     uint64_t serial)
{
	const uint32_t thread = stream_thread(st);

	if (st == t->stream && serial == t->serial)
		return t->found;
	t->stream = st;
	t->serial = serial;
	t->found = thread >= t->session->thread_count ? 0 :
		map_find(t->index, t->session->threads[thread].process,
			 serial);
	return t->found;
}

/* A coroutine without a known frame runs what it is. */
static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	struct bodies_times *const t = ctx;
	const size_t depth = stream_depth(st);
	struct stream_segment top;
	struct stream_frame f;
	enum func_kind kind = FUNC_LUA;
	uint32_t i;

	top = stream_top(st);
	if (top.serial == 0)
		return;
	i = find(t, st, top.serial);
	if (i == 0)
		return;
	if (t->session->coroutines[i - 1].is_native)
		kind = FUNC_NATIVE;
	if (depth > top.base) {
		f = stream_frame(st, depth - 1);
		kind = func_get(t->session->funcs, f.func)->kind;
	}
	if (kind == FUNC_NATIVE || kind == FUNC_CODE)
		t->native[i - 1] += to - from;
	else
		t->lua[i - 1] += to - from;
}

const struct replay_sink bodies_times_sink = { .pass = pass };
