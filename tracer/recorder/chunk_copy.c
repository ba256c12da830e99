/* chunk_copy.c - from buffer to chunk. All is read from the pool once, the
 * counts first, and only the copy is used after that.
 * SPDX-License-Identifier: MIT */
#include "tracepoints/record.h"
#include "tracer/recorder/chunk_copy.h"
#include "tracer/recorder/chunk_samples.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- copying a buffer ---- */

/* How many operands follow a record's word. Negative: no record begins so. */
static int64_t operands(const uint64_t *record, uint32_t left)
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

/* How much time passes with a record. */
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

uint64_t chunk_walk(const uint64_t *record, uint32_t n, uint32_t *whole)
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

/* Of a live buffer by aligned 64-bit loads: a word that its thread rewrites
 * meanwhile is read old or new, never torn. */
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

/* Acquire: what is counted was written before the count. */
static uint32_t count_now(const uint32_t *count)
{
	return __atomic_load_n(count, __ATOMIC_ACQUIRE);
}

/* A chunk that its thread did not close ends after its last whole record. */
static void close_unfinished(struct chunk_header *h, const uint64_t *records)
{
	uint32_t whole;
	const uint64_t ticks = chunk_walk(records, h->records, &whole);

	h->records = whole;
	h->tick_end = h->tick_begin + ticks;
	h->cpu_end = 0;
}

/* Write what only the recorder knows, and remove flags that only it may set. */
static void complete_header(struct chunk_header *h,
			    const struct chunk_source *source)
{
	h->total_words = CHUNK_HEADER_WORDS + h->records + h->items + h->funcs;
	h->flags &= CHUNK_BASE_UNKNOWN | CHUNK_LAST | CHUNK_GAP | CHUNK_TSC;
	h->flags |= source->flags;
	if (rate_is_stepped(source->rate, h->pair_tick, h->pair_mono,
			    h->pair_width))
		h->flags |= CHUNK_CLOCK_STEPPED;
	h->counted = 0;
	h->checksum = 0;
}

/* A chunk without records is still needed if its thread has lost something:
 * only its header tells of that. */
static bool was_ever_lost(const struct chunk_header *h)
{
	uint64_t any = 0;

	for (int i = 0; i < LOST_REASONS; i++)
		any |= h->lost[i];
	return any != 0;
}

/* Add what the kernel has noted of the thread, as more items. A PARTIAL chunk
 * has none: what is written once is not kept for the whole chunk. */
static uint32_t add_noted(struct chunk_header *h,
			  const struct chunk_source *source, uint64_t *at,
			  uint32_t funcs)
{
	struct cpu_watch *const w = source->cpu;
	uint32_t room = CHUNK_MAX_WORDS - CHUNK_HEADER_WORDS - h->records -
			h->items - funcs;
	uint32_t words, more;

	if (!w || h->level != 0 || source->slot >= w->slots ||
	    h->tick_hz == 0 || (source->flags & CHUNK_PARTIAL) != 0)
		return 0;
	cpu_watch_read(w, source->slot);
	words = offcpu_item(&w->slot[source->slot].offcpu, h, at, room);
	h->items += words;
	room -= words;
	more = chunk_samples_put(w, source->slot, source->maps,
				 (const uint64_t *)h, at + words, room);
	h->items += more;
	return words + more;
}

/* The nodes of counted calls, which grow down in the buffer, become an item. */
static uint32_t add_counted(struct chunk_header *h,
			    const struct chunk_source *source, uint64_t *at)
{
	const uint64_t *const end = source->buffer + CHUNK_HEADER_WORDS +
				    pool_record_room(source->words);
	const uint32_t n = h->counted, words = 1 + n * COUNTED_WORDS;

	if (n == 0)
		return 0;
	*at++ = item_put(ITEM_COUNTED, words);
	for (uint32_t i = 1; i <= n; i++, at += COUNTED_WORDS)
		copy_words(at, end - i * COUNTED_WORDS, COUNTED_WORDS, true);
	h->items += words;
	return words;
}

/* Copy the records, the items and the dictionary behind a header that was
 * checked. */
static void copy_parts(struct chunk_header *h, uint64_t *at,
		       const struct chunk_source *source)
{
	const uint32_t room = pool_record_room(source->words);
	const bool is_live = (source->flags & CHUNK_PARTIAL) != 0;
	const uint64_t *const records = source->buffer + CHUNK_HEADER_WORDS;
	const uint32_t items = h->items, funcs = h->funcs;

	copy_words(at, records, h->records, is_live);
	if (source->flags != 0 || h->tick_end < h->tick_begin)
		close_unfinished(h, at);
	at += h->records;
	copy_words(at, records + room, items, is_live);
	at += items;
	at += add_counted(h, source, at);
	at += add_noted(h, source, at, funcs);
	/* The dictionary grows down in the buffer. */
	for (uint32_t i = 0; i < funcs; i++)
		at[i] = source->buffer[source->words - 1 - i];
}

int chunk_copy(uint64_t *out, const struct chunk_source *source)
{
	const struct chunk_header *const in = (const void *)source->buffer;
	struct chunk_header *const h = (void *)out;
	const uint32_t room = pool_record_room(source->words);
	const uint32_t extra = source->words - CHUNK_HEADER_WORDS - room;
	const uint32_t records = count_now(&in->records);
	const uint32_t items = count_now(&in->items);
	const uint32_t funcs = count_now(&in->funcs);
	const uint32_t counted = count_now(&in->counted);

	copy_words(out, source->buffer, CHUNK_HEADER_WORDS,
		   (source->flags & CHUNK_PARTIAL) != 0);
	if (records == 0 && counted == 0 && source->flags != 0 &&
	    (h->magic != CHUNK_MAGIC || !was_ever_lost(h)))
		return 0;
	if (h->magic != CHUNK_MAGIC || h->version != CHUNK_VERSION ||
	    h->recording != source->recording || records > room ||
	    items > extra || funcs > extra - items ||
	    funcs > CHUNK_MAX_FUNCS ||
	    (counted > 0 && (counted > room / COUNTED_WORDS ||
			     counted * COUNTED_WORDS + 1 > room - records)))
		return -1;
	h->records = records;
	h->items = items;
	h->funcs = funcs;
	h->counted = counted;
	h->tick_hz = source->rate->hz;
	h->tick_hz_error = source->rate->error_ppb;
	copy_parts(h, out + CHUNK_HEADER_WORDS, source);
	complete_header(h, source);
	assert(h->total_words <= CHUNK_MAX_WORDS);
	return (int)h->total_words;
}

uint64_t chunk_counted(const struct chunk_source *source)
{
	const struct chunk_header *const in = (const void *)source->buffer;
	const uint32_t room = pool_record_room(source->words);
	const uint64_t *node = source->buffer + CHUNK_HEADER_WORDS + room;
	uint32_t n = count_now(&in->counted);
	uint64_t calls = 0;

	for (n = n < room / COUNTED_WORDS ? n : 0; n > 0; n--) {
		node -= COUNTED_WORDS;
		if (rec_kind(node[0]) == (enum rec_kind)COUNTED_CALL)
			calls += __atomic_load_n(&node[1], __ATOMIC_RELAXED);
	}
	return calls;
}

void chunk_seal(uint64_t *chunk)
{
	struct chunk_header *const h = (void *)chunk;

	h->checksum = 0;
	h->checksum = XXH3_64bits(chunk, (size_t)h->total_words * 8);
}

/* ---- chunks of notes ---- */

void meta_begin(struct meta *m, uint64_t *words, uint64_t recording,
		uint64_t number, const struct rate *rate)
{
	struct chunk_header *const h = (void *)words;
	struct rate_pair now;

	rate_read(rate, &now);
	memset(h, 0, sizeof(*h));
	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	h->flags = CHUNK_META | (rate->tsc ? (unsigned)CHUNK_TSC : 0u);
	h->recording = recording;
	h->pid = h->tid = (uint32_t)getpid();
	h->number = number;
	h->tick_begin = h->tick_end = h->pair_tick = now.tick;
	h->pair_mono = now.mono;
	h->pair_real = now.real;
	h->pair_width = now.width;
	h->process_start = now.real;
	h->tick_hz = rate->hz;
	h->tick_hz_error = rate->error_ppb;
	memcpy(h->thread_name, "weft-record", 11);
	m->words = words;
	m->n = CHUNK_HEADER_WORDS;
}

static size_t stored_bytes(const char *text)
{
	return strnlen(text, CHUNK_STRING_MAX);
}

static uint32_t string_words(const char *text)
{
	return 2 + (uint32_t)((stored_bytes(text) + 7) / 8);
}

static void put_string(struct meta *m, const char *text)
{
	const size_t length = strlen(text);
	const size_t stored = stored_bytes(text);
	const uint32_t words = string_words(text);
	uint64_t *const at = m->words + m->n;

	memset(at, 0, words * 8);
	at[0] = string_put(stored, length);
	at[1] = XXH64(text, length, 0);
	memcpy(at + 2, text, stored);
	m->n += words;
}

/* Half of the room is left free: what is reserved in the spill file has room
 * for no more. */
static void put_item(struct meta *m, enum item_type type, const char *key,
		     const char *value)
{
	const uint32_t words = 1 + string_words(key) + string_words(value);

	if (m->n + words > CHUNK_MAX_WORDS / 2)
		return;
	m->words[m->n++] = item_put(type, words);
	put_string(m, key);
	put_string(m, value);
}

void meta_note(struct meta *m, const char *key, const char *value)
{
	put_item(m, ITEM_NOTE, key, value);
}

void meta_label(struct meta *m, const char *key, const char *value)
{
	put_item(m, ITEM_LABEL, key, value);
}

void meta_print(struct meta *m, const char *key, const char *format, ...)
{
	char value[CHUNK_STRING_MAX + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	meta_note(m, key, value);
}

bool meta_item(struct meta *m, const uint64_t *item, uint32_t words)
{
	if (words > CHUNK_MAX_WORDS / 2 - m->n)
		return false;
	memcpy(m->words + m->n, item, words * 8);
	m->n += words;
	return true;
}

uint32_t meta_end(struct meta *m)
{
	struct chunk_header *const h = (void *)m->words;

	assert(m->n <= CHUNK_MAX_WORDS);
	h->items = m->n - CHUNK_HEADER_WORDS;
	h->total_words = m->n;
	chunk_seal(m->words);
	return m->n;
}
