/* replay.c - chunks in, in the order of their streams, and who waits for whom.
 * What a chunk does is in replay_chunk.c.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay.h"
#include "analyzer/replay/replay_state.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

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
		mem_free(w->place);
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

void replay_want(struct replay *r, const struct replay_collect *want)
{
	r->want = *want;
	if (want->hist)
		cct_collect_hist(r->session->cct);
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
	mem_free(r->edge);
	mem_free(r);
}

struct stream *replay_find_stream(const struct replay *r, uint32_t thread,
				  uint32_t level)
{
	const uint32_t id = map_find(r->stream_of, thread, level);

	return id ? r->streams[id - 1] : NULL;
}

static struct stream *get_stream(struct replay *r, uint32_t thread,
				 uint32_t level)
{
	struct stream *st = replay_find_stream(r, thread, level);

	if (st)
		return st;
	st = mem_alloc(sizeof(*st));
	st->thread = thread;
	st->level = level;
	st->tree = r->session->cct;
	st->until = st->edge = UINT64_MAX;
	replay_stack_init(st, cct_root(st->tree, thread));
	*vec_add(&r->streams, &r->stream_room, &r->stream_count) = st;
	*map_put(r->stream_of, thread, level) = (uint32_t)r->stream_count;
	return st;
}

/* The first of a stream's waiting chunks, the caller's to free. */
struct waiting *replay_take_waiting(struct replay *r, struct stream *st)
{
	struct waiting *const w = st->first;

	st->first = w->next;
	if (!st->first)
		st->last = NULL;
	st->waiting--;
	r->held_words -= w->view.n;
	return w;
}

static void add_waiting(struct replay *r, struct stream *st,
			const struct chunk *v)
{
	struct waiting *const w = mem_grow(NULL, 1, sizeof(*w) + v->n * 8);

	memcpy(w->words, v->words, v->n * 8);
	w->next = NULL;
	w->place = NULL;
	w->places = 0;
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
		struct waiting *const w = replay_take_waiting(r, st);

		replay_chunk_run(r, st, &w->view, w);
		mem_free(w->place);
		mem_free(w);
	}
}

static void take_plain(struct replay *r, struct stream *st,
		       const struct chunk *v)
{
	if (r->held_words + v->n > HELD_MAX) {
		run_held(r, st, 0);
		replay_chunk_run(r, st, v, NULL);
		return;
	}
	add_waiting(r, st, v);
	run_held(r, st, r->is_eager ? 0 :
		 st->interrupted ? HOLD_INTERRUPTED : HOLD);
}

static void take_handler(struct replay *r, struct stream *st,
			 const struct chunk *v)
{
	struct stream *const lower = get_stream(r, st->thread, st->level - 1);

	lower->interrupted = 1;
	if (v->header.interrupted_chunk < lower->next ||
	    r->held_words + v->n > HELD_MAX) {
		run_held(r, st, 0);
		replay_chunk_run(r, st, v, NULL);
		return;
	}
	add_waiting(r, st, v);
}

int replay_chunk(struct replay *r, const struct chunk *v)
{
	struct stream *st;

	session_set_clock(r->session, &v->header);
	if (v->header.flags & CHUNK_META) {
		replay_notes(r, v);
		return 0;
	}
	st = get_stream(r, replay_identities_thread(r, &v->header),
			v->header.level);
	if (v->header.number < st->arrived) {
		r->session->duplicate_chunks++;
		return 0;
	}
	st->arrived = v->header.number + 1;
	if (v->header.level > 0)
		take_handler(r, st, v);
	else
		take_plain(r, st, v);
	return 0;
}

int replay_chunk_fn(void *replay, const struct chunk *v)
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
				replay_chunk_close(r, r->streams[i],
						   REPLAY_OPEN_AT_END);
	for (size_t i = 0; i < r->stream_count; i++)
		r->session->threads[r->streams[i]->thread].open +=
			r->streams[i]->open;
	if (r->sink)
		replay_emit_finish(r);
}
