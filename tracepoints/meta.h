/* meta.h - makes chunks of notes: what a recording's maker says about it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/item.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Write the checksum, XXH3 over the whole chunk with 0 in the checksum's place.
 * total_words must be right. Nothing may be changed after it. */
static inline void chunk_seal(uint64_t *chunk)
{
	struct chunk_header *const h = (void *)chunk;

	h->checksum = 0;
	h->checksum = XXH3_64bits(chunk, (size_t)h->total_words * 8);
}

/* A chunk of notes in the making, in the caller's CHUNK_MAX_WORDS words, which
 * begin with a header and must stay valid until meta_end. */
struct meta {
	uint64_t *words;
	uint32_t n;
};

/* Half of the room is left free: what is reserved in the spill file has room
 * for no more. */
static inline void meta_put(struct meta *m, enum item_type type,
			    const char *key, const char *value)
{
	const size_t k = strlen(key), v = strlen(value);
	const uint32_t words = 1 + item_string_words(k) + item_string_words(v);
	uint64_t *const item = m->words + m->n;

	if (m->n + words > CHUNK_MAX_WORDS / 2)
		return;
	item[0] = item_put(type, words);
	item_put_string(item_put_string(item + 1, key, k), value, v);
	m->n += words;
}

/* Add a note. It is left out if there is no room for it. A long value is cut to
 * CHUNK_STRING_MAX bytes. */
static inline void meta_note(struct meta *m, const char *key, const char *value)
{
	meta_put(m, ITEM_NOTE, key, value);
}

/* Add a label, under the same rules as a note. */
static inline void meta_label(struct meta *m, const char *key,
			      const char *value)
{
	meta_put(m, ITEM_LABEL, key, value);
}

/* A note with a value that is formatted as by printf. */
__attribute__((format(printf, 3, 4)))
static inline void meta_print(struct meta *m, const char *key,
			      const char *format, ...)
{
	char value[CHUNK_STRING_MAX + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	meta_note(m, key, value);
}

/* The counts of what was lost: "lost.full" and so on. */
static inline void meta_lost(struct meta *m, const uint64_t lost[LOST_REASONS])
{
	for (int i = 0; i < LOST_REASONS; i++)
		meta_print(m, lost_reason(i)->key, "%llu",
			   (unsigned long long)lost[i]);
}

/* Add an item as it is. False: there is no room for it. */
static inline bool meta_item(struct meta *m, const uint64_t *item,
			     uint32_t words)
{
	if (words > CHUNK_MAX_WORDS / 2 - m->n)
		return false;
	memcpy(m->words + m->n, item, words * 8);
	m->n += words;
	return true;
}

/* Complete and seal the chunk. Returns its words. */
static inline uint32_t meta_end(struct meta *m)
{
	struct chunk_header *const h = (void *)m->words;

	assert(m->n <= CHUNK_MAX_WORDS);
	h->items = m->n - CHUNK_HEADER_WORDS;
	h->total_words = m->n;
	chunk_seal(m->words);
	return m->n;
}
