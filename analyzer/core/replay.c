/* replay.c - chunks in, in the order of their streams: who waits for whom, what
 * continues what, and whose time it was. The rules of records are elsewhere.
 * SPDX-License-Identifier: MIT */
#include "analyzer/core/replay.h"
#include "analyzer/core/replay_state.h"
#include "analyzer/base/mem.h"

#include <string.h>

/* A chunk of level 0 waits until the next one of its stream is there, so that
 * chunks of handlers that interrupted it can come first; longer where there
 * are handlers. HELD_MAX bounds the words that wait in all. */
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
	return r;
}

static void free_stream(struct stream *st)
{
	while (st->first) {
		struct waiting *const w = st->first;

		st->first = w->next;
		mem_free(w);
	}
	if (st->window) {
		cct_free(st->window->tree);
		mem_free(st->window->old);
		mem_free(st->window);
	}
	mem_free(st->frame);
	mem_free(st->segment);
	mem_free(st);
}

void replay_be_eager(struct replay *r)
{
	r->is_eager = 1;
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
	mem_free(r->streams);
	mem_free(r->co_kept);
	mem_free(r->kept);
	mem_free(r->kept_frames);
	mem_free(r->parked);
	mem_free(r);
}

static struct stream *find_stream(struct replay *r, uint32_t thread,
				  uint32_t level)
{
	const uint32_t id = map_find(r->stream_of, thread, level);

	return id ? r->streams[id - 1] : NULL;
}

static struct stream *get_stream(struct replay *r, uint32_t thread,
				 uint32_t level)
{
	struct stream *st = find_stream(r, thread, level);

	if (st)
		return st;
	st = mem_alloc(sizeof(*st));
	st->thread = thread;
	st->level = level;
	st->tree = r->session->cct;
	replay_stack_init(st, cct_root(st->tree, thread));
	mem_need((void **)&r->streams, &r->stream_room, r->stream_count + 1,
		 sizeof(*r->streams));
	r->streams[r->stream_count++] = st;
	*map_put(r->stream_of, thread, level) = (uint32_t)r->stream_count;
	return st;
}

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
			 const struct chunk_view *v)
{
	const struct chunk_header *const h = &v->head;
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
			const struct chunk_view *v)
{
	const struct chunk_header *const h = &v->head;
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
	count_lost(t, st, h);
}

static void set_clock(struct session *s, const struct chunk_header *h)
{
	if (!s->base_mono && h->pair_mono) {
		s->base_tick = h->pair_tick;
		s->base_mono = h->pair_mono;
		s->base_real = h->pair_real;
	}
	if (h->tick_hz && h->tick_hz_error <= s->hz_error) {
		s->tick_hz = h->tick_hz;
		s->hz_error = h->tick_hz_error;
	}
}

/* The node open where a handler's chunk begins. If the call that was open then
 * has become a LEAF since, the time tells. */
static node_id interrupted_node(const struct replay *r,
				const struct stream *st,
				const struct chunk_view *v, size_t i,
				ticks begin)
{
	const node_id here = st->frame[st->depth - 1].node;
	const uint64_t word = i > 0 ? v->records[i - 1] : 0;
	const uint32_t body = st->segments > 1 &&
		st->depth == replay_top(st)->base ? CCT_BODY : 0;
	node_id leaf;

	if (rec_kind(word) != REC_LEAF || begin >= st->now)
		return here;
	leaf = cct_hot_find(st->tree, here, r->func[rec_func(word)], body);
	return leaf ? leaf : here;
}

/* Run the records, stopping where handlers' chunks interrupted this one. */
static void run_records(struct replay *r, struct stream *st,
			const struct chunk_view *v, struct stream *upper)
{
	size_t i = 0;

	for (struct waiting *w = upper ? upper->first : NULL; w; w = w->next) {
		const struct chunk_header *const h = &w->view.head;
		size_t to = h->interrupted_record;

		if (h->interrupted_chunk != v->head.number)
			continue;
		to = to < v->head.records ? to : v->head.records;
		if (to > i)
			i = replay_run(r, st, v, i, to);
		w->tree = st->tree;
		w->under = interrupted_node(r, st, v, i, h->tick_begin);
	}
	replay_run(r, st, v, i, v->head.records);
}

/* A handler's frames took the time from the call they interrupted. */
static void take_off(struct replay *r, struct stream *st, ticks span)
{
	struct cct *const t = st->tree;

	for (node_id n = st->frame[0].node; n && span; n = t->nodes[n].parent) {
		const ticks have = t->nodes[n].self;
		const ticks some = span < have ? span : have;

		t->nodes[n].self -= some;
		span -= some;
	}
	/* More than there was: its chunk is lost, and so is its time. */
	r->session->threads[st->thread].traced += span;
}

static void replay_one(struct replay *, struct stream *,
		       const struct chunk_view *, const struct waiting *);

static struct waiting *take_first(struct replay *r, struct stream *st)
{
	struct waiting *const w = st->first;

	st->first = w->next;
	if (!st->first)
		st->last = NULL;
	st->waiting--;
	r->held_words -= w->view.n;
	return w;
}

/* Replay the handlers' chunks that interrupted chunks up to this number. */
static void run_handlers(struct replay *r, struct stream *upper,
			 uint64_t number)
{
	while (upper && upper->first &&
	       upper->first->view.head.interrupted_chunk <= number) {
		struct waiting *const w = take_first(r, upper);

		replay_one(r, upper, &w->view, w);
		mem_free(w);
	}
}

static void end_chunk(struct replay *r, struct stream *st,
		      const struct chunk_view *v)
{
	struct thread *const t = &r->session->threads[st->thread];
	const ticks rest = v->head.tick_end - st->now;

	replay_here(st)->self += rest;
	st->now = v->head.tick_end;
	t->calls += r->calls;
	r->session->calls += r->calls;
	if (st->level > 0)
		take_off(r, st, v->head.tick_end - v->head.tick_begin);
	if (r->sink)
		replay_emit_chunk_end(r, st);
	st->next = v->head.number + 1;
	st->seen = 1;
}

/* No chunk follows for now. Threads may be many: none keeps an empty stack. */
static void close_stream(struct replay *r, struct stream *st,
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

/* A handler's stream hangs where its chunk says, unless it goes on. */
static void hang(struct replay *r, struct stream *st,
		 const struct waiting *w)
{
	const uint32_t thread = st->thread;

	if (st->level == 0 || st->depth > 1 || st->segments > 1)
		return;
	st->tree = w && w->under ? w->tree : r->session->cct;
	replay_stack_init(st, w && w->under ? w->under :
			  cct_root(st->tree, thread));
}

static void replay_one(struct replay *r, struct stream *st,
		       const struct chunk_view *v, const struct waiting *w)
{
	struct stream *const upper = st->level + 1 < LEVELS ?
		find_stream(r, st->thread, st->level + 1) : NULL;
	int contiguous;

	if (st->room == 0)
		replay_stack_init(st, cct_root(st->tree, st->thread));
	if (v->head.number > 0)
		run_handlers(r, upper, v->head.number - 1);
	r->chunk++;
	r->calls = 0;
	r->kept_count = r->kept_used = 0;
	replay_who_items(r, v, st->thread);
	contiguous = is_contiguous(r, st, v);
	if (!contiguous)
		begin_anew(r, st, &v->head);
	hang(r, st, w);
	count_chunk(r, st, v);
	if (r->sink)
		replay_emit_chunk(r, st, v);
	replay_stack_begin(r, st, v, contiguous);
	run_records(r, st, v, upper);
	end_chunk(r, st, v);
	run_handlers(r, upper, v->head.number);
	if (v->head.flags & CHUNK_LAST)
		close_stream(r, st, REPLAY_CUT);
	else
		st->closed = 0;
}

static void add_waiting(struct replay *r, struct stream *st,
			const struct chunk_view *v)
{
	struct waiting *const w = mem_grow(NULL, 1, sizeof(*w) + v->n * 8);

	memcpy(w->words, v->words, v->n * 8);
	w->next = NULL;
	w->under = 0;
	w->tree = NULL;
	w->view = *v;
	w->view.words = w->words;
	w->view.records = w->words + (v->records - v->words);
	w->view.items = w->words + (v->items - v->words);
	w->view.dict = w->words + (v->dict - v->words);
	if (v->stack)
		w->view.stack = w->words + (v->stack - v->words);
	if (st->last)
		st->last->next = w;
	else
		st->first = w;
	st->last = w;
	st->waiting++;
	r->held_words += v->n;
}

static void run_held(struct replay *r, struct stream *st, size_t keep)
{
	while (st->waiting > keep) {
		struct waiting *const w = take_first(r, st);

		replay_one(r, st, &w->view, w);
		mem_free(w);
	}
}

static void take_plain(struct replay *r, struct stream *st,
		       const struct chunk_view *v)
{
	if (r->held_words + v->n > HELD_MAX) {
		run_held(r, st, 0);
		replay_one(r, st, v, NULL);
		return;
	}
	add_waiting(r, st, v);
	run_held(r, st, r->is_eager ? 0 :
		 st->interrupted ? HOLD_INTERRUPTED : HOLD);
}

static void take_handler(struct replay *r, struct stream *st,
			 const struct chunk_view *v)
{
	struct stream *const lower = get_stream(r, st->thread, st->level - 1);

	lower->interrupted = 1;
	if (v->head.interrupted_chunk < lower->next ||
	    r->held_words + v->n > HELD_MAX) {
		run_held(r, st, 0);
		replay_one(r, st, v, NULL);
		return;
	}
	add_waiting(r, st, v);
}

int replay_chunk(struct replay *r, const struct chunk_view *v)
{
	struct stream *st;

	set_clock(r->session, &v->head);
	if (v->head.flags & CHUNK_META) {
		replay_who_notes(r, v);
		return 0;
	}
	st = get_stream(r, replay_who_thread(r, &v->head), v->head.level);
	if (v->head.number < st->arrived) {
		r->session->duplicate_chunks++;
		return 0;
	}
	st->arrived = v->head.number + 1;
	if (v->head.level > 0)
		take_handler(r, st, v);
	else
		take_plain(r, st, v);
	return 0;
}

int replay_chunk_fn(void *replay, const struct chunk_view *v)
{
	return replay_chunk(replay, v);
}

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
}
