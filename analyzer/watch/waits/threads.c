/* threads.c - finds for each thread the call that made it, by its pthread_self,
 * which another thread may have had before or may get afterwards.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/threads.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* The call that made the thread of that handle which lived at a tick; NULL:
 * none was seen. */
static const struct waits_birth *maker_of(const struct waits *w,
					  const struct waits_object *of,
					  ticks at)
{
	size_t i = ORDER_FIRST(k, w->birth_count,
		(waits_compare(&w->births[k].of, of) ?:
		 ORDER(w->births[k].begin, at)) <= 0);

	while (i > 0 && waits_compare(&w->births[i - 1].of, of) == 0)
		if (w->births[--i].is_made)
			return &w->births[i];
	return NULL;
}

/* Was it waited for, before another one got its handle? */
static bool is_joined(const struct waits *w, const struct waits_birth *b,
		      ticks until)
{
	const struct waits_object of = { b->of.process, WAIT_JOIN,
					 b->of.address, 0 };
	size_t i = ORDER_FIRST(k, w->span_count,
		(waits_compare(&w->spans[k].of, &of) ?:
		 ORDER(w->spans[k].begin, b->begin)) < 0);

	while (i < w->span_count && w->spans[i].is_open)
		i++;
	return i < w->span_count && w->spans[i].begin < until &&
	       waits_compare(&w->spans[i].of, &of) == 0;
}

static void see_birth(const struct waits *w, const struct waits_birth *b,
		      struct threads_row *r)
{
	const struct waits_birth *next = b + 1, *const end = w->births +
							     w->birth_count;
	bool joined, detached = b->is_detached;

	for (; next < end && waits_compare(&next->of, &b->of) == 0 &&
	     !next->is_made; next++)
		detached = true;
	joined = is_joined(w, b, next < end && waits_compare(&next->of, &b->of)
			   == 0 ? next->begin : UINT64_MAX);
	r->made_by = b->stack;
	r->from = b->begin;
	r->owed = !joined && !detached;
	if (joined)
		r->fate = THREADS_JOINED;
	else if (r->fate != THREADS_LIVE)
		r->fate = detached ? THREADS_DETACHED : THREADS_ENDED;
}

/* What threads waited for when the records ended. Row i is that of thread i. */
static void see_open(const struct waits *w, struct threads_row *rows,
		     size_t threads)
{
	for (size_t i = 0; i < w->span_count; i++)
		if (w->spans[i].is_open && w->spans[i].thread < threads &&
		    rows[w->spans[i].thread].fate == THREADS_LIVE)
			rows[w->spans[i].thread].open = &w->spans[i];
}

/* One that lives has no records of its last wait's end, nor of the time since:
 * it is there until the last thread of its process has ended. */
static void go_on(const struct session *s, struct threads_row *rows)
{
	ticks *const end = mem_alloc((s->process_count + 1) * sizeof(*end));

	for (size_t i = 0; i < s->thread_count; i++)
		end[rows[i].process] = MAX(end[rows[i].process], rows[i].to);
	for (size_t i = 0; i < s->thread_count; i++) {
		struct threads_row *const r = &rows[i];
		const ticks gap = end[r->process] - r->to;

		if (r->fate != THREADS_LIVE)
			continue;
		r->to += gap;
		if (r->open || r->times.open)
			r->times.blocked[r->open ? waits_kind(r->open->of.kind)
					 : (uint32_t)WAITS_CALL] += gap;
	}
	mem_free(end);
}

static struct threads_row row_of(const struct session *s,
				 const struct waits *w, uint32_t thread,
				 uint8_t *seen)
{
	const struct thread *const t = &s->threads[thread];
	const struct waits_object of = { t->process, WAIT_THREAD, t->handle,
					 0 };
	const struct waits_birth *const b = t->handle == 0 ? NULL :
					    maker_of(w, &of, t->first);
	struct threads_row r = { .process = t->process, .thread = thread,
		.from = t->first, .to = t->last,
		.cpu = (ticks)((unsigned __int128)t->cpu_ns * s->tick_hz /
			       1000000000) };

	if (thread < w->time_count)
		r.times = w->times[thread];
	r.fate = r.times.is_ended ? THREADS_UNKNOWN : THREADS_LIVE;
	if (b && !seen[b - w->births]) {
		seen[b - w->births] = 1;
		see_birth(w, b, &r);
	}
	return r;
}

/* The kernel's sum of CPU time has also what a thread ran before its first
 * record and after its last one. */
static void sum_up(struct threads_row *r)
{
	r->threads = 1;
	r->live = r->fate == THREADS_LIVE;
	r->life = r->to - MIN(r->to, r->from);
	for (int i = 0; i < WAITS_KINDS; i++)
		r->blocked += r->times.blocked[i];
	r->cpu = MIN(r->cpu, r->life - MIN(r->life, r->blocked +
					   r->times.ready));
}

ORDER_BY(by_from, struct threads_row,
	 UP(process) ?: UP(from) ?: UP(thread))

struct threads_row *threads_list(const struct session *s,
				 const struct waits *w, size_t *count)
{
	uint8_t *const seen = mem_alloc(w->birth_count + 1);
	struct threads_row *const rows = mem_alloc(
		(s->thread_count + w->birth_count + 1) * sizeof(*rows));
	size_t n = 0;

	for (; n < s->thread_count; n++)
		rows[n] = row_of(s, w, (uint32_t)n, seen);
	see_open(w, rows, n);
	go_on(s, rows);
	for (size_t i = 0; i < w->birth_count; i++) {
		const struct waits_birth *const b = &w->births[i];

		if (!b->is_made || seen[i])
			continue;
		rows[n] = (struct threads_row){ .process = b->of.process,
			.thread = THREADS_NONE, .to = b->begin,
			.fate = THREADS_UNKNOWN };
		see_birth(w, b, &rows[n]);
		if (rows[n].fate == THREADS_ENDED)
			rows[n].fate = THREADS_UNKNOWN;
		n++;
	}
	for (size_t i = 0; i < n; i++)
		sum_up(&rows[i]);
	mem_free(seen);
	order_sort(rows, n, by_from);
	*count = n;
	return rows;
}

uint64_t threads_most(const struct threads_row *rows, size_t count, ticks *at)
{
	ticks *const begins = mem_alloc((2 * count + 1) * sizeof(*begins));
	uint64_t most;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].thread == THREADS_NONE)
			continue;
		begins[n] = rows[i].from;
		begins[count + n++] = rows[i].to;
	}
	most = waits_most(begins, begins + count, n, at);
	mem_free(begins);
	return most;
}
