/* chunk_queue.h - a ring of chunks in memory, packed or not, back to back. What
 * has no room in it any more is the oldest, or the newest, as its owner wants.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

enum { CHUNK_QUEUE_ENTRIES = 1 << 16 };

struct chunk_queue_entry {
	size_t at;                 /* word */
	uint32_t words;
	bool may_come_again;       /* the owner's: it was open, this is its */
	uint64_t tick;             /* beginning; its end */
};

/* The entries from ... next - 1 lie in words[] in the order of their age,
 * wrapping at the end. None overlaps another, and none lies at head. All zero:
 * it has no room. */
struct chunk_queue {
	uint64_t *words;
	size_t room, head;         /* in words; the next one goes to head */
	size_t used;               /* the highest head since the last rest */
	struct chunk_queue_entry *entry;
	size_t from, next;         /* counted without wrapping */
};

/* Keep at least that many bytes. Returns negative if there is no memory.
 * Address space is taken at once, pages only as they come. */
int chunk_queue_init(struct chunk_queue *q, size_t bytes);
void chunk_queue_fini(struct chunk_queue *q);
/* For assertions: what the comment above says. */
bool chunk_queue_valid(const struct chunk_queue *q);
/* Room for PACKED_MAX_WORDS, valid until the next call of chunk_queue_room or
 * chunk_queue_keep. Removes the oldest entries that are in the way; keeps: or
 * returns NULL if there are any. */
uint64_t *chunk_queue_room(struct chunk_queue *q, bool keeps);
/* Keep the first words of that room. chunk_queue_room must have been called
 * since the last one was kept. */
struct chunk_queue_entry *chunk_queue_keep(struct chunk_queue *q,
					   uint32_t words);
static inline bool chunk_queue_is_empty(const struct chunk_queue *q)
{
	return q->from == q->next;
}
/* The i-th entry, counted without wrapping, and its words. Those before from
 * have no words any more, but the rest of them as long as none is kept. */
static inline struct chunk_queue_entry *
chunk_queue_at(const struct chunk_queue *q, size_t i)
{
	return &q->entry[i % CHUNK_QUEUE_ENTRIES];
}
/* The oldest entry's words; it must not be empty. */
uint64_t *chunk_queue_oldest(const struct chunk_queue *q, uint32_t *words);
/* Remove it. Its words are valid until the next chunk_queue_room. */
void chunk_queue_drop(struct chunk_queue *q);
/* The size of all entries together, in bytes. */
uint64_t chunk_queue_bytes(const struct chunk_queue *q);
/* Give back the memory if it is empty. */
void chunk_queue_rest(struct chunk_queue *q);
/* Address space that takes pages as they are touched. NULL: there is none. */
void *chunk_queue_reserve(size_t bytes);
