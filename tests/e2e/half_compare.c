/* half_compare.c - "half_compare TRACE HALVES": replays a trace whole, then so
 * many random halves of its chunks, and compares, chunk by chunk, the stitched
 * stack of every call's begin and end. Built by tests/e2e/half.sh.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/in/in.h"
#include "analyzer/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct copy {
	uint64_t *words;
	size_t n;
	int has_omitted;          /* frames left out: not comparable */
};

struct seen { uint64_t events, hash; };

static struct copy *copies;
static size_t count, room;
static struct func_table *funcs;
static struct replay *replay;
static struct map *index_of;      /* identity -> index + 1 */
static struct seen *now;          /* of each chunk, of the replay under way */
static size_t current;
static unsigned long compared, omitted, events, bad;

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t identity(const struct chunk_header *h)
{
	return mix(mix(mix(mix(h->recording, h->process), h->thread),
		       h->level), h->number);
}

/* Are frames left out, in the stack or in a coroutine's? */
static int has_omitted(const struct chunk *v)
{
	struct chunk_segment s = { 0 };

	while (decode_next_segment(v, &s))
		for (size_t i = 0; i < s.frames; i++)
			if (rec_func(s.frame[i]) == REC_FUNC_OMITTED)
				return 1;
	return 0;
}

static int keep(void *ctx, const struct chunk *v)
{
	(void)ctx;
	vec_need(&copies, &room, count + 1);
	copies[count] = (struct copy){ mem_alloc(v->n * 8), v->n,
				       has_omitted(v) };
	memcpy(copies[count].words, v->words, v->n * 8);
	count++;
	*map_put(index_of, identity(&v->header), 0) = (uint32_t)count;
	return 0;
}

static void on_chunk(void *ctx, const struct replay_event *e,
		     const struct chunk *v)
{
	(void)ctx;
	(void)e;
	current = map_find(index_of, identity(&v->header), 0) - 1;
}

/* The frames below the call are the stream's, whole, at every event. */
static void take(const struct replay_event *e, uint64_t what)
{
	const struct stream *const st = e->stream;
	uint64_t h = mix(what, e->func);

	/* A chunk that was full left frames out, and this one names them. */
	copies[current].has_omitted |= e->deferred == REPLAY_DEFERRED_OMITTED;
	if (e->why != REPLAY_SEEN)
		return;
	for (uint32_t i = 0; i < e->depth; i++) {
		const struct stream_frame f = stream_frame(st, i);

		copies[current].has_omitted |= f.omitted > 0;
		h = mix(h, f.func);
	}
	for (size_t i = 0; i < stream_segments(st); i++) {
		const struct stream_segment segment = stream_segment(st, i);

		h = mix(mix(h, segment.serial), segment.base);
	}
	now[current].events++;
	now[current].hash = mix(mix(now[current].hash, h), e->tick);
}

static void on_enter(void *ctx, const struct replay_event *e)
{
	(void)ctx;
	take(e, 1);
}

static void on_leave(void *ctx, const struct replay_event *e)
{
	(void)ctx;
	take(e, 2);
}

static const struct replay_sink sink = {
	.enter = on_enter, .leave = on_leave, .chunk_begin = on_chunk };

/* Replay those chunks that are chosen (NULL: all). */
static struct seen *run(const char *chosen)
{
	struct session *const s = session_new(0);
	struct chunk v;

	func_table_free(s->funcs);
	s->funcs = funcs;
	cct_set_deeper(s->cct, func_special(funcs, "(deeper)"));
	replay = replay_new(s, &sink, NULL);
	now = calloc(count, sizeof(*now));
	for (size_t i = 0; i < count; i++)
		if ((!chosen || chosen[i]) &&
		    decode_chunk(&v, copies[i].words, copies[i].n) == 0)
			replay_chunk(replay, &v);
	replay_finish(replay);
	replay_free(replay);
	if (chosen && s->unnested > 0) {
		printf("%llu records contradict the stack\n",
		       (unsigned long long)s->unnested);
		bad++;
	}
	s->funcs = NULL;
	session_free(s);
	return now;
}

/* One chunk of the half, as its replay saw it and as the whole one's did. */
static void compare(int half, const struct copy *c, const struct seen *some,
		    const struct seen *whole)
{
	omitted += (unsigned)c->has_omitted;
	if (c->has_omitted)
		return;
	compared++;
	events += some->events;
	if (some->events == whole->events && some->hash == whole->hash)
		return;
	if (bad++ < 5)
		printf("half %d, chunk %zu of thread %u, level %u: %llu "
		       "events, whole %llu\n", half, (size_t)c->words[8],
		       (unsigned)(c->words[6] >> 32), (unsigned)c->words[9],
		       (unsigned long long)some->events,
		       (unsigned long long)whole->events);
}

int main(int argc, char **argv)
{
	const int halves = argc > 2 ? atoi(argv[2]) : 1;
	struct in_summary summary;
	struct seen *whole;
	char *chosen;

	index_of = map_new();
	funcs = func_table_new();
	if (argc < 2 || in_read(argv[1], keep, NULL, &summary) != 0) {
		err_print(stderr, "half_compare");
		return 1;
	}
	whole = run(NULL);
	chosen = malloc(count);
	for (int half = 0; half < halves; half++) {
		struct seen *some;

		srand48(half + 1);
		for (size_t i = 0; i < count; i++)
			chosen[i] = drand48() < 0.5;
		some = run(chosen);
		for (size_t i = 0; i < count; i++)
			if (chosen[i])
				compare(half, &copies[i], &some[i], &whole[i]);
		free(some);
	}
	printf("%lu of %lu chunks differ, %lu events compared, %lu chunks with "
	       "frames left out not compared\n", bad, compared, events,
	       omitted);
	return bad > 0 || events == 0;
}
