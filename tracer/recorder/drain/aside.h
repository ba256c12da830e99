/* aside.h - chunks that were copied out of the pool and are still to be sent,
 * the oldest first. To copy a chunk takes a fraction of the time that it takes
 * to send it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A ring: each chunk lies in words[] behind two words that say what it is. The
 * oldest begins at first, the next one goes to head. If both are the same, it
 * is empty. There is one: another thread gets its memory. */
struct aside {
	uint64_t *words;
	size_t room, first, head;  /* in words; room is 0: there is no memory */
	size_t used;               /* the highest head since the last rest */
};

/* At most that many bytes. Address space is taken at once, memory only as it is
 * needed. */
void aside_init(struct aside *a, uint64_t bytes);
bool aside_is_empty(const struct aside *a);
/* Room for CHUNK_MAX_WORDS, valid until the next call; NULL: there is none. */
uint64_t *aside_room(struct aside *a);
/* Keep the chunk that was made there. */
void aside_keep(struct aside *a, uint32_t words);
/* Take the oldest chunk, which is valid until the next call. It must not be
 * empty. */
uint64_t *aside_take(struct aside *a, uint32_t *words);
/* Give back the memory if nothing is in it. */
void aside_rest(struct aside *a);
