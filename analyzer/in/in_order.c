/* in_order.c - holds chunks back until those before them have come. Knows
 * number, length and flags of a chunk; must not look at its records, nor know
 * where it was read.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_order.h"

#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/chunk/held.h"

#include <assert.h>
#include <string.h>

enum {
	HELD_MAX = 8,               /* so many chunks of a stream may wait for
	                             * a missing one */
	HELD_WORDS_MAX = 32 << 17,  /* of all streams: 32 MiB */
};

/* The chunks of one (process, thread, level). Invariant: the turns of those
 * that wait rise, and none is less than next. */
struct in_stream {
	struct in_key key;     /* without the number */
	uint64_t next;         /* the turn that is due */
	const struct chunk **held;
	size_t count, room;
};

struct in_order {
	in_chunk_fn fn;
	void *ctx;
	struct map *by_key;    /* index + 1 in streams */
	struct in_stream *streams;
	size_t count, room;
	uint64_t held_words, chunks, words, partials;
	bool has_end;          /* the recorder's last chunk came */
};

struct in_order *in_order_new(in_chunk_fn fn, void *ctx)
{
	struct in_order *const o = mem_alloc(sizeof(*o));

	o->fn = fn;
	o->ctx = ctx;
	o->by_key = map_new();
	return o;
}

void in_order_free(struct in_order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++) {
		for (size_t k = 0; k < o->streams[i].count; k++)
			held_drop(o->streams[i].held[k]);
		mem_free(o->streams[i].held);
	}
	mem_free(o->streams);
	map_free(o->by_key);
	mem_free(o);
}

/* The map has two keys. A recording's number is random, so the level can be
 * mixed into it. */
static uint64_t first_key(const struct in_key *k)
{
	return k->recording + k->level * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t second_key(const struct in_key *k)
{
	return (uint64_t)k->process << 32 | k->thread;
}

static struct in_stream *find(const struct in_order *o, const struct in_key *k)
{
	const uint32_t i = map_find(o->by_key, first_key(k), second_key(k));

	return i ? &o->streams[i - 1] : NULL;
}

/* The stream of a chunk; valid until another stream is added. */
static struct in_stream *find_or_add(struct in_order *o, const struct in_key *k)
{
	uint32_t *const i = map_put(o->by_key, first_key(k), second_key(k));

	if (*i)
		return &o->streams[*i - 1];
	vec_need(&o->streams, &o->room, o->count + 1);
	o->streams[o->count] = (struct in_stream){ .key = *k };
	*i = (uint32_t)++o->count;
	return &o->streams[o->count - 1];
}

/* A chunk's place in its stream: the number, but that the recorder's end notes
 * come last, behind any number of names. */
static uint64_t turn(uint32_t thread, uint64_t number)
{
	if (thread != 0 || number < META_END)
		return number;
	return number == META_END ? UINT64_MAX - 1 : number - 1;
}

static uint64_t turn_of(const struct chunk *chunk)
{
	return turn(chunk->header.thread, chunk->header.number);
}

static bool is_partial(const struct chunk *chunk)
{
	return (chunk->header.flags & CHUNK_PARTIAL) != 0;
}

/* Pass a chunk on, and note what it says about the end of its stream. Numbers
 * that are skipped here are given up for good. */
static enum in_order_result give(struct in_order *o, struct in_stream *s,
				 const struct chunk *chunk)
{
	assert(turn_of(chunk) >= s->next);
	s->next = turn_of(chunk) + 1;
	/* A snapshot has of open chunks what there was. */
	o->partials += (chunk->header.flags & (CHUNK_PARTIAL | CHUNK_FLIGHT))
		       == CHUNK_PARTIAL;
	o->has_end |= (chunk->header.flags & CHUNK_META) &&
		      chunk->header.number == META_END;
	o->chunks++;
	o->words += chunk->n;
	return o->fn(o->ctx, chunk) < 0 ? IN_ORDER_STOP : IN_ORDER_TAKEN;
}

/* Pass on the first chunk that waits. */
static enum in_order_result give_first(struct in_order *o, struct in_stream *s)
{
	const struct chunk *const first = s->held[0];
	enum in_order_result r;

	s->count--;
	memmove(s->held, s->held + 1, s->count * sizeof(*s->held));
	o->held_words -= first->n;
	r = give(o, s, first);
	held_drop(first);
	return r;
}

/* Pass on what is due; PARTIAL chunks wait for the complete ones, which have
 * the same number. */
static enum in_order_result give_due(struct in_order *o, struct in_stream *s)
{
	while (s->count && turn_of(s->held[0]) == s->next &&
	       !is_partial(s->held[0]))
		if (give_first(o, s) == IN_ORDER_STOP)
			return IN_ORDER_STOP;
	return IN_ORDER_TAKEN;
}

/* How far a chunk goes. A call that gives its record back and is counted makes
 * it longer. */
static uint64_t length_of(const struct chunk *chunk)
{
	uint64_t length = chunk->header.records;

	for (size_t i = 0; i < chunk->nodes; i++)
		if (rec_kind(chunk->counted[i * COUNTED_WORDS]) ==
		    (enum rec_kind)COUNTED_CALL)
			length += 2 * chunk->counted[i * COUNTED_WORDS + 1];
	return length;
}

/* Is a chunk better than the one that waits? The complete one is, and of others
 * the longest. */
static bool is_better(const struct chunk *held, const struct chunk *chunk)
{
	const uint64_t was = length_of(held), length = length_of(chunk);

	if (is_partial(held) != is_partial(chunk))
		return is_partial(held);
	return length > was || (length == was && chunk->n > held->n);
}

/* The index at which a turn is or belongs among the chunks that wait. */
static size_t place(const struct in_stream *s, uint64_t its)
{
	size_t i = s->count;

	while (i > 0 && turn_of(s->held[i - 1]) >= its)
		i--;
	return i;
}

/* Keep a chunk until it is its turn, unless one as good waits. */
static enum in_order_result hold(struct in_order *o, struct in_stream *s,
				 const struct chunk *chunk)
{
	const size_t i = place(s, turn_of(chunk));
	const bool is_there = i < s->count &&
			      turn_of(s->held[i]) == turn_of(chunk);

	if (is_there) {
		if (!is_better(s->held[i], chunk))
			return IN_ORDER_DUPLICATE;
		o->held_words -= s->held[i]->n;
		held_drop(s->held[i]);
	} else {
		vec_need(&s->held, &s->room, s->count + 1);
		memmove(s->held + i + 1, s->held + i,
			(s->count - i) * sizeof(*s->held));
		s->count++;
	}
	s->held[i] = held_keep(chunk);
	o->held_words += chunk->n;
	return is_there ? IN_ORDER_DUPLICATE : IN_ORDER_TAKEN;
}

enum in_order_result in_order_put(struct in_order *o,
				  const struct chunk *chunk)
{
	const struct in_key key = in_key_of(chunk);
	struct in_stream *const s = find_or_add(o, &key);
	enum in_order_result r;

	if (turn_of(chunk) < s->next)
		return IN_ORDER_DUPLICATE;
	if (turn_of(chunk) == s->next && !s->count && !is_partial(chunk))
		return give(o, s, chunk);
	r = hold(o, s, chunk);
	if (give_due(o, s) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	if (s->count > HELD_MAX ||
	    (s->count > 1 && o->held_words > HELD_WORDS_MAX))
		return IN_ORDER_GAP;
	return r;
}

/* Skip the missing numbers before the first chunk that waits. */
static enum in_order_result give_up(struct in_order *o, struct in_stream *s)
{
	if (s->count && give_first(o, s) == IN_ORDER_STOP)
		return IN_ORDER_STOP;
	return give_due(o, s);
}

enum in_order_result in_order_give_up(struct in_order *o,
				      const struct in_key *of)
{
	struct in_stream *const s = find(o, of);

	return s ? give_up(o, s) : IN_ORDER_TAKEN;
}

enum in_order_result in_order_finish(struct in_order *o)
{
	for (size_t i = 0; i < o->count; i++)
		while (o->streams[i].count)
			if (give_up(o, &o->streams[i]) == IN_ORDER_STOP)
				return IN_ORDER_STOP;
	return IN_ORDER_TAKEN;
}

bool in_order_is_settled(const struct in_order *o, const struct in_key *key)
{
	const struct in_stream *const s = find(o, key);

	return s && turn(key->thread, key->number) < s->next;
}

/* A number below next is settled: no copy of it is of use any more. */
bool in_order_has(const struct in_order *o, const struct in_key *key,
		  uint32_t words, bool partial)
{
	const struct in_stream *const s = find(o, key);
	const uint64_t its = turn(key->thread, key->number);
	const struct chunk *held;
	size_t i;

	if (!s || its < s->next)
		return s != NULL;
	i = place(s, its);
	held = i < s->count ? s->held[i] : NULL;
	if (!held || turn_of(held) != its || words == 0)
		return held && turn_of(held) == its;
	/* The words of a chunk that counts calls do not say how far it goes. */
	return held->nodes > 0 || held->n == words ?
	       !is_partial(held) || (partial && held->nodes == 0) :
	       held->n > words;
}

uint64_t in_order_beginnings(const struct in_order *o)
{
	return o->has_end ? o->partials : 0;
}

uint64_t in_order_chunks(const struct in_order *o)
{
	return o->chunks;
}

uint64_t in_order_words(const struct in_order *o)
{
	return o->words;
}
