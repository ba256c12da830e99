/* threads.c - finds for each thread the call that made it, by its pthread_self,
 * which another thread may have had before or may get afterwards.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/threads.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* The births of one object that begin up to a tick end before the result. */
static size_t after(const struct waits *w, const struct waits_object *of,
		    ticks at)
{
	return ORDER_FIRST(i, w->birth_count,
		(waits_compare(&w->births[i].of, of) ?:
		 ORDER(w->births[i].begin, at + 1)) < 0);
}

/* The call that made the thread of that handle which lived at a tick; NULL:
 * none was seen. */
static struct waits_birth *maker_of(const struct waits *w,
				    const struct waits_object *of, ticks at)
{
	for (size_t i = after(w, of, at); i-- > 0;) {
		struct waits_birth *const b = &w->births[i];

		if (waits_compare(&b->of, of) != 0)
			break;
		if (b->is_made)
			return b;
	}
	return NULL;
}

/* Was it detached, or joined, before another one got its handle? */
static bool is_detached(const struct waits *w, const struct waits_birth *b)
{
	bool detached = b->is_detached;

	for (b++; b < w->births + w->birth_count && !b->is_made &&
	     waits_compare(&b->of, &b[-1].of) == 0; b++)
		detached = true;
	return detached;
}

static bool is_joined(const struct waits *w, const struct waits_birth *b)
{
	const struct waits_birth *next = b + 1;
	const struct waits_object of = { b->of.process, WAIT_JOIN,
					 b->of.address };
	size_t i = ORDER_FIRST(k, w->span_count,
		(waits_compare(&w->spans[k].of, &of) ?:
		 ORDER(w->spans[k].begin, b->begin)) < 0);

	while (next < w->births + w->birth_count && !next->is_made)
		next++;
	for (; i < w->span_count && waits_compare(&w->spans[i].of, &of) == 0;
	     i++)
		if (!w->spans[i].is_open &&
		    (next == w->births + w->birth_count ||
		     waits_compare(&next->of, &b->of) != 0 ||
		     w->spans[i].begin < next->begin))
			return true;
	return false;
}

static void see_birth(const struct waits *w, const struct waits_birth *b,
		      struct threads_row *r)
{
	const bool joined = is_joined(w, b), detached = is_detached(w, b);

	r->made_by = b->stack;
	r->from = b->begin;
	r->is_owed = !joined && !detached;
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
			r->times.blocked[!r->open ? (uint32_t)WAITS_CALL :
				MIN(r->open->of.kind, (uint32_t)WAITS_OTHER)] +=
				gap;
	}
	mem_free(end);
}

static struct threads_row row_of(const struct session *s,
				 const struct waits *w, uint32_t thread,
				 uint8_t *seen)
{
	const struct thread *const t = &s->threads[thread];
	struct threads_row r = { .process = t->process, .thread = thread,
		.from = t->first, .to = t->last,
		.cpu = (ticks)((unsigned __int128)t->cpu_ns * s->tick_hz /
			       1000000000) };
	const struct waits_birth *b = NULL;

	if (thread < w->time_count)
		r.times = w->times[thread];
	r.fate = r.times.is_ended ? THREADS_UNKNOWN : THREADS_LIVE;
	if (t->handle != 0)
		b = maker_of(w, &(struct waits_object){ t->process,
			     WAIT_THREAD, t->handle }, t->first);
	if (b && !seen[b - w->births]) {
		seen[b - w->births] = 1;
		see_birth(w, b, &r);
	}
	return r;
}

ORDER_BY(by_from, struct threads_row,
	 UP(process) ?: UP(from) ?: UP(thread))

struct threads_row *threads_list(const struct session *s,
				 const struct waits *w, size_t *count)
{
	uint8_t *const seen = mem_alloc(w->birth_count + 1);
	struct threads_row *rows = NULL;
	size_t room = 0;

	*count = 0;
	for (uint32_t i = 0; i < s->thread_count; i++)
		*vec_add(&rows, &room, count) = row_of(s, w, i, seen);
	see_open(w, rows, s->thread_count);
	go_on(s, rows);
	for (size_t i = 0; i < w->birth_count; i++) {
		const struct waits_birth *const b = &w->births[i];
		struct threads_row r = { .process = b->of.process,
			.thread = THREADS_NONE, .from = b->begin,
			.to = b->begin, .fate = THREADS_UNKNOWN };

		if (!b->is_made || seen[i])
			continue;
		see_birth(w, b, &r);
		if (r.fate == THREADS_ENDED)
			r.fate = THREADS_UNKNOWN;
		*vec_add(&rows, &room, count) = r;
	}
	mem_free(seen);
	order_sort(rows, *count, by_from);
	return rows;
}

ORDER_BY(by_value, ticks, ORDER(*x, *y))

uint64_t threads_most(const struct threads_row *rows, size_t count, ticks *at)
{
	ticks *const ends = mem_alloc((count + 1) * sizeof(*ends));
	ticks *const begins = mem_alloc((count + 1) * sizeof(*begins));
	uint64_t most = 0;
	size_t gone = 0, n = 0;

	*at = 0;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].thread == THREADS_NONE)
			continue;
		begins[n] = rows[i].from;
		ends[n++] = rows[i].to;
	}
	order_sort(begins, n, by_value);
	order_sort(ends, n, by_value);
	for (size_t i = 0; i < n; i++) {
		while (gone < i && ends[gone] <= begins[i])
			gone++;
		if (i + 1 - gone > most) {
			most = i + 1 - gone;
			*at = begins[i];
		}
	}
	mem_free_all(ends, begins);
	return most;
}
