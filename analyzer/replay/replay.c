/* replay.c - chunks in the order of their streams: which waits for which,
 * whether a chunk continues the one before, and what is counted of it. What the
 * records in a chunk do is in run.c, switch.c and stack.c.
 *
 * The way of a chunk: replay_chunk finds its stream and lets it wait if
 * handlers may have interrupted it; run_chunk takes its items, decides whether
 * it is contiguous, takes over or compares its stack, and runs its records;
 * end_chunk settles its times.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay.h"
#include "analyzer/base/order.h"
#include "analyzer/chunk/held.h"
#include "analyzer/replay/replay_private.h"

#include <string.h>

/* A chunk of level 0 waits until the next one of its stream has come, so that
 * chunks of handlers which interrupted it can come before; longer where there
 * are handlers. At most HELD_MAX words wait in all. */
enum { HOLD = 1, HOLD_INTERRUPTED = 4, HELD_MAX = 4 << 20 };

struct replay *replay_new(struct session *s, const struct replay_sink *sink,
			  void *ctx)
{
	struct replay *const r = mem_alloc(sizeof(*r));

	r->session = s;
	r->sink = sink;
	r->ctx = ctx;
	r->process_of = map_new();
	r->thread_of = map_new();
	r->co_of = map_new();
	r->vm_of = map_new();
	r->stream_of = map_new();
	r->parked_of = map_new();
	r->place_of = map_new();
	r->line_of = map_new();
	return r;
}

static void free_waiting(struct waiting *w)
{
	held_drop(w->chunk);
	mem_free_all(w->place, w);
}

static void free_stream(struct stream *st)
{
	while (st->first) {
		struct waiting *const w = st->first;

		st->first = w->next;
		free_waiting(w);
	}
	if (st->window) {
		cct_free(st->window->tree);
		mem_free_all(st->window->old, st->window);
	}
	mem_free_all(st->lua, st->frame, st->segment, st->own.edge,
		     st->sampling.pick, st);
}

void replay_want(struct replay *r, const struct replay_collect *want)
{
	r->want = *want;
	if (want->hist)
		cct_collect_hist(r->session->cct);
}

void replay_be_eager(struct replay *r)
{
	r->is_eager = true;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->stream_count; i++)
		free_stream(r->streams[i]);
	for (size_t i = 0; i < r->parked_count; i++)
		mem_free(r->parked[i].func);
	map_free(r->process_of);
	map_free(r->thread_of);
	map_free(r->co_of);
	map_free(r->vm_of);
	map_free(r->stream_of);
	map_free(r->parked_of);
	map_free(r->place_of);
	map_free(r->line_of);
	mem_free_all(r->streams, r->co_kept, r->kept, r->kept_frames, r->parked,
		     r);
}

/* The stream of a thread's level; added when its first chunk comes. */
static struct stream *get_stream(struct replay *r, uint32_t thread,
				 uint32_t level)
{
	struct stream *st = replay_stream(r, thread, level);
	const struct switches *const of_thread = st || level == 0 ? NULL :
		get_stream(r, thread, 0)->switches;

	if (st)
		return st;
	st = mem_alloc(sizeof(*st));
	st->number = (uint32_t)r->stream_count;
	st->thread = thread;
	st->level = level;
	st->tree = r->session->cct;
	st->until = st->edge = UINT64_MAX;
	st->switches = level == 0 ? &st->own : of_thread;
	replay_stack_init(st, cct_root(st->tree, thread));
	*vec_add(&r->streams, &r->stream_room, &r->stream_count) = st;
	*map_put(r->stream_of, thread, level) = (uint32_t)r->stream_count;
	return st;
}

/* ---- one chunk ---- */

/* Is nothing missing between the chunk and its stream's last one? */
static bool is_joined(const struct stream *st, const struct chunk_header *h)
{
	return st->seen && !st->closed && h->number == st->next &&
	       h->lost[LOST_FULL] == st->lost[LOST_FULL];
}

/* Does the chunk belong to a window whose base is not known? */
static bool is_base_unknown(const struct stream *st,
			    const struct chunk_header *h)
{
	return st->level == 0 && (h->flags & CHUNK_BASE_UNKNOWN);
}

/* Does the chunk continue its stream's last one? In a window whose base is
 * unknown, another stack than ours means that the tracer lost sight of it and
 * began anew; elsewhere that is a contradiction. */
static bool is_contiguous(const struct replay *r, const struct stream *st,
			  const struct chunk *chunk)
{
	const struct chunk_header *const h = &chunk->header;
	const bool unknown = is_base_unknown(st, h);

	return is_joined(st, h) && !(h->flags & CHUNK_GAP) &&
	       unknown == !!st->window &&
	       (!unknown || replay_stack_same(r, st, chunk));
}

/* Records are missing, or recording began anew: what was open has ended. A
 * chunk with CHUNK_GAP may also mean that the tracer has learned of more open
 * calls; then nothing is missing, and the window goes on. */
static void begin_anew(struct replay *r, struct stream *st,
		       const struct chunk_header *h)
{
	const bool unknown = is_base_unknown(st, h);
	const bool goes_on = is_joined(st, h) && (h->flags & CHUNK_GAP);

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

/* The time that is missing before this chunk. Handlers' streams have none of
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
		g.from = MIN(st->now, g.to);
	session_add_gap(s, &g);
}

/* Headers count what was lost since the stream began. The thread's sum is over
 * its levels, so only what is new is added. */
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

/* A flight recorder kept the newest chunks alone: what came before was
 * recorded, and is not lost. */
static void begin_late(struct stream *st, const struct chunk_header *h)
{
	if (st->seen || !(h->flags & CHUNK_FLIGHT))
		return;
	st->next = h->number;
	st->written = h->written;
	memcpy(st->lost, h->lost, sizeof(st->lost));
}

/* Add the CPU time of a chunk of level 0. If nobody closed it, the thread's
 * switches tell what the CPU clock does not. */
static void count_cpu(struct thread *t, const struct stream *st,
		      const struct chunk_header *h)
{
	const ticks span = h->tick_end - h->tick_begin;
	struct cct_cpu cpu;

	if (h->cpu_end != 0) {
		if (h->cpu_begin && h->cpu_end > h->cpu_begin)
			t->cpu_ns += h->cpu_end - h->cpu_begin;
		return;
	}
	cpu = replay_time_cpu(&st->own, h->tick_begin, h->tick_end);
	t->cpu_ns += replay_ns(h, span - cpu.off - cpu.unknown);
	t->cpu_unknown += cpu.unknown;
}

/* Add the chunk's size, times and losses to the session. */
static void count_chunk(struct replay *r, struct stream *st,
			const struct chunk *chunk)
{
	const struct chunk_header *const h = &chunk->header;
	struct session *const s = r->session;
	struct thread *const t = &s->threads[st->thread];

	s->chunks++;
	s->words += chunk->n;
	s->records += h->records;
	t->chunks++;
	t->records += h->records;
	t->first = MIN(h->tick_begin, t->first);
	t->last = MAX(h->tick_end, t->last);
	if (st->level == 0) {
		t->traced += h->tick_end - h->tick_begin;
		count_cpu(t, st, h);
	}
	begin_late(st, h);
	count_gap(s, st, h);
	count_lost(t, st, h);
}

/* Let the rest of the chunk's time pass, and note where its stream has
 * arrived. */
static void end_chunk(struct replay *r, struct stream *st,
		      const struct chunk *chunk)
{
	struct thread *const t = &r->session->threads[st->thread];
	const ticks rest = chunk->header.tick_end - st->now;

	if (r->sink)
		replay_emit_pass(r, st, st->now, chunk->header.tick_end);
	replay_time_pass(r, st, rest);
	replay_samples_end(st);
	if (chunk->nodes > 0)
		replay_counted(r, st, chunk);
	t->calls += r->calls;
	r->session->calls += r->calls;
	if (st->level > 0)
		replay_time_settle(r, st);
	if (r->sink)
		replay_emit_chunk_end(r, st);
	st->next = chunk->header.number + 1;
	st->written = chunk->header.written + chunk->header.records;
	st->seen = true;
}

/* No chunk follows for now. There may be many threads: none keeps an empty
 * stack. */
static void close_stream(struct replay *r, struct stream *st,
			 enum replay_why why)
{
	st->open = st->depth - 1;
	replay_stack_close(r, st, why);
	replay_window_end(r, st);
	mem_free_all(st->frame, st->segment, st->own.edge, st->sampling.pick);
	st->own = (struct switches){ 0 };
	st->sampling = (struct sampling){ 0 };
	st->frame = NULL;
	st->segment = NULL;
	st->room = st->segment_room = 0;
	st->closed = true;
}

/* ---- chunks that wait ---- */

/* The first of a stream's waiting chunks; the caller frees it. */
static struct waiting *take_waiting(struct replay *r, struct stream *st)
{
	struct waiting *const w = st->first;

	st->first = w->next;
	if (!st->first)
		st->last = NULL;
	st->waiting--;
	r->held_words -= w->chunk->n;
	return w;
}

/* Put a chunk at the end of its stream's queue. */
static void add_waiting(struct replay *r, struct stream *st,
			const struct chunk *chunk)
{
	struct waiting *const w = mem_alloc(sizeof(*w));

	w->chunk = held_keep(chunk);
	*(st->last ? &st->last->next : &st->first) = w;
	st->last = w;
	st->waiting++;
	r->held_words += w->chunk->n;
}

static void run_chunk(struct replay *, struct stream *, const struct chunk *,
		      const struct waiting *);

/* Replay the handlers' chunks that interrupted chunks up to this number. upper:
 * the level above; NULL: there is none. */
static void run_handlers(struct replay *r, struct stream *upper,
			uint64_t number)
{
	while (upper && upper->first &&
	       upper->first->chunk->header.interrupted_chunk <= number) {
		struct waiting *const w = take_waiting(r, upper);

		run_chunk(r, upper, w->chunk, w);
		free_waiting(w);
	}
}

/* w: how it waited, or NULL; says where a handler's chunk hangs. The order
 * matters: handlers of earlier chunks come before the stack changes, items
 * before anything that needs a function, and handlers of this chunk after its
 * end. */
static void run_chunk(struct replay *r, struct stream *st,
		      const struct chunk *chunk, const struct waiting *w)
{
	struct stream *const upper = st->level + 1 < LEVELS ?
		replay_stream(r, st->thread, st->level + 1) : NULL;
	bool contiguous;

	if (st->room == 0) {
		replay_stack_init(st, cct_root(st->tree, st->thread));
		st->outside = false;
	}
	if (chunk->header.number > 0)
		run_handlers(r, upper, chunk->header.number - 1);
	if (r->sink)
		replay_emit_begin(r, st);
	r->chunk++;
	r->calls = 0;
	r->kept_count = r->kept_used = 0;
	replay_identities_items(r, st->thread, chunk);
	replay_identities_switches(r, st, chunk);
	replay_samples_begin(r, st, chunk);
	contiguous = is_contiguous(r, st, chunk);
	if (!contiguous)
		begin_anew(r, st, &chunk->header);
	if (st->level > 0)
		replay_stack_hang(r, st, chunk, w);
	count_chunk(r, st, chunk);
	if (r->sink)
		replay_emit_chunk_begin(r, st, chunk);
	replay_stack_begin(r, st, chunk, contiguous);
	replay_time_begin(r, st);
	replay_run(r, st, chunk, replay_handler_find(r, st, chunk, upper),
		   chunk->header.records);
	end_chunk(r, st, chunk);
	run_handlers(r, upper, chunk->header.number);
	if (chunk->header.flags & CHUNK_LAST)
		close_stream(r, st, REPLAY_CUT);
	else
		st->closed = false;
}

/* ---- invariants ---- */

/* Do the invariants hold that stand at struct stream? */
static bool stack_valid(const struct replay *r, const struct stream *st)
{
	if (st->room == 0)
		return st->closed && st->segment_room == 0;
	if (st->depth < 1 || st->depth > st->room || st->segments < 1 ||
	    st->segments > st->segment_room || st->segment[0].base != 1 ||
	    st->segment[0].serial != 0)
		return false;
	for (size_t i = 1; i < st->segments; i++)
		if (segment_first(&st->segment[i]) < st->segment[i - 1].base ||
		    st->segment[i].base > st->depth || !st->segment[i].co)
			return false;
	for (size_t i = 1; i < st->depth && !r->want.only_events; i++)
		if (cct_get(st->tree, st->frame[i].node)->func == 0)
			return false;
	return true;
}

bool replay_valid(const struct replay *r)
{
	size_t words = 0;

	for (size_t i = 0; i < r->stream_count; i++) {
		const struct stream *const st = r->streams[i];

		if (st->number != i || st->level >= LEVELS ||
		    st->thread >= r->session->thread_count ||
		    st->next > st->arrived || !stack_valid(r, st) ||
		    (st->window && !cct_valid(st->window->tree)))
			return false;
		for (const struct waiting *w = st->first; w; w = w->next)
			words += w->chunk->n;
	}
	return words == r->held_words;
}

/* Are both the replay and what it filled as they should be? Checked builds ask
 * after each chunk. */
static void check(const struct replay *r)
{
#ifdef WEFT_CHECKED
	assert(replay_valid(r) && session_valid(r->session));
#else
	(void)r;
#endif
}

/* ---- chunks come in ---- */

/* Replay a stream's waiting chunks, but for the last few. */
static void run_held(struct replay *r, struct stream *st, size_t keep)
{
	while (st->waiting > keep) {
		struct waiting *const w = take_waiting(r, st);

		run_chunk(r, st, w->chunk, w);
		free_waiting(w);
	}
}

/* Replay a chunk for which there is no room to wait, or no use. */
static void run_now(struct replay *r, struct stream *st,
		    const struct chunk *chunk)
{
	run_held(r, st, 0);
	run_chunk(r, st, chunk, NULL);
}

/* A chunk of level 0 waits, unless too much waits already. */
static void take_plain(struct replay *r, struct stream *st,
		       const struct chunk *chunk)
{
	if (r->held_words + chunk->n > HELD_MAX) {
		run_now(r, st, chunk);
		return;
	}
	add_waiting(r, st, chunk);
	run_held(r, st, r->is_eager ? 0 :
		 st->interrupted ? HOLD_INTERRUPTED : HOLD);
}

/* A handler's chunk waits for the one it interrupted, unless that is over. What
 * comes too late, or does not fit, is replayed without a place. */
static void take_handler(struct replay *r, struct stream *st,
			 const struct chunk *chunk)
{
	struct stream *const lower = get_stream(r, st->thread, st->level - 1);

	lower->interrupted = true;
	if (chunk->header.interrupted_chunk < lower->next ||
	    r->held_words + chunk->n > HELD_MAX)
		run_now(r, st, chunk);
	else
		add_waiting(r, st, chunk);
}

/* The recorder's own chunks belong to no stream. A number below that of a chunk
 * that has come is a duplicate, even if the first one still waits. */
int replay_chunk(struct replay *r, const struct chunk *chunk)
{
	const struct chunk_header *const h = &chunk->header;
	struct stream *st;

	session_set_clock(r->session, h);
	if (h->flags & CHUNK_META) {
		replay_identities_notes(r, chunk);
		return 0;
	}
	st = get_stream(r, replay_identities_thread(r, h), h->level);
	if (h->number < st->arrived) {
		r->session->duplicate_chunks++;
		return 0;
	}
	st->arrived = h->number + 1;
	if (h->level > 0)
		take_handler(r, st, chunk);
	else
		take_plain(r, st, chunk);
	check(r);
	return 0;
}

/* Waiting chunks are replayed from level 0 up, as they would have been with
 * later chunks. */
void replay_finish(struct replay *r)
{
	for (uint32_t level = 0; level < LEVELS; level++)
		for (size_t i = 0; i < r->stream_count; i++)
			if (r->streams[i]->level == level)
				run_held(r, r->streams[i], 0);
	/* Handlers first: their streams may hang in a window's tree. */
	for (uint32_t level = LEVELS; level-- > 0; )
		for (size_t i = 0; i < r->stream_count; i++)
			if (r->streams[i]->level == level &&
			    !r->streams[i]->closed)
				close_stream(r, r->streams[i],
					     REPLAY_OPEN_AT_END);
	for (size_t i = 0; i < r->stream_count; i++)
		r->session->threads[r->streams[i]->thread].open +=
			r->streams[i]->open;
	if (r->sink)
		replay_emit_finish(r);
	check(r);
}
