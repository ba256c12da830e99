/* places.c - gives each sample of a chunk to the call that was innermost at its
 * tick. What lies at the address is not known here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/places.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

/* The chunk whose events are given is borrowed meanwhile. */
struct places_watch {
	struct places_options options;
	struct places found;
	size_t room;
	struct map *of;          /* by module and offset: the last of the
	                          * places there, from 1 on */
	uint32_t *next;          /* by place: another function's there */
	size_t next_room;
	const struct stream *stream;
	struct chunk_samples samples; /* of the chunk, pairs [at, n) to go */
	size_t at;
	elf_id module[DICT_MAX_MODULES];
};

struct places_watch *places_new(const struct places_options *options)
{
	struct places_watch *const w = mem_alloc(sizeof(*w));

	w->options = *options;
	w->of = map_new();
	return w;
}

void places_free(struct places_watch *w)
{
	if (!w)
		return;
	map_free(w->of);
	mem_free(w->found.places);
	mem_free(w->next);
	mem_free(w);
}

/* ---- one sample ---- */

/* Places that differ in the function alone are in a list. */
static void count(struct places_watch *w, func_id func, elf_id module,
		  uint64_t offset)
{
	uint32_t *const first = map_put(w->of, module, offset);
	uint32_t at = *first;

	while (at != 0 && w->found.places[at - 1].func != func)
		at = w->next[at - 1];
	if (at == 0) {
		vec_need(&w->next, &w->next_room, w->found.count + 1);
		w->next[w->found.count] = *first;
		*vec_add(&w->found.places, &w->room, &w->found.count) =
			(struct place){ func, module, offset, 0 };
		*first = at = (uint32_t)w->found.count;
	}
	w->found.places[at - 1].samples++;
}

static void take(struct places_watch *w, const struct stream *st, ticks tick,
		 uint64_t word)
{
	const struct places_options *const o = &w->options;
	const uint32_t thread = stream_thread(st);
	const size_t depth = stream_depth(st);
	func_id func;

	if (thread >= o->thread_count || !o->threads[thread] ||
	    tick < o->from || (o->to != 0 && tick >= o->to))
		return;
	w->found.samples++;
	func = depth == 0 ? 0 : stream_frame(st, depth - 1).func;
	if (func >= o->wanted_count || !o->wanted[func])
		return;
	if (dict_kind(word) == DICT_NATIVE)
		count(w, func, w->module[dict_module(word)],
		      dict_offset(word));
	else
		count(w, func, 0, dict_offset(word));
}

/* The samples before a tick, at the stack as it stands. */
static void take_until(struct places_watch *w, const struct stream *st,
		       ticks to)
{
	if (st != w->stream)
		return;
	for (; w->at < w->samples.n && w->samples.pair[2 * w->at] < to; w->at++)
		take(w, st, w->samples.pair[2 * w->at],
		     w->samples.pair[2 * w->at + 1]);
}

/* ---- events ---- */

/* Numbers of modules hold in one chunk only. */
static void add_module(struct places_watch *w, const struct chunk_item *item)
{
	struct chunk_module m;
	char path[CHUNK_STRING_MAX + 1];

	decode_module(item, &m);
	w->module[m.number] = func_module(w->options.funcs,
		decode_text(&m.path, path), m.build_id, m.build_id_size,
		m.size);
}

static void chunk_begin(void *ctx, const struct replay_event *e,
			const struct chunk *chunk)
{
	struct places_watch *const w = ctx;
	struct chunk_item item = { 0 };

	w->stream = NULL;
	if (!decode_samples(chunk, &w->samples))
		return;
	w->stream = e->stream;
	w->at = 0;
	w->found.period = w->samples.period;
	while (decode_next_item(chunk, &item))
		if (item.type == ITEM_MODULE)
			add_module(w, &item);
}

static void pass(void *ctx, const struct stream *st, ticks from, ticks to)
{
	(void)from;
	take_until(ctx, st, to);
}

/* A sample may lie on the last tick, after which no time passes. */
static void chunk_end(void *ctx, const struct replay_event *e)
{
	struct places_watch *const w = ctx;

	take_until(w, e->stream, UINT64_MAX);
	w->stream = NULL;
}

const struct replay_sink places_sink = {
	.chunk_begin = chunk_begin, .chunk_end = chunk_end, .pass = pass,
};

/* ---- the result ---- */

static int by_function(const void *a, const void *b)
{
	const struct place *const x = a, *const y = b;

	return x->func < y->func ? -1 : x->func > y->func;
}

const struct places *places_finish(struct places_watch *w)
{
	if (w->found.count > 0)
		qsort(w->found.places, w->found.count,
		      sizeof(*w->found.places), by_function);
	return &w->found;
}
