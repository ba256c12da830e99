/* meta.c - builds CHUNK_META chunks.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/meta.h"
#include "tracer/recorder/chunk_copy.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* No item type: readers skip what they do not know. */
enum { META_ITEM_PAD = 255 };

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

static uint32_t string_words(size_t length)
{
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;

	return 2 + (uint32_t)((stored + 7) / 8);
}

static void put_string(struct meta *m, const char *text)
{
	const size_t length = strlen(text);
	const uint32_t words = string_words(length);
	uint64_t *const at = m->words + m->n;
	const size_t stored = length < CHUNK_STRING_MAX ? length :
			      CHUNK_STRING_MAX;

	memset(at, 0, words * 8);
	at[0] = string_put(stored, length);
	at[1] = XXH64(text, length, 0);
	memcpy(at + 2, text, stored);
	m->n += words;
}

static void put_item(struct meta *m, enum item_type type, const char *key,
		     const char *value)
{
	const uint32_t words = 1 + string_words(strlen(key)) +
			       string_words(strlen(value));

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

void meta_pad(struct meta *m, uint32_t words)
{
	if (m->n >= words)
		return;
	const uint32_t pad = words - m->n;

	memset(m->words + m->n, 0, (size_t)pad * 8);
	m->words[m->n] = item_put((enum item_type)META_ITEM_PAD, pad);
	m->n = words;
}

uint32_t meta_end(struct meta *m)
{
	struct chunk_header *const h = (void *)m->words;

	h->items = m->n - CHUNK_HEADER_WORDS;
	h->total_words = m->n;
	finish_seal(m->words);
	return m->n;
}
