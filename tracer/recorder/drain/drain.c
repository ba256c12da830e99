/* drain.c - from the pool to the sink. A chunk is copied, its buffer is given
 * back, and only then is the copy checked and sent: recorded threads wait for
 * nothing that happens here.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/memory_limit.h"
#include "tracer/recorder/drain/chunk_copy.h"
#include "tracer/recorder/drain/drain.h"

#include <assert.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	WAKE_AT_ONCE = 16,         /* fewer wake-ups; no thread waits long */
	MANY = 8,                  /* buffers that take a while to send */
	SEND_AT_ONCE = 4,          /* before the pool is looked at again */
	COPIES_SHARE = 16,         /* of the memory */
	ASK_MS = 500,              /* without a buffer handed over: ask, */
	GIVE_UP_MS = 1000,         /* and let nobody wait for one */
};

struct drain_entry {
	uint32_t thread, level;    /* the stream */
	uint64_t number;           /* of the chunk in the stream */
	uint32_t buffer;
	bool is_first;             /* found at the first look of this round */
};

struct drain_seen {
	uint32_t generation;       /* of the buffer's state word */
	uint32_t records;          /* sent as PARTIAL chunks already */
	uint64_t counted;          /* the same of counted calls */
	uint32_t round;            /* the last round that found it */
};

static uint64_t memory(void)
{
	const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) *
			     (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t limit = memory_limit("/proc/self/cgroup",
					    "/sys/fs/cgroup");

	return all < limit ? all : limit;
}

int drain_init(struct drain *d, struct pool_owner *owner,
	       struct registry *registry, struct sink *sink,
	       const struct rate *rate)
{
	const uint32_t n = pool_owner_buffers(owner);

	memset(d, 0, sizeof(*d));
	d->owner = owner;
	d->registry = registry;
	d->sink = sink;
	d->rate = rate;
	/* Without it, chunks are sent as they are taken. */
	chunk_queue_init(&d->copies, memory() / COPIES_SHARE);
	d->entry = calloc(n, sizeof(*d->entry));
	d->seen = calloc(n, sizeof(*d->seen));
	return d->entry && d->seen && code_maps_init(&d->maps, owner) == 0 ?
	       0 : -1;
}

static bool thread_is_dead(const struct drain *d, uint64_t word)
{
	const uint32_t slot = buffer_slot(word);

	return slot < d->owner->thread_slots && d->registry->is_dead[slot];
}

static uint64_t state_of(const struct drain *d, uint32_t i)
{
	return atomic_load_explicit(&d->owner->states[i],
				    memory_order_acquire);
}

static struct chunk_source source_of(const struct drain *d, uint32_t i,
				     uint32_t flags)
{
	return (struct chunk_source){
		.buffer = pool_owner_buffer(d->owner, i),
		.words = pool_owner_buffer_words(d->owner, i),
		.recording = d->owner->recording,
		.flags = flags,
		.rate = d->rate,
	};
}

static const struct chunk_header *header_of(const struct drain *d, uint32_t i)
{
	return (const void *)pool_owner_buffer(d->owner, i);
}

uint64_t drain_in_pool(const struct drain *d)
{
	const uint32_t all = pool_owner_buffers(d->owner);
	uint64_t records = 0;

	for (uint32_t i = 0; i < all; i = pool_owner_next(d->owner, i)) {
		const enum buffer_state state = buffer_state(state_of(d, i));
		const uint32_t n = __atomic_load_n(&header_of(d, i)->records,
						   __ATOMIC_RELAXED);

		if ((state == BUFFER_FILLING || state == BUFFER_FULL) &&
		    n <= pool_owner_buffer_words(d->owner, i))
			records += n;
	}
	return records;
}

/* List the buffers that are to be taken. The pool fills up where more than a
 * third of what no thread fills waits for us, of either size of buffer. */
static uint32_t look_at_buffers(struct drain *d, bool is_first)
{
	const uint32_t all = pool_owner_buffers(d->owner);
	uint32_t n = 0, unused[2] = { 0 }, full[2] = { 0 }, held[2] = { 0 };

	for (uint32_t i = 0; i < all; i = pool_owner_next(d->owner, i)) {
		const uint64_t word = state_of(d, i);
		const enum buffer_state state = buffer_state(word);

		unused[i >= d->owner->small] += state == BUFFER_FREE;
		if (state != BUFFER_FULL && !(state == BUFFER_FILLING &&
		    d->registry->dead_n > 0 && thread_is_dead(d, word))) {
			held[i >= d->owner->small] += state == BUFFER_FILLING;
			continue;
		}
		const struct chunk_header *const h = header_of(d, i);

		full[i >= d->owner->small]++;
		if (is_first)
			d->seen[i].round = d->round;
		d->entry[n++] = (struct drain_entry){ h->thread, h->level,
			h->number, i, d->seen[i].round == d->round };
	}
	assert(n <= all && unused[1] <= d->owner->big);
	d->free_big = unused[1];
	d->small_held = held[0];
	d->is_held = held[0] + held[1] > 0 && n == 0 &&
		     unused[0] + unused[1] == 0;
	d->is_filling = full[0] > unused[0] / 2 || full[1] > unused[1] / 2;
	return n;
}

/* For qsort: by thread, level and number. */
static int by_stream(const void *a, const void *b)
{
	const struct drain_entry *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	/* Chunks of signal handlers come before those they interrupted. */
	if (x->level != y->level)
		return x->level > y->level ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Count each record and counted call once, even if PARTIAL chunks have
 * contained it. */
static void count_records(struct drain *d, uint32_t i, uint32_t generation,
			  uint32_t records, uint64_t counted)
{
	struct drain_seen *const s = &d->seen[i];

	if (s->generation != generation)
		*s = (struct drain_seen){ generation, 0, 0, s->round };
	if (records > s->records)
		d->records += records - s->records;
	if (counted > s->counted)
		d->counted += counted - s->counted;
	s->records = records;
	s->counted = counted;
}

/* ---- sending ----
 * Where the pool fills up, or much was found in it, the buffers are given back
 * first, and the copies are sent when that is done, in the same order. */

static void deliver(struct drain *d, uint64_t *chunk, uint32_t words)
{
	struct chunk_header *const h = (void *)chunk;

	if (h->thread < d->late_below)
		h->flags |= CHUNK_FLIGHT;
	chunk_seal(chunk);
	sink_send(d->sink, chunk, words);
	if (d->sent)
		d->sent(d->sent_ctx, chunk, words);
}

static void send_oldest(struct drain *d)
{
	uint32_t words;
	uint64_t *const chunk = chunk_queue_oldest(&d->copies, &words);

	chunk_queue_drop(&d->copies);
	deliver(d, chunk, words);
}

void drain_send_aside(struct drain *d)
{
	while (!chunk_queue_is_empty(&d->copies))
		send_oldest(d);
}

/* Threads are not to wait where we do. */
static void be_stuck(struct drain *d, bool is_stuck)
{
	if (d->is_stuck != is_stuck)
		atomic_store(&d->owner->pool->is_stuck, is_stuck ? STUCK_DISK :
			     STUCK_NOT);
	d->is_stuck = is_stuck;
}

static uint64_t *room_aside(struct drain *d)
{
	uint64_t *const room = chunk_queue_room(&d->copies, true);

	if (!room)
		be_stuck(d, true);
	return room;
}

/* Where the next chunk is made: aside, or where it is sent from. NULL: nothing
 * may be sent now, and there is no more room aside. */
static uint64_t *room(struct drain *d)
{
	if (d->only_aside)
		return room_aside(d);
	while (d->is_filling || d->is_many ||
	       !chunk_queue_is_empty(&d->copies)) {
		uint64_t *const aside = room_aside(d);

		if (aside)
			return aside;
		if (chunk_queue_is_empty(&d->copies))
			break;
		send_oldest(d);
	}
	return sink_room(d->sink);
}

/* Send, or set aside, what was made there. */
static void send_or_keep(struct drain *d, uint64_t *chunk, int words)
{
	if (words < 0)
		d->damaged++;
	if (words <= 0)
		return;
	sink_note(d->sink, &d->items);
	if (d->names)
		lua_names_note(d->names, &d->items);
	if (d->selection)
		selection_note(d->selection, &d->items);
	if (d->budget)
		budget_note(d->budget, &d->items, (uint32_t)words);
	if (d->slow)
		slow_calls_note(d->slow, &d->items, (uint32_t)words);
	if (chunk != sink_room(d->sink)) {
		chunk_queue_keep(&d->copies, (uint32_t)words);
		return;
	}
	deliver(d, chunk, (uint32_t)words);
}

/* ---- taking ---- */

/* Wake a thread that waits for each buffer that was given back. */
static void wake_waiting(struct drain *d)
{
	struct pool *const p = d->owner->pool;
	const uint32_t n = d->untold;

	d->untold = 0;
	if (n == 0 || (p->on_full != POOL_WAIT && p->on_full != POOL_LEND))
		return;
	atomic_fetch_add(&p->given_back, n);
	syscall(SYS_futex, &p->given_back, FUTEX_WAKE, n, NULL, NULL, 0);
}

/* Take the buffer, give it back empty, send what was in it. */
static void take_buffer(struct drain *d, uint32_t i)
{
	_Atomic uint64_t *const state = &d->owner->states[i];
	uint64_t word = state_of(d, i);
	const uint32_t generation = buffer_generation(word);
	const bool is_full = buffer_state(word) == BUFFER_FULL;
	struct chunk_source source = source_of(d, i, is_full ? 0u :
					       (unsigned)CHUNK_TAKEN);
	uint64_t *const chunk = room(d);

	source.cpu = d->registry->cpu;
	source.maps = &d->maps;
	source.slot = buffer_slot(word);
	if (!chunk || (!is_full && !(buffer_state(word) == BUFFER_FILLING &&
				     thread_is_dead(d, word))))
		return;
	if (!atomic_compare_exchange_strong(state, &word, buffer_word(
			BUFFER_TAKEN, buffer_slot(word), generation)))
		return;
	const int words = chunk_copy(chunk, &source, &d->items);
	const uint64_t counted = chunk_counted(&source);

	memset(pool_owner_buffer(d->owner, i), 0, CHUNK_HEADER_WORDS * 8);
	atomic_store_explicit(state, buffer_word(BUFFER_FREE, 0,
						 generation + 1),
			      memory_order_release);
	if (++d->untold >= WAKE_AT_ONCE)
		wake_waiting(d);
	if (words > 0) {
		registry_hear(d->registry, source.slot);
		count_records(d, i, generation,
			      ((const struct chunk_header *)chunk)->records,
			      counted);
	}
	send_or_keep(d, chunk, words);
}

/* Take the chunks of each stream up to the last one that the first look found.
 * A chunk that only the second look found may follow one that was closed
 * between the looks and that neither has found. Chunks of signal handlers are
 * closed before those they interrupted, so that the second look has found all
 * that must come before the chunks of the first. */
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
			take_buffer(d, e[i].buffer);
	}
	return taken;
}

/* ---- more threads than buffers ----
 * A thread that fills a buffer may wait for one that has none and waits for it,
 * as at a barrier. Where threads hold most of the small buffers, more are
 * opened. Where they hold all, and none is left to be opened, the threads are
 * asked for them; and who still has none after a second need not wait. */

/* A budget may have asked for more a moment ago, of threads that have not seen
 * it as yet: that is not taken back. */
static void cut_chunks(struct pool *p, uint64_t before)
{
	if (before > atomic_load(&p->cut_before))
		atomic_store(&p->cut_before, before);
	atomic_fetch_add(&p->generation, POOL_GENERATION_STEP);
}

/* Those that sleep look again, one at a time. */
static bool anybody_waits(struct pool *p)
{
	return syscall(SYS_futex, &p->given_back, FUTEX_WAKE, 1, NULL, NULL,
		       0) > 0;
}

static void be_held(struct drain *d, uint64_t now)
{
	struct pool *const p = d->owner->pool;

	if (d->held_since == 0 && anybody_waits(p)) {
		d->held_since = now;
		d->was_asked = false;
	}
	const uint64_t ms = d->held_since == 0 ? 0 : now - d->held_since;

	if (ms >= ASK_MS && !d->was_asked) {
		d->was_asked = true;
		cut_chunks(p, rate_ticks(d->rate));
	}
	if (ms >= GIVE_UP_MS && !d->is_given_up) {
		d->is_given_up = true;
		d->gave_up++;
		atomic_store(&p->is_stuck, STUCK_THREADS);
	}
}

static void be_released(struct drain *d)
{
	d->held_since = 0;
	if (d->is_given_up)
		atomic_store(&d->owner->pool->is_stuck, d->is_stuck ?
			     STUCK_DISK : STUCK_NOT);
	d->is_given_up = false;
}

/* Returns how many buffers were opened. */
static uint32_t make_room(struct drain *d)
{
	struct pool_owner *const o = d->owner;
	const uint32_t more = d->small_held > o->small_open / 4 * 3 ?
			      pool_owner_grow(o) : 0;

	d->untold += more;
	if (d->is_held && more == 0)
		be_held(d, rate_mono_ms());
	else
		be_released(d);
	return more;
}

uint32_t drain_poll(struct drain *d)
{
	registry_find_dead(d->registry, false);
	d->round++;
	uint32_t n = look_at_buffers(d, true);

	if (n > 0) {
		if (n > 1)
			n = look_at_buffers(d, false);
		d->is_many = n > MANY;
		qsort(d->entry, n, sizeof(*d->entry), by_stream);
		n = take_in_order(d, n);
	}
	n += make_room(d);
	wake_waiting(d);
	if (d->only_aside)
		return n;
	registry_free_dead(d->registry);
	for (int i = 0; i < SEND_AT_ONCE && !chunk_queue_is_empty(&d->copies) &&
	     n <= MANY; i++)
		send_oldest(d);
	if (chunk_queue_is_empty(&d->copies))
		be_stuck(d, false);
	return n;
}

/* The dead keep their slots: perhaps there was no room for their chunks. */
uint32_t drain_set_aside(struct drain *d)
{
	d->only_aside = true;
	const uint32_t n = drain_poll(d);

	d->only_aside = false;
	return n;
}

/* Has the buffer anything that was not sent yet? */
static bool is_unsent(const struct drain *d, uint32_t i, uint64_t word)
{
	const struct chunk_header *const h = header_of(d, i);
	const struct drain_seen *const s = &d->seen[i];
	const struct chunk_source source = source_of(d, i, 0);
	const uint32_t records = __atomic_load_n(&h->records,
						 __ATOMIC_ACQUIRE);
	const uint64_t counted = chunk_counted(&source);

	if (s->generation != buffer_generation(word))
		return records > 0 || counted > 0;
	return s->records != records || s->counted != counted;
}

static bool is_open(const struct drain *d, uint32_t i, uint64_t word)
{
	return buffer_state(word) == BUFFER_FILLING &&
	       header_of(d, i)->magic == CHUNK_MAGIC;
}

/* Whether it was opened before that tick, and has what was not sent yet. */
static bool is_overdue(const struct drain *d, uint32_t i, uint64_t before,
		       uint64_t word)
{
	return is_open(d, i, word) &&
	       (int64_t)(before - header_of(d, i)->tick_begin) > 0 &&
	       is_unsent(d, i, word);
}

static uint64_t tick_before(const struct drain *d, uint64_t ms)
{
	return rate_ticks(d->rate) - rate_ms_ticks(d->rate, ms);
}

/* Send what is in a buffer that its thread goes on to fill. */
static void copy_live(struct drain *d, uint32_t i, uint64_t word)
{
	struct chunk_source source = source_of(d, i, CHUNK_PARTIAL);
	uint64_t *const chunk = room(d);

	source.cpu = d->registry->cpu;
	source.slot = buffer_slot(word);
	const uint64_t counted = chunk_counted(&source);
	const int words = chunk_copy(chunk, &source, &d->items);

#ifndef __SANITIZE_THREAD__ /* which knows no fences */
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* after all that was copied */
#endif
	const uint64_t now = atomic_load(&d->owner->states[i]);

	/* It may have been closed meanwhile. */
	if (words <= 0 || now != word)
		return;
	registry_hear(d->registry, buffer_slot(word));
	count_records(d, i, buffer_generation(word),
		      ((const struct chunk_header *)chunk)->records, counted);
	send_or_keep(d, chunk, words);
}

void drain_copy_older(struct drain *d, uint64_t ms, bool again)
{
	const uint64_t before = tick_before(d, ms);

	for (uint32_t i = 0; i < pool_owner_buffers(d->owner);
	     i = pool_owner_next(d->owner, i)) {
		const uint64_t word = state_of(d, i);

		if (again ? is_open(d, i, word) :
		    is_overdue(d, i, before, word))
			copy_live(d, i, word);
	}
}

void drain_cut_older(struct drain *d, uint64_t ms)
{
	const uint64_t before = tick_before(d, ms);
	bool any = false;

	for (uint32_t i = 0; !any && i < pool_owner_buffers(d->owner);
	     i = pool_owner_next(d->owner, i))
		any = is_overdue(d, i, before, state_of(d, i));
	if (any)
		cut_chunks(d->owner->pool, before);
}
