/* drain.c - from the pool to delivery. A chunk is copied, its buffer given
 * back, then the copy is looked at and sent: the recorded threads wait for
 * nothing that happens here.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/drain.h"
#include "tracer/recorder/chunk_copy.h"

#include <stdlib.h>
#include <string.h>

struct drain_entry {
	uint32_t thread, level;    /* the stream, and the chunk's place in it */
	uint64_t number;
	uint32_t buffer;
	uint32_t is_first;         /* found at the first look of this round */
};

struct drain_seen {
	uint32_t generation;       /* of the buffer's state word */
	uint32_t records;          /* delivered as PARTIAL already */
	uint32_t round;            /* last round that found it */
};

int drain_init(struct drain *d, struct arena *arena, struct slots *slots,
	       struct deliver *deliver, const struct rate *rate)
{
	const uint32_t n = arena_buffers(arena);

	memset(d, 0, sizeof(*d));
	d->arena = arena;
	d->slots = slots;
	d->deliver = deliver;
	d->rate = rate;
	d->entry = calloc(n, sizeof(*d->entry));
	d->seen = calloc(n, sizeof(*d->seen));
	return d->entry && d->seen ? 0 : -1;
}

static bool owner_is_dead(const struct drain *d, uint64_t word)
{
	const uint32_t slot = buffer_slot(word);

	return slot < d->arena->thread_slots && d->slots->is_dead[slot];
}

static const struct chunk_header *header_of(const struct drain *d, uint32_t i)
{
	return (const void *)arena_buffer(d->arena, i);
}

/* List the buffers to take. */
static uint32_t look(struct drain *d, bool is_first)
{
	const uint32_t all = arena_buffers(d->arena);
	uint32_t n = 0, free_big = 0;

	for (uint32_t i = 0; i < all; i++) {
		const uint64_t word = atomic_load_explicit(
			&d->arena->states[i], memory_order_acquire);
		const enum buffer_state state = buffer_state(word);

		if (state == BUFFER_FREE && i >= d->arena->small)
			free_big++;
		if (state != BUFFER_FULL && !(state == BUFFER_FILLING &&
		    d->slots->dead_n > 0 && owner_is_dead(d, word)))
			continue;
		const struct chunk_header *const h = header_of(d, i);

		if (is_first)
			d->seen[i].round = d->round;
		d->entry[n++] = (struct drain_entry){ h->thread, h->level,
			h->number, i, d->seen[i].round == d->round };
	}
	d->free_big = free_big;
	return n;
}

static int by_stream(const void *a, const void *b)
{
	const struct drain_entry *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	/* Handlers' chunks before those they interrupted. */
	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Count each record once, though PARTIAL copies may have told of it. */
static void count_records(struct drain *d, uint32_t i, uint32_t generation,
			  uint32_t records)
{
	struct drain_seen *const s = &d->seen[i];
	const uint32_t before = s->generation == generation ? s->records : 0;

	if (records > before)
		d->records += records - before;
	s->generation = generation;
	s->records = records;
}

static void send(struct drain *d, uint64_t *chunk, int words)
{
	if (words < 0)
		d->damaged++;
	if (words <= 0)
		return;
	finish_seal(chunk);
	deliver_send(d->deliver, (uint32_t)words);
}

/* Take that buffer, give it back empty, send what was in it. */
static void take(struct drain *d, uint32_t i)
{
	_Atomic uint64_t *const state = &d->arena->states[i];
	uint64_t word = atomic_load_explicit(state, memory_order_acquire);
	const uint32_t generation = buffer_generation(word);
	const bool is_full = buffer_state(word) == BUFFER_FULL;
	const struct finish_job job = {
		.buffer = arena_buffer(d->arena, i),
		.words = arena_buffer_words(d->arena, i),
		.recording = d->arena->recording,
		.flags = is_full ? 0u : (unsigned)CHUNK_TAKEN,
		.rate = d->rate,
		.offcpu = d->slots->offcpu,
		.slot = buffer_slot(word),
	};
	uint64_t *const chunk = deliver_room(d->deliver);

	if (!is_full && !(buffer_state(word) == BUFFER_FILLING &&
			  owner_is_dead(d, word)))
		return;
	if (!atomic_compare_exchange_strong(state, &word, buffer_word(
			BUFFER_TAKEN, buffer_slot(word), generation)))
		return;
	const int words = finish_copy(chunk, &job);

	memset(arena_buffer(d->arena, i), 0, CHUNK_HEADER_WORDS * 8);
	atomic_store_explicit(state, buffer_word(BUFFER_FREE, 0,
						 generation + 1),
			      memory_order_release);
	d->taken++;
	if (words > 0)
		count_records(d, i, generation,
			      ((const struct chunk_header *)chunk)->records);
	send(d, chunk, words);
}

/* Of every stream, those found at the first look and all before them: what
 * only the second look found may have a brother, closed before it, that no
 * look has seen. Handlers' chunks were closed before those they interrupted: the
 * second look has found all that the first one's need. */
static uint32_t take_in_order(struct drain *d, uint32_t n)
{
	const struct drain_entry *const e = d->entry;
	uint32_t taken = 0;

	for (uint32_t from = 0, to; from < n; from = to) {
		uint32_t last = from;

		for (to = from; to < n && e[to].thread == e[from].thread &&
		     e[to].level == e[from].level; to++)
			if (e[to].is_first || e[to].level > 0)
				last = to + 1;
		for (uint32_t i = from; i < last; i++, taken++)
			take(d, e[i].buffer);
	}
	return taken;
}

uint32_t drain_poll(struct drain *d)
{
	slots_find_dead(d->slots, false);
	d->round++;
	uint32_t n = look(d, true);

	if (n > 0) {
		if (n > 1)
			n = look(d, false);
		qsort(d->entry, n, sizeof(*d->entry), by_stream);
		n = take_in_order(d, n);
	}
	slots_free_dead(d->slots);
	return n;
}

/* Is this a filling buffer, opened before that tick, with records that were
 * not delivered yet? */
static bool is_overdue(const struct drain *d, uint32_t i, uint64_t before,
		       uint64_t word)
{
	const struct chunk_header *const h = header_of(d, i);
	const struct drain_seen *const s = &d->seen[i];

	if (buffer_state(word) != BUFFER_FILLING)
		return false;
	const uint32_t records = __atomic_load_n(&h->records,
						 __ATOMIC_ACQUIRE);

	return h->magic == CHUNK_MAGIC && records > 0 &&
	       (s->generation != buffer_generation(word) ||
		s->records != records) &&
	       (int64_t)(before - h->tick_begin) > 0;
}

static uint64_t tick_before(const struct drain *d, uint64_t ms)
{
	return rate_ticks(d->rate) - rate_ms_ticks(d->rate, ms);
}

static void copy_live(struct drain *d, uint32_t i, uint64_t word)
{
	const struct finish_job job = {
		.buffer = arena_buffer(d->arena, i),
		.words = arena_buffer_words(d->arena, i),
		.recording = d->arena->recording,
		.flags = CHUNK_PARTIAL,
		.rate = d->rate,
	};
	uint64_t *const chunk = deliver_room(d->deliver);
	const int words = finish_copy(chunk, &job);
	const uint64_t now = atomic_load(&d->arena->states[i]);

	/* It may have been closed meanwhile, or (flight recorder) be another
	 * thread's by now. */
	if (words <= 0 || now != word)
		return;
	count_records(d, i, buffer_generation(word),
		      ((const struct chunk_header *)chunk)->records);
	d->partials++;
	send(d, chunk, words);
}

void drain_copy_older(struct drain *d, uint64_t ms)
{
	const uint64_t before = tick_before(d, ms);

	for (uint32_t i = 0; i < arena_buffers(d->arena); i++) {
		const uint64_t word = atomic_load_explicit(
			&d->arena->states[i], memory_order_acquire);

		if (is_overdue(d, i, before, word))
			copy_live(d, i, word);
	}
}

void drain_cut_older(struct drain *d, uint64_t ms)
{
	struct pool *const p = d->arena->pool;
	const uint64_t before = tick_before(d, ms);
	bool any = false;

	for (uint32_t i = 0; !any && i < arena_buffers(d->arena); i++)
		any = is_overdue(d, i, before, atomic_load_explicit(
			&d->arena->states[i], memory_order_acquire));
	if (!any)
		return;
	d->cuts++;
	atomic_store(&p->cut_before, before);
	atomic_fetch_add(&p->generation, POOL_GENERATION_STEP);
}

uint64_t drain_overwritten(const struct drain *d)
{
	uint64_t used = 0;

	if (d->arena->pool->on_full != POOL_OVERWRITE)
		return 0;
	/* A buffer's generation rises by one whenever it is used again. */
	for (uint32_t i = 0; i < arena_buffers(d->arena); i++)
		used += buffer_generation(atomic_load(&d->arena->states[i]));
	return used > d->taken ? used - d->taken : 0;
}
