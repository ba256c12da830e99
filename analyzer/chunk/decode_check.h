/* decode_check.h - what view.c and view_items.c tell each other while a chunk is
 * being checked.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CHUNK_DECODE_CHECK_H
#define WEFT_ANALYZER_CHUNK_DECODE_CHECK_H

#include "analyzer/chunk/decode.h"

/* Sets of item offsets and of module numbers, a bit each. */
struct decode_marks {
	uint64_t lua[CHUNK_MAX_WORDS / 64], name[CHUNK_MAX_WORDS / 64];
	uint64_t module[DICT_MAX_MODULES / 64];
	const uint64_t *stack;   /* the ITEM_STACK's head word, or NULL */
};

static inline int is_marked(const uint64_t *set, uint64_t i)
{
	return (int)(set[i / 64] >> (i % 64) & 1);
}

static inline void set_mark(uint64_t *set, uint64_t i)
{
	set[i / 64] |= UINT64_C(1) << (i % 64);
}

/* Check all items and collect what the dictionary may point to. */
int check_items(const struct chunk *, struct decode_marks *);
/* Check n open-frame words. */
int check_frames(const struct chunk *, const uint64_t *frame,
		      size_t n);

#endif
