/* shares.c - spreads each stretch of time in which a stack stands still over
 * the columns that it touches. Knows functions by their rows alone.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/shares.h"
#include "analyzer/base/mem.h"

#include <assert.h>

void shares_begin(struct shares *s)
{
	assert(s->from < s->to && s->columns >= 1 &&
	       s->columns <= s->to - s->from);
	s->cells = mem_alloc((s->rows + 2) * s->columns * sizeof(*s->cells));
	s->off = mem_alloc((s->rows + 2) * s->columns * sizeof(*s->off));
}

ticks shares_column(const struct shares *s, size_t column)
{
	return s->from + (ticks)((unsigned __int128)(s->to - s->from) *
				 column / s->columns);
}

/* Is the coroutine on the stack? */
static bool is_chosen(const struct shares *s, const struct stream *st)
{
	const struct session *const all = s->session;
	const struct thread *const t = &all->threads[stream_thread(st)];

	if (s->coroutine == 0)
		return true;
	if (s->pid != 0 && all->processes[t->process].pid != s->pid)
		return false;
	for (size_t i = stream_segments(st); i-- > 1; )
		if (stream_segment(st, i).serial == s->coroutine)
			return true;
	return false;
}

/* The row of the innermost call. */
static size_t row(const struct shares *s, const struct stream *st)
{
	const size_t depth = stream_depth(st);
	func_id func;

	if (depth == 0)
		return s->rows + SHARES_NONE;
	func = stream_frame(st, depth - 1).func;
	return func < s->funcs && s->row_of[func] > 0 ? s->row_of[func] - 1 :
	       s->rows + SHARES_REST;
}

/* Handlers' streams cover time that is the thread's, too. */
static void spread(const struct shares *s, ticks *to_cells,
		   const struct stream *st, ticks from, ticks to)
{
	const uint32_t thread = stream_thread(st);
	const ticks begin = from < s->from ? s->from : from;
	const ticks end = to > s->to ? s->to : to;
	ticks *cell;
	size_t i;

	if (stream_level(st) > 0 || begin >= end ||
	    thread >= s->session->thread_count ||
	    (s->threads && !s->threads[thread]) || !is_chosen(s, st))
		return;
	cell = to_cells + row(s, st) * s->columns;
	/* The column, or the one before it: columns are rounded. */
	i = (size_t)((unsigned __int128)(begin - s->from) * s->columns /
		     (s->to - s->from));
	for (ticks at = begin; at < end; i++) {
		const ticks next = shares_column(s, i + 1);

		if (next <= at)
			continue;
		cell[i] += (next < end ? next : end) - at;
		at = next;
	}
}

static void shares_pass(void *ctx, const struct stream *st, ticks from,
			ticks to)
{
	const struct shares *const s = ctx;

	spread(s, s->cells, st, from, to);
}

static void shares_off(void *ctx, const struct stream *st, ticks from,
		       ticks to, bool ready)
{
	const struct shares *const s = ctx;

	(void)ready;

	spread(s, s->off, st, from, to);
}

const struct replay_sink shares_sink = {
	.pass = shares_pass, .off = shares_off };
