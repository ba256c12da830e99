/* chunk_copy.c - from buffer to chunk. Everything is read from the pool once, the
 * counts first, and only the copy is looked at.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/chunk_copy.h"
#include "tracepoints/record.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Operands that follow a record's word; negative: no record starts so. */
static int64_t operands(const uint64_t *record, uint32_t left)
{
	/* One more than there are; 0: no such kind. */
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

static uint64_t ticks_of(uint64_t word)
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

uint64_t finish_walk(const uint64_t *record, uint32_t n, uint32_t *whole)
{
	uint64_t ticks = 0;
	uint32_t i = 0;

	while (i < n) {
		const int64_t more = operands(record + i, n - i);

		if (more < 0 || more >= n - i)
			break;
		ticks += ticks_of(record[i]);
		i += 1 + (uint32_t)more;
	}
	*whole = i;
	return ticks;
}

/* Aligned 64-bit loads, so that a word its thread rewrites meanwhile is seen
 * old or new, never torn. */
static void copy_words(uint64_t *out, const uint64_t *from, uint32_t n,
		       bool is_live)
{
	if (!is_live) {
		memcpy(out, from, (size_t)n * 8);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		out[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static uint32_t count_now(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* A chunk that its thread did not close ends with its last whole record. */
static void close_unfinished(struct chunk_header *h, const uint64_t *records)
{
	uint32_t whole;
	const uint64_t ticks = finish_walk(records, h->records, &whole);

	h->records = whole;
	h->tick_end = h->tick_begin + ticks;
	h->cpu_end = 0;
}

static void complete_header(struct chunk_header *h,
			    const struct finish_job *job)
{
	h->total_words = CHUNK_HEADER_WORDS + h->records + h->items + h->funcs;
	h->flags &= CHUNK_BASE_UNKNOWN | CHUNK_LAST | CHUNK_GAP | CHUNK_TSC;
	h->flags |= job->flags;
	if (rate_stepped(job->rate, h->pair_tick, h->pair_mono,
			  h->pair_width))
		h->flags |= CHUNK_CLOCK_STEPPED;
	h->reserved0 = 0;
	h->checksum = 0;
}

static bool was_ever_lost(const struct chunk_header *h)
{
	uint64_t any = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		any |= h->lost[i];
	return any != 0;
}

/* When the thread did not run, as an item more. A PARTIAL chunk goes without:
 * what is told once is not kept for the whole one. */
static uint32_t add_switches(struct chunk_header *h,
			     const struct finish_job *job, uint64_t *at,
			     uint32_t funcs)
{
	if (!job->offcpu || h->level != 0 ||
	    (job->flags & CHUNK_PARTIAL) != 0)
		return 0;
	offcpu_read(job->offcpu, job->slot);
	const uint32_t used = CHUNK_HEADER_WORDS + h->records + h->items +
			      funcs;
	const uint32_t words = offcpu_item(job->offcpu, job->slot, h, at,
					   CHUNK_MAX_WORDS - used);

	h->items += words;
	return words;
}

int finish_copy(uint64_t *out, const struct finish_job *job)
{
	const struct chunk_header *const in = (const void *)job->buffer;
	struct chunk_header *const h = (void *)out;
	const uint32_t room = pool_record_room(job->words);
	const uint32_t extra = job->words - CHUNK_HEADER_WORDS - room;
	const bool is_live = (job->flags & CHUNK_PARTIAL) != 0;
	const uint32_t records = count_now(&in->records);
	const uint32_t items = count_now(&in->items);
	const uint32_t funcs = count_now(&in->funcs);

	copy_words(out, job->buffer, CHUNK_HEADER_WORDS, is_live);
	if (records == 0 && job->flags != 0 &&
	    (h->magic != CHUNK_MAGIC || !was_ever_lost(h)))
		return 0;
	if (h->magic != CHUNK_MAGIC || h->version != CHUNK_VERSION ||
	    h->recording != job->recording || records > room ||
	    items > extra || funcs > extra - items || funcs > CHUNK_MAX_FUNCS)
		return -1;
	uint64_t *at = out + CHUNK_HEADER_WORDS;

	copy_words(at, job->buffer + CHUNK_HEADER_WORDS, records, is_live);
	h->records = records;
	h->items = items;
	h->funcs = funcs;
	if (job->flags != 0 || h->tick_end < h->tick_begin)
		close_unfinished(h, at);
	at += h->records;
	copy_words(at, job->buffer + CHUNK_HEADER_WORDS + room, items, is_live);
	at += items;
	h->tick_hz = job->rate->hz;
	h->tick_hz_error = job->rate->error_ppb;
	at += add_switches(h, job, at, funcs);
	/* The dictionary grew down. */
	for (uint32_t i = 0; i < funcs; i++)
		at[i] = job->buffer[job->words - 1 - i];
	complete_header(h, job);
	return (int)h->total_words;
}

void finish_seal(uint64_t *chunk)
{
	struct chunk_header *const h = (void *)chunk;

	h->checksum = 0;
	h->checksum = XXH3_64bits(chunk, (size_t)h->total_words * 8);
}
