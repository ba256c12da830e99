/* threads.c - finds for each thread the call that made it, by its pthread_self,
 * which another thread may have had before or may get afterwards.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/waits/threads.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

/* The call that made the thread of that handle which lived at a tick: its index
 * + 1; 0: none was seen. */
static size_t maker_of(const struct waits *w, const struct waits_object *of,
		       ticks at)
{
	size_t i = waits_end_after(w, of, at);

	while (i > 0 && waits_compare(&w->ends[i - 1].of, of) == 0 &&
	       !w->ends[i - 1].is_made)
		i--;
	return i > 0 && waits_compare(&w->ends[i - 1].of, of) == 0 ? i : 0;
}

/* Was it waited for, before another one got its handle? */
static bool is_joined(const struct waits *w, const struct waits_end *b,
		      ticks until)
{
	const struct waits_object of = { b->of.process, WAIT_JOIN,
					 b->of.address, 0 };
	size_t i = ORDER_FIRST(k, w->span_count,
		(waits_compare(&w->spans[k].of, &of) ?:
		 ORDER(w->spans[k].begin, b->at)) < 0);

	while (i < w->span_count && w->spans[i].is_open &&
	       waits_compare(&w->spans[i].of, &of) == 0)
		i++;
	return i < w->span_count && w->spans[i].begin < until &&
	       waits_compare(&w->spans[i].of, &of) == 0;
}

static void see_birth(const struct waits *w, const struct waits_end *b,
		      struct threads_row *r)
{
	const struct waits_end *next = b + 1, *const end = w->ends +
							   w->end_count;
	bool joined, detached = b->is_detached;

	for (; next < end && waits_compare(&next->of, &b->of) == 0 &&
	     !next->is_made; next++)
		detached = true;
	joined = is_joined(w, b, next < end && waits_compare(&next->of, &b->of)
			   == 0 ? next->at : UINT64_MAX);
	r->made_by = b->stack;
	r->from = b->at;
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
	const size_t maker = t->handle == 0 ? 0 : maker_of(w, &of, t->first);
	struct threads_row r = { .process = t->process, .thread = thread,
		.from = t->first, .to = t->last,
		.cpu = (ticks)((unsigned __int128)t->cpu_ns * s->tick_hz /
			       1000000000) };

	if (thread < w->time_count)
		r.times = w->times[thread];
	r.fate = r.times.is_ended ? THREADS_UNKNOWN : THREADS_LIVE;
	if (maker > 0 && !seen[maker - 1]++)
		see_birth(w, &w->ends[maker - 1], &r);
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
	uint8_t *const seen = mem_alloc(w->end_count + 1);
	struct threads_row *rows = NULL;
	size_t room = 0, n = 0;

	vec_need(&rows, &room, s->thread_count + 1);

	for (; n < s->thread_count; n++)
		rows[n] = row_of(s, w, (uint32_t)n, seen);
	see_open(w, rows, n);
	go_on(s, rows);
	for (size_t i = 0; i < w->end_count; i++) {
		const struct waits_end *const b = &w->ends[i];
		struct threads_row r = { .process = b->of.process,
			.thread = THREADS_NONE, .to = b->at,
			.fate = THREADS_UNKNOWN };

		if (!b->is_made || seen[i])
			continue;
		see_birth(w, b, &r);
		if (r.fate == THREADS_ENDED)
			r.fate = THREADS_UNKNOWN;
		*vec_add(&rows, &room, &n) = r;
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
