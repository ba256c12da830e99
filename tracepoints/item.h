/* item.h - writes the parts of items that have more than one maker: strings,
 * and what names a module. The layout is in chunk.h.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static inline size_t item_stored(size_t length)
{
	return length < CHUNK_STRING_MAX ? length : CHUNK_STRING_MAX;
}

/* The words that a string takes, however much of it is stored. */
static inline uint32_t item_string_words(size_t length)
{
	return (uint32_t)string_item_words((uint32_t)item_stored(length));
}

/* Returns the word after it. */
static inline uint64_t *item_put_string(uint64_t *to, const char *text,
					size_t length)
{
	const size_t kept = item_stored(length);

	to[0] = string_put(kept, length);
	to[1] = XXH64(text, length, 0);
	to += STRING_HEAD_WORDS;
	if (kept > 0) {
		to[(kept - 1) / 8] = 0;
		memcpy(to, text, kept);
	}
	return to + (kept + 7) / 8;
}

static inline uint32_t item_module_words(size_t path_length)
{
	return 4 + BUILD_ID_WORDS + item_string_words(path_length);
}

/* Write an ITEM_MODULE of so many words. id: at most 20 bytes. */
static inline void item_put_module(uint64_t *item, uint32_t number,
				   uint64_t bias, uint64_t size,
				   const uint8_t *id, uint8_t id_size,
				   const char *path, size_t length)
{
	uint8_t *const to = (uint8_t *)&item[4];

	item[0] = item_put(ITEM_MODULE, item_module_words(length));
	item[1] = number;
	item[2] = bias;
	item[3] = size;
	memset(to, 0, BUILD_ID_WORDS * sizeof(*item));
	to[0] = id_size;
	memcpy(to + 1, id, id_size);
	item_put_string(item + 4 + BUILD_ID_WORDS, path, length);
}
