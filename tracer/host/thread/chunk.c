/* chunk.c - filling chunks, and their way from the pool and back to it. What
 * happens when one is full is chunk_switch.c's.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/item.h"
#include "tracer/host/thread/chunk.h"
#include "tracer/host/base/break.h"
#include "tracer/host/base/memory.h"
#include "tracer/host/pool/process.h"

#include <pthread.h>
#include <string.h>

/* Items leave room for so many dictionary words, so that a function can always
 * be named, if only by its address. */
enum { DICT_RESERVE = 64 };

struct thread_upcalls thread_upcalls;

/* ------------------------------------------------------------------ scrap */

static void count_scrap(struct thread_state *s)
{
	uint64_t lost = 0;
	uint32_t shown;

	for (const uint64_t *at = s->scrap_records; at < s->at; at++)
		lost += rec_kind(*at) != REC_OPERAND;
	chunk_count_lost(s, LOST_FULL, lost);
	/* The level below may have one, too. A jump may have come before some
	 * of this one's words were shown. */
	shown = atomic_load_explicit(&s->slot->scrap, memory_order_relaxed);
	atomic_store_explicit(&s->slot->scrap, shown > chunk_count(s) ?
			      shown - chunk_count(s) : 0,
			      memory_order_relaxed);
}

/* Another chunk is about to be the open one: it has no records, has named no
 * function, and the common case waits until the next release. */
static void begin_use(struct thread_state *s)
{
	s->at = s->quick = s->chosen_quick = NULL;
	s->count_limit = s->deep_limit = NULL;
	barrier();
	chunk_forget_names(s);
	chunk_forget_nodes(s);
	s->nodes = 0;
}

/* Its records begin there. A handler must not find the end of one chunk's
 * records with the beginning of another's. */
static void use_records(struct thread_state *s, uint64_t *records,
			uint32_t room, _Atomic uint32_t *published)
{
	s->records = records;
	s->limit = records + room - RECORD_SLACK;
	s->published = published;
	barrier();
	s->at = records;
}

static void use_scrap(struct thread_state *s)
{
	begin_use(s);
	s->head = &s->scrap_head;
	s->scrap_head.checksum = 0; /* record -1 is no ENTER */
	s->buffer = NO_BUFFER;
	s->items = s->funcs = 0;
	use_records(s, s->scrap_records, SCRAP_WORDS, s->awaits ?
		    (_Atomic uint32_t *)&s->scrap_head.records :
		    &s->slot->scrap);
}

/* Where a function is waited for, what it has named is still left out. */
static void empty_scrap(struct thread_state *s)
{
	if (s->awaits) {
		use_records(s, s->scrap_records, SCRAP_WORDS, s->published);
		atomic_store_explicit(s->published, 0, memory_order_relaxed);
		return;
	}
	if (chunk_count(s) > 0) {
		count_scrap(s);
		s->resync = true;
	}
	use_scrap(s);
}

/* ---------------------------------------------------------------- closing */

void chunk_disown(struct thread_state *s)
{
	s->leaving.word = s->opening.word = 0;
	use_scrap(s);
}

/* Does the buffer that was being opened belong to the thread by then, and to no
 * other level of it, which may have been faster? */
static bool was_taken(const struct thread_state *s)
{
	const struct buffer_claim *const c = &s->opening;

	for (const struct thread_state *b = s->below; b; b = b->below)
		if (b->buffer == c->buffer)
			return false;
	for (const struct thread_state *n = s->next; n; n = n->next)
		if (n->buffer == c->buffer)
			return false;
	return atomic_load_explicit(&mapped_view.states[c->buffer],
				    memory_order_relaxed) == c->word;
}

/* A handler's jump left a hook in the midst of a change of chunks: the old one
 * is handed over after all; the new one, which is empty, is given back. */
static void finish_change(struct thread_state *s)
{
	const struct buffer_claim opening = s->opening;

	use_scrap(s);
	if (s->leaving.word != 0) {
		s->number = s->scrap_head.number + 1;
		chunk_hand_over(s);
	}
	if (opening.word == 0 || !was_taken(s)) {
		s->opening.word = 0;
		return;
	}
	memory_clear(mapped_words(opening.buffer), CHUNK_HEADER_WORDS);
	s->opening.word = 0;
	barrier();
	mapped_release_buffer(opening.buffer, opening.word, BUFFER_FREE);
}

#ifdef WEFT_CHECKED
/* Do the chunk's records account for its time? Not after a jump out of a hook,
 * which may have moved s->last and written nothing. */
static bool adds_up(const struct thread_state *s)
{
	uint64_t at = s->head->tick_begin;

	for (const uint64_t *word = s->records; word < s->at; word++) {
		const uint64_t r = *word;

		if (rec_kind(r) == REC_LEAF)
			at += rec_leaf_gap(r) + rec_leaf_duration(r);
		else if (rec_kind(r) == REC_TIME)
			at += rec_value(r);
		else if (rec_kind(r) != REC_OPERAND)
			at += rec_gap(r);
	}
	return at == s->last || s->resync || (chunk_lasts(s) && at < s->last);
}
#endif

/* Many threads name themselves after their first call. */
static void put_name(struct thread_state *s, struct chunk_header *h)
{
	kernel_thread_name(s->name);
	memcpy(h->thread_name, s->name, sizeof(h->thread_name));
}

/* The header's last words. What is closed late has lasted until its last call:
 * recording may have been off since. */
static void complete(struct thread_state *s, uint32_t flags)
{
	struct chunk_header *const h = s->head;

	if (s->late && s->brief != 0)
		s->last = h->brief_end > s->last ? h->brief_end : s->last;
	else if (chunk_lasts(s))
		s->last = chunk_clock(s);
	s->cpu = kernel_cpu();
	h->tick_end = s->last;
	h->cpu_end = s->late ? 0 : s->cpu;
	put_name(s, h);
	h->flags |= flags;
	/* A jump may have come before that. */
	chunk_show(&h->records, chunk_count(s));
	CHECKED(adds_up(s));
}

bool chunk_retire(struct thread_state *s, uint32_t flags)
{
	/* The thread left its pool: nobody reads this chunk any more. */
	if (unlikely(s->range != mapped_range)) {
		chunk_disown(s);
		return false;
	}
	if (unlikely((s->leaving.word | s->opening.word) != 0) &&
	    !BROKEN(change))
		finish_change(s);
	if (chunk_is_scrap(s)) {
		empty_scrap(s);
		return false;
	}
	complete(s, flags);
	/* A handler that jumps away from here must leave the state with a
	 * buffer and a number of its own, so these come first. */
	if (s->level > 0 && s->at >= s->limit)
		s->want_big = true; /* else a small one will do */
	s->written = s->head->written + chunk_count(s);
	s->scrap_head.number = s->number;
	s->leaving.buffer = s->buffer;
	barrier();
	s->leaving.word = atomic_load_explicit(&mapped_view.states[s->buffer],
					       memory_order_relaxed);
	barrier();
	use_scrap(s);
	barrier(); /* a handler must not find the old n with the new number */
	s->number++;
	barrier();
	return true;
}

void chunk_hand_over(struct thread_state *s)
{
	mapped_release_buffer(s->leaving.buffer, s->leaving.word, BUFFER_FULL);
	barrier();
	s->leaving.word = 0;
}

/* ---------------------------------------------------------------- opening */

static void fill_identity(struct thread_state *s, struct chunk_header *h)
{
	h->recording = mapped_view.recording;
	h->process = s->process_serial;
	h->thread = s->thread_serial;
	h->pid = process_slot->pid;
	h->tid = s->tid;
	h->number = s->number;
	h->level = s->level;
	h->written = s->written;
	h->process_start = process_start;
	put_name(s, h);
	if (s->below) {
		h->interrupted_chunk = chunk_interrupted(s->below);
		h->interrupted_record = chunk_count(s->below);
		return;
	}
	for (int i = 0; i < LOST_REASONS; i++)
		h->lost[i] = atomic_load_explicit(&s->slot->lost[i],
						  memory_order_relaxed);
}

static void fill_header(struct thread_state *s, struct chunk_header *h,
			uint32_t flags)
{
	const struct clock_pair pair = clock_pair();

	memory_clear(h, CHUNK_HEADER_WORDS);
	h->version = CHUNK_VERSION;
	h->flags = flags | (clock_is_tsc ? CHUNK_TSC : 0u) |
		   (s->base_unknown ? CHUNK_BASE_UNKNOWN : 0u);
	fill_identity(s, h);
	h->tick_begin = s->last;
	h->pair_tick = pair.tick;
	h->pair_mono = pair.mono;
	h->pair_real = pair.real;
	h->pair_width = pair.width;
	h->tick_hz = atomic_load_explicit(&mapped_pool->tick_hz,
					  memory_order_relaxed);
	h->tick_hz_error = atomic_load_explicit(&mapped_pool->tick_hz_error,
						memory_order_relaxed);
	if (s->resync) /* after a gap it is not the last chunk's end */
		s->cpu = kernel_cpu();
	h->cpu_begin = s->cpu;
	h->magic = CHUNK_MAGIC;
}

/* A thread that needs more than 50 ms for a chunk is well served by a small
 * one; so is a thread's first. */
static bool wants_big(const struct thread_state *s)
{
	const uint64_t hz = atomic_load_explicit(&mapped_pool->tick_hz,
						 memory_order_relaxed);
	const uint64_t slow = hz != 0 ? hz / 20 : 100000000;

	return s->top - s->frames > 64 || s->segments > 4 || s->want_big ||
	       (s->number > 0 && s->level == 0 && s->last - s->opened < slow);
}

static void use_buffer(struct thread_state *s, uint32_t b)
{
	begin_use(s);
	s->buffer = b;
	s->head = (struct chunk_header *)mapped_words(b);
	s->buffer_words = mapped_is_small(b) ? POOL_SMALL_WORDS :
			  POOL_BIG_WORDS;
	s->items_at = CHUNK_HEADER_WORDS + pool_record_room(s->buffer_words);
	s->items = s->funcs = 0;
	memory_clear(s->modules_named, sizeof(s->modules_named) / 8);
	memory_clear(s->modules_late, sizeof(s->modules_late) / 8);
	use_records(s, (uint64_t *)(s->head + 1),
		    pool_record_room(s->buffer_words),
		    (_Atomic uint32_t *)&s->head->records);
}

bool chunk_open(struct thread_state *s, uint32_t flags)
{
	/* In a pool that was joined since, the slot is another thread's. */
	const bool may = likely(s->range == mapped_range && !s->awaits);
	const uint32_t b = !may ? NO_BUFFER :
		mapped_claim_buffer(&s->opening, s->slot_index, wants_big(s),
				    kernel_confined ? WAIT_NEVER : s->in_vain ?
				    WAIT_IF_ASKED : WAIT_AS_SAID);

	s->opened = s->last;
	s->want_big = false;
	s->in_vain = b == NO_BUFFER && !s->awaits;
	if (b == NO_BUFFER)
		return false;
	use_buffer(s, b);
	fill_header(s, s->head, s->resync ? flags | CHUNK_GAP : flags);
	s->resync = false;
	return true;
}

/* ---------------------------------------------------------------- records */

SLOW uint64_t chunk_clock_stepped(struct thread_state *s)
{
	chunk_count_lost(s, LOST_CLOCK, 1);
	return s->last;
}

SLOW uint64_t chunk_long_gap(struct thread_state *s, uint64_t gap)
{
	/* Where calls are counted, a chunk that was closed meanwhile has lasted
	 * until later than what is to be written now. */
	if (chunk_lasts(s) && (int64_t)gap < 0) {
		s->last -= gap;
		return 0;
	}
	chunk_put(s, rec_put_value(REC_TIME, gap & REC_VALUE_MAX));
	return 0;
}

/* ------------------------------------------------------------------ names */

void chunk_forget_names(struct thread_state *s)
{
	for (uint32_t i = 0; i < (1 << TABLE_BITS) / 64; i++) {
		for (uint64_t left = s->table_used[i]; left != 0;
		     left &= left - 1) {
			const uint32_t at = 64 * i +
					(uint32_t)__builtin_ctzll(left);

			s->table[at].key = chunk_no_key(at);
		}
		barrier(); /* a handler may jump away from here */
		s->table_used[i] = 0;
	}
}

/* Common cases look for no epoch: what a frame's old node may find must go
 * before the buffer does. */
void chunk_forget_nodes(struct thread_state *s)
{
	for (uint32_t i = 0; i < (1 << COUNTED_BITS) / 64; i++) {
		for (uint64_t left = s->counted_used[i]; left != 0;
		     left &= left - 1)
			s->counted[64 * i + (uint32_t)__builtin_ctzll(left)]
				.under = COUNTED_EMPTY;
		barrier(); /* a handler may jump away from here */
		s->counted_used[i] = 0;
	}
	s->epoch++;
	s->frames[0].node = (uint64_t)s->epoch << 32;
}

/* ------------------------------------------------------------------ items */

uint64_t *chunk_item(struct thread_state *s, uint32_t words)
{
	uint64_t *const base = (uint64_t *)s->head;

	if (chunk_is_scrap(s) || words + DICT_RESERVE > chunk_room(s))
		return NULL;
	s->items += words;
	return base + s->items_at + s->items - words;
}

void chunk_publish_items(struct thread_state *s)
{
	chunk_show(&s->head->items, s->items);
}

void chunk_put_hint(struct thread_state *s, uint32_t index, const char *text,
		    uint32_t length)
{
	const uint32_t words = 2 + item_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return;
	item[0] = item_put(ITEM_HINT, words);
	item[1] = index;
	item_put_string(item + 2, text, length);
	chunk_publish_items(s);
}

void chunk_put_process(struct thread_state *s)
{
	const size_t length = strnlen(process_slot->path, POOL_PATH_MAX);
	const uint32_t words = 3 + item_string_words(length);
	uint64_t *const item = chunk_item(s, words);

	if (!item)
		return;
	item[0] = item_put(ITEM_PROCESS, words);
	item[1] = process_slot->parent;
	item_put_string(item + 2, process_slot->path, length);
	item[words - 1] = (uint64_t)pthread_self();
	chunk_publish_items(s);
}

bool chunk_valid(const struct thread_state *s)
{
	if (s->epoch == 0 || !s->at || s->at > s->limit + RECORD_SLACK ||
	    s->quick > s->limit)
		return false;
	return chunk_is_scrap(s) ||
	       (s->items_at + s->items + s->funcs <= s->buffer_words &&
		chunk_count(s) == *s->published && s->items == s->head->items &&
		s->funcs == s->head->funcs &&
		(int64_t)(s->last - s->head->tick_begin) >= 0);
}
