/* chunk.h - a thread's open chunk: taking a buffer from the pool, naming
 * functions in it, handing it over. What cannot be recorded is counted here.
 * All hook-safe; needs a state whose busy is set.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_HOST_THREAD_CHUNK_H
#define WEFT_TRACER_HOST_THREAD_CHUNK_H

#include "tracer/host/thread/thread_state.h"

/* Close the open chunk, if any, and open the next one, which carries the open
 * stacks; a private scrap is filled and counted where the pool has no free
 * buffer. flags: CHUNK_GAP, CHUNK_BASE_UNKNOWN for the new chunk. */
void chunk_switch(struct thread_state *s, uint32_t flags);

/* Give up the open chunk without handing it over: it belongs to the parent of
 * a fork. */
void chunk_disown(struct thread_state *s);

/* Hand the open chunk over; the state records into nothing until the next
 * chunk_switch. */
void chunk_close(struct thread_state *s, uint32_t flags);

/* The same, without those of the levels above that name it. */
void chunk_hand_over(struct thread_state *s, uint32_t flags);

/* Is the open chunk a scrap that will be thrown away? */
INLINE int chunk_is_scrap(const struct thread_state *s)
{
	return s->buffer == NO_BUFFER;
}

/* Room for that many record words and the stack that comes with them? If not,
 * switch. Call before frames are pushed or popped: a new chunk carries the
 * stack as it is at that moment. */
INLINE void chunk_need(struct thread_state *s, uint32_t words)
{
	if (unlikely(s->n + words > s->limit + RECORD_SLACK))
		chunk_switch(s, 0);
}

/* The index of a function in the open chunk's dictionary; may switch chunks,
 * so ask before writing and before changing the stack. */
uint32_t chunk_name(struct thread_state *s, uint64_t key,
		    struct table_set *set);

/* The same, without switching: CHUNK_NO_INDEX where there is no room. */
#define CHUNK_NO_INDEX UINT32_MAX
uint32_t chunk_try_name(struct thread_state *s, uint64_t key,
			struct table_set *set);

/* Where the function's index is, if it is known (its key and epoch say so). */
INLINE const struct table_entry *chunk_entries(const struct thread_state *s,
					       uint64_t key)
{
	return s->table[(key * GOLDEN) >> (64 - TABLE_BITS)].entry;
}

INLINE uint32_t chunk_index(struct thread_state *s, uint64_t key)
{
	struct table_set *set = &s->table[(key * GOLDEN) >> (64 - TABLE_BITS)];

	if (likely(set->entry[0].key == key && set->entry[0].epoch == s->epoch))
		return set->entry[0].index;
	if (set->entry[1].key == key && set->entry[1].epoch == s->epoch)
		return set->entry[1].index;
	return chunk_name(s, key, set);
}

/* Room for words in the open chunk's items, or NULL: none left. The caller
 * fills them, head word included, and then calls chunk_publish_items. */
uint64_t *chunk_item(struct thread_state *s, uint32_t words);
void chunk_publish_items(struct thread_state *s);

/* Write count frames as open-frame words, the first being the first-th of total
 * open ones (which decides what a deep stack leaves out); the word after. At
 * most count words are written. */
uint64_t *chunk_put_frames(struct thread_state *s, const struct frame *f,
			   uint32_t count, uint32_t first, uint32_t total,
			   uint64_t *to);

/* Write the item of all open stacks into a chunk that was just opened. */
void chunk_put_stack(struct thread_state *s);

/* Words a string takes; write it, return the word after it. */
uint32_t chunk_string_words(size_t length);
uint64_t *chunk_put_string(uint64_t *to, const char *text, size_t length);

/* Set a count in the chunk's header, which the recorder may be reading. */
INLINE void chunk_show(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELEASE);
}

/* Write one record word and show it to the recorder. */
INLINE void chunk_put(struct thread_state *s, uint64_t word)
{
	const uint32_t n = s->n;

	s->records[n] = word;
	barrier();
	s->n = n + 1;
	atomic_store_explicit(s->published, n + 1, memory_order_release);
}

/* The gap from the last record to now, which it moves on; a gap too long for
 * its field becomes a TIME record. Needs room for two words. */
uint64_t chunk_long_gap(struct thread_state *s, uint64_t gap);

INLINE uint64_t chunk_gap(struct thread_state *s, uint64_t now)
{
	const uint64_t gap = now - s->last;

	s->last = now;
	return likely(gap <= REC_GAP_MAX) ? gap : chunk_long_gap(s, gap);
}

#endif
