/* replay_chunk.c - one chunk of a stream: whether it goes on where the last one
 * ended, its records, its handlers, and whose time it was.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"

/* Is nothing missing between the chunk and its stream's last one? */
static int is_joined(const struct stream *st, const struct chunk_header *h)
{
	return st->seen && !st->closed && h->number == st->next &&
	       h->lost[LOST_FULL] == st->lost[LOST_FULL];
}

static int is_unknown(const struct stream *st, const struct chunk_header *h)
{
	return st->level == 0 && (h->flags & CHUNK_BASE_UNKNOWN);
}

/* Does the chunk go on where its stream's last one ended? In a window whose
 * base is unknown, another stack than ours tells that the tracer lost sight of
 * it and began anew; elsewhere it is a contradiction. */
static int is_contiguous(const struct replay *r, const struct stream *st,
			 const struct chunk *v)
{
	const struct chunk_header *const h = &v->header;
	const int unknown = is_unknown(st, h);

	return is_joined(st, h) && !(h->flags & CHUNK_GAP) &&
	       unknown == (st->window != NULL) &&
	       (!unknown || replay_stack_same(r, st, v));
}

/* Something is missing, or recording began anew: what was open has ended. The
 * tracer also begins a chunk with CHUNK_GAP when it has learned of more open
 * calls; then nothing is missing, and the window goes on. */
static void begin_anew(struct replay *r, struct stream *st,
		       const struct chunk_header *h)
{
	const int unknown = is_unknown(st, h);
	const int goes_on = is_joined(st, h) && (h->flags & CHUNK_GAP);

	if (st->seen && !st->closed) {
		replay_stack_close(r, st, REPLAY_CUT);
		if (!is_joined(st, h))
			r->session->threads[st->thread].gaps++;
	}
	if (unknown && st->window && goes_on)
		return;
	replay_window_end(r, st);
	if (unknown)
		replay_window_begin(r, st);
}

/* Which time is missing before this chunk? Handlers' streams have none of
 * their own. */
static void count_gap(struct session *s, const struct stream *st,
		      const struct chunk_header *h)
{
	struct gap g = { .thread = st->thread, .to = h->tick_begin,
			 .chunks = h->number - st->next };

	if (h->lost[LOST_FULL] > st->lost[LOST_FULL])
		g.records = h->lost[LOST_FULL] - st->lost[LOST_FULL];
	if (g.chunks > 0 && h->written > st->written) {
		g.records += h->written - st->written;
		s->threads[st->thread].missing_records += h->written -
							  st->written;
	}
	if (st->level > 0 || (g.chunks == 0 && g.records == 0))
		return;
	if (st->seen)
		g.from = st->now < g.to ? st->now : g.to;
	session_add_gap(s, &g);
}

static void count_lost(struct thread *t, struct stream *st,
		       const struct chunk_header *h)
{
	for (int i = 0; i < LOST_REASONS; i++)
		if (h->lost[i] > st->lost[i]) {
			t->lost[i] += h->lost[i] - st->lost[i];
			st->lost[i] = h->lost[i];
		}
	t->missing_chunks += h->number - st->next;
}

static void count_chunk(struct replay *r, struct stream *st,
			const struct chunk *v)
{
	const struct chunk_header *const h = &v->header;
	struct session *const s = r->session;
	struct thread *const t = &s->threads[st->thread];

	s->chunks++;
	s->words += v->n;
	s->records += h->records;
	t->chunks++;
	t->records += h->records;
	if (h->tick_begin < t->first)
		t->first = h->tick_begin;
	if (h->tick_end > t->last)
		t->last = h->tick_end;
	if (st->level == 0) {
		t->traced += h->tick_end - h->tick_begin;
		if (h->cpu_begin && h->cpu_end > h->cpu_begin)
			t->cpu_ns += h->cpu_end - h->cpu_begin;
	}
	count_gap(s, st, h);
	count_lost(t, st, h);
}

static void end_chunk(struct replay *r, struct stream *st,
		      const struct chunk *v)
{
	struct thread *const t = &r->session->threads[st->thread];
	const ticks rest = v->header.tick_end - st->now;

	if (r->sink)
		replay_emit_pass(r, st, st->now, v->header.tick_end);
	replay_clock_pass(r, st, rest);
	t->calls += r->calls;
	r->session->calls += r->calls;
	if (st->level > 0)
		replay_handler_settle(r, st);
	if (r->sink)
		replay_emit_chunk_end(r, st);
	st->next = v->header.number + 1;
	st->written = v->header.written + v->header.records;
	st->seen = 1;
}

/* No chunk follows for now. Threads may be many: none keeps an empty stack. */
void replay_chunk_close(struct replay *r, struct stream *st,
			enum replay_why why)
{
	st->open = st->depth - 1;
	replay_stack_close(r, st, why);
	replay_window_end(r, st);
	mem_free(st->frame);
	mem_free(st->segment);
	st->frame = NULL;
	st->segment = NULL;
	st->room = st->segment_room = 0;
	st->closed = 1;
}

/* w: how it waited, where it did; tells where a handler's chunk hangs. */
void replay_chunk_run(struct replay *r, struct stream *st,
		      const struct chunk *v, const struct waiting *w)
{
	struct stream *const upper = st->level + 1 < LEVELS ?
		replay_find_stream(r, st->thread, st->level + 1) : NULL;
	int contiguous;

	if (st->room == 0) {
		replay_stack_init(st, cct_root(st->tree, st->thread));
		st->outside = 0;
	}
	if (v->header.number > 0)
		replay_handler_run(r, upper, v->header.number - 1);
	r->chunk++;
	r->calls = 0;
	r->kept_count = r->kept_used = 0;
	replay_identities_items(r, v, st->thread);
	contiguous = is_contiguous(r, st, v);
	if (!contiguous)
		begin_anew(r, st, &v->header);
	if (st->level > 0)
		replay_handler_hang(r, st, v, w);
	count_chunk(r, st, v);
	if (r->sink)
		replay_emit_chunk(r, st, v);
	replay_stack_begin(r, st, v, contiguous);
	replay_clock_begin(r, st);
	replay_run(r, st, v, replay_handler_find(r, st, v, upper),
		   v->header.records);
	end_chunk(r, st, v);
	replay_handler_run(r, upper, v->header.number);
	if (v->header.flags & CHUNK_LAST)
		replay_chunk_close(r, st, REPLAY_CUT);
	else
		st->closed = 0;
}

