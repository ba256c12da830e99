/* buffer.h - how what lies in a buffer of the pool becomes a chunk. For
 * whoever takes it: the recorder, or what reads a pool that a dead recorder
 * left. Knows nothing of who fills buffers.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/pool.h"
#include "tracepoints/record.h"

#include <string.h>

/* ---- records ---- */

/* How many operands follow a record's word, of which left words are there, this
 * one included; as many as left or more: not all are there. Negative: no record
 * begins so. */
static inline int64_t chunk_record_operands(const uint64_t *record,
					    uint32_t left)
{
	/* One more than the kind has; 0: there is no such kind. */
	static const int8_t count[16] = {
#define X(name, number, operands, meaning) [number] = (operands) + 1,
		REC_LIST(X)
#undef X
	};
	const enum rec_kind kind = rec_kind(*record);

	if (kind == REC_RESUME && (rec_func(*record) & RESUME_STACK) != 0)
		return left < 4 || rec_value(record[3]) > left ? left :
		       (int64_t)(3 + rec_value(record[3]));
	return count[kind] - 1;
}

/* How much time passes with a record, by its word. */
static inline uint64_t chunk_record_ticks(uint64_t word)
{
	switch (rec_kind(word)) {
	case REC_LEAF:
		return rec_leaf_gap(word) + rec_leaf_duration(word);
	case REC_TIME:
		return rec_value(word);
	case REC_OPERAND:
		return 0;
	default:
		return rec_gap(word);
	}
}

/* Walk over n record words. Returns the ticks that they span. *whole: how many
 * of the words belong to whole records. Stops at the first word that begins no
 * record, or at a record whose operands do not all lie within n. */
static inline uint64_t chunk_walk(const uint64_t *record, uint32_t n,
				  uint32_t *whole)
{
	uint64_t ticks = 0;
	uint32_t i = 0;

	while (i < n) {
		const int64_t more = chunk_record_operands(record + i, n - i);

		if (more < 0 || more >= n - i)
			break;
		ticks += chunk_record_ticks(record[i]);
		i += 1 + (uint32_t)more;
	}
	*whole = i;
	return ticks;
}

/* ---- the buffer ---- */

struct buffer {
	const uint64_t *at;        /* in the pool: anybody may write it now */
	uint32_t words;            /* its size */
	uint64_t recording;        /* the header must have this number */
	uint32_t flags;            /* CHUNK_PARTIAL: its thread goes on to fill
	                            * it; CHUNK_TAKEN: its thread is dead; 0:
	                            * it was closed */
};

/* Of a live buffer by aligned 64-bit loads: a word that its thread rewrites
 * meanwhile is read old or new, never torn. */
static inline void buffer_copy_words(uint64_t *out, const uint64_t *from,
				     uint32_t n, bool is_live)
{
	if (!is_live) {
		memcpy(out, from, (size_t)n * 8);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		out[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

/* Acquire: what is counted was written before the count. */
static inline uint32_t buffer_count(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* A chunk without records is still needed if its thread has lost something:
 * only its header tells of that. */
static inline bool buffer_was_ever_lost(const struct chunk_header *h)
{
	uint64_t any = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		any |= h->lost[i];
	return any != 0;
}

/* Nor can it be left out if it names a Lua state: one that has called nothing
 * is perhaps named nowhere else. */
static inline bool buffer_names_state(const struct buffer *b, uint32_t items)
{
	const uint64_t *const item = b->at + CHUNK_HEADER_WORDS +
				     pool_record_room(b->words);
	uint64_t i = 0;

	while (i < items) {
		const uint64_t word = __atomic_load_n(&item[i],
						      __ATOMIC_RELAXED);

		if (item_type(word) == ITEM_VM)
			return true;
		if (item_words(word) == 0)
			return false;
		i += item_words(word);
	}
	return false;
}

/* Copy the header to out, the counts being read first, and check it. Returns 1,
 * or 0: nothing is in the buffer; -1: what lies there is no chunk of this
 * recording. */
static inline int buffer_open(uint64_t *out, const struct buffer *b)
{
	const struct chunk_header *const in = (const void *)b->at;
	struct chunk_header *const h = (void *)out;
	const uint32_t room = pool_record_room(b->words);
	const uint32_t extra = b->words - CHUNK_HEADER_WORDS - room;
	const uint32_t records = buffer_count(&in->records);
	const uint32_t items = buffer_count(&in->items);
	const uint32_t funcs = buffer_count(&in->funcs);
	const uint32_t counted = buffer_count(&in->counted);

	buffer_copy_words(out, b->at, CHUNK_HEADER_WORDS,
			  (b->flags & CHUNK_PARTIAL) != 0);
	if (records == 0 && counted == 0 && b->flags != 0 &&
	    (h->magic != CHUNK_MAGIC || (!buffer_was_ever_lost(h) &&
	     !buffer_names_state(b, items <= extra ? items : 0))))
		return 0;
	if (h->magic != CHUNK_MAGIC || h->version != CHUNK_VERSION ||
	    h->recording != b->recording || records > room ||
	    items > extra || funcs > extra - items ||
	    funcs > CHUNK_MAX_FUNCS || counted > room / COUNTED_WORDS)
		return -1;
	/* Records of brief calls have become nodes meanwhile, perhaps. */
	if (counted > 0 && counted * COUNTED_WORDS + 1 > room - records)
		return b->flags & CHUNK_PARTIAL ? 0 : -1;
	h->records = records;
	h->items = items;
	h->funcs = funcs;
	h->counted = counted;
	return 1;
}

/* A chunk that its thread did not close ends after its last whole record. */
static inline void buffer_close(struct chunk_header *h, const uint64_t *records)
{
	uint32_t whole;
	const uint64_t ticks = chunk_walk(records, h->records, &whole);

	h->records = whole;
	h->tick_end = h->tick_begin + ticks;
	h->cpu_end = 0;
}

/* The nodes of counted calls, which grow down in the buffer, become an item.
 * Returns its words. */
static inline uint32_t buffer_counted(const struct buffer *b, uint32_t n,
				      uint64_t *at)
{
	const uint64_t *const end = b->at + CHUNK_HEADER_WORDS +
				    pool_record_room(b->words);
	const uint32_t words = 1 + n * COUNTED_WORDS;

	if (n == 0)
		return 0;
	*at++ = item_put(ITEM_COUNTED, words);
	for (uint32_t i = 1; i <= n; i++, at += COUNTED_WORDS)
		buffer_copy_words(at, end - i * COUNTED_WORDS, COUNTED_WORDS,
				  true);
	return words;
}

/* Copy the records and the items behind a header that buffer_open has made.
 * Returns the place behind them, where more items may follow, and then the
 * dictionary. *end: when the last call ended that gave its record back, if the
 * chunk was not closed, else 0: that may be later than the last record. */
static inline uint64_t *buffer_body(uint64_t *out, const struct buffer *b,
				    uint64_t *end)
{
	const struct chunk_header *const in = (const void *)b->at;
	struct chunk_header *const h = (void *)out;
	const uint64_t *const records = b->at + CHUNK_HEADER_WORDS;
	const bool is_live = (b->flags & CHUNK_PARTIAL) != 0;
	const bool is_unfinished = b->flags != 0 || h->tick_end < h->tick_begin;
	uint64_t *at = out + CHUNK_HEADER_WORDS;
	const uint32_t items = h->items;

	buffer_copy_words(at, records, h->records, is_live);
	if (is_unfinished)
		buffer_close(h, at);
	at += h->records;
	buffer_copy_words(at, records + pool_record_room(b->words), items,
			  is_live);
	at += items;
	h->items += buffer_counted(b, h->counted, at);
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* after all it has counted */
#endif
	*end = h->items == items || !is_unfinished ? 0 :
	       __atomic_load_n(&in->brief_end, __ATOMIC_RELAXED);
	return at + (h->items - items);
}

/* The dictionary grows down in the buffer. Then all is there: only its maker's
 * flags stay, with those of b. */
static inline void buffer_end(struct chunk_header *h, const struct buffer *b,
			      uint64_t *at)
{
	for (uint32_t i = 0; i < h->funcs; i++)
		at[i] = b->at[b->words - 1 - i];
	h->total_words = CHUNK_HEADER_WORDS + h->records + h->items + h->funcs;
	h->flags &= CHUNK_BASE_UNKNOWN | CHUNK_LAST | CHUNK_GAP | CHUNK_TSC;
	h->flags |= b->flags;
	h->counted = 0;
	h->checksum = 0;
}
