/* chunk.h - a thread's open chunk: a buffer of the pool, its header, records
 * and items; a private scrap where the pool has no free buffer. What is lost
 * is counted here. All hook-safe and, where nothing else is said, called
 * busy. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/host/base/break.h"
#include "tracer/host/base/clock.h"
#include "tracer/host/pool/mapped_pool.h"
#include "tracer/host/thread/thread_state.h"

/* Gives up the open chunk without handing it over: it belongs to the parent
 * of a fork. What follows goes to the scrap until a chunk is opened. */
void chunk_disown(struct thread_state *s);

/* Takes the open chunk out of use: what follows goes to the scrap. flags: of
 * its header. Returns whether it is to be handed over to the recorder; then
 * chunk_hand_over does that. False: it was a scrap, which is counted. */
bool chunk_retire(struct thread_state *s, uint32_t flags);
void chunk_hand_over(struct thread_state *s);

/* Claims a buffer, and fills the header; false: there is none, and the scrap
 * stays in place. flags: CHUNK_GAP, CHUNK_BASE_UNKNOWN. The chunk is not
 * complete until the caller sets s->opening.word to 0. */
bool chunk_open(struct thread_state *s, uint32_t flags);

/* Will the open chunk be thrown away? */
INLINE bool chunk_is_scrap(const struct thread_state *s)
{
	return s->buffer == NO_BUFFER;
}

/* The chunk that a handler interrupts when it interrupts this level now. Where
 * the last one has been closed by the level below, and this one has been idle
 * since, it is still that one: nobody knows what the next will say. */
INLINE uint64_t chunk_interrupted(const struct thread_state *s)
{
	return (s->busy & BUSY_CLOSING) != 0 && chunk_is_scrap(s) ?
	       s->scrap_head.number : s->number;
}

/* Counts n losses for this reason. Where a function is waited for, nothing that
 * is lost was wanted. */
INLINE void chunk_count_lost(const struct thread_state *s, enum lost reason,
			     uint64_t n)
{
	if (!s->awaits)
		atomic_fetch_add_explicit(&s->slot->lost[reason], n,
					  memory_order_relaxed);
}

/* ---------------------------------------------------------------- records */

/* Ticks now, never before the last record's: a step back (a move to a CPU whose
 * counter lags) counts as no time and is counted. */
uint64_t chunk_clock_stepped(struct thread_state *s);

INLINE uint64_t chunk_clock(struct thread_state *s)
{
	const uint64_t now = clock_now();

	return likely((int64_t)(now - s->last) >= 0) ? now :
	       chunk_clock_stepped(s);
}

/* How many record words the open chunk has. */
INLINE uint32_t chunk_count(const struct thread_state *s)
{
	return likely(s->at) ? (uint32_t)(s->at - s->records) : 0;
}

/* So many words were written: shows them to the recorder. */
INLINE void chunk_publish(struct thread_state *s, uint32_t words)
{
	barrier();
	s->at += words;
	arch_count_up(s->published, words);
}

/* One word, at at. */
INLINE void chunk_publish_one(struct thread_state *s, uint64_t *at)
{
	barrier();
	ARCH_RENEW(s->at, at + 1, 1);
	arch_count_up(s->published, 1);
}

/* Are there calls without records, so that a chunk lasts until it is closed and
 * not until its last record? */
INLINE bool chunk_lasts(const struct thread_state *s)
{
	return s->counts || s->brief != 0;
}

/* Takes back the last record, an ENTER, and the time until then. */
INLINE void chunk_take_back(struct thread_state *s)
{
	s->last -= rec_gap(s->at[-1]);
	s->at--;
	arch_count_down(s->published);
}

/* Writes one record word. */
INLINE void chunk_put(struct thread_state *s, uint64_t word)
{
	*s->at = word;
	chunk_publish(s, 1);
}

/* Writes a record with its operands, which appear at once. */
INLINE void chunk_put_with(struct thread_state *s, uint64_t word,
			   const uint64_t *operands, uint32_t count)
{
	uint64_t *const to = s->at;

	to[0] = word;
	for (uint32_t i = 0; i < count; i++)
		to[1 + i] = rec_put_value(REC_OPERAND, operands[i] &
						       REC_VALUE_MAX);
	chunk_publish(s, 1 + count);
}

/* The gap from the last record to now, which becomes the time of the last; a
 * gap too long for its field becomes a TIME record. Needs room for two
 * words. */
uint64_t chunk_long_gap(struct thread_state *s, uint64_t gap);

INLINE uint64_t chunk_gap(struct thread_state *s, uint64_t now)
{
	const uint64_t gap = now - s->last;

	s->last = now;
	return likely(gap <= REC_GAP_MAX) ? gap : chunk_long_gap(s, gap);
}

/* Now is when the last record was; *gap: since the one before, in its place in
 * a record. false: nothing was changed, since that is too long for its place,
 * or negative. It is turned there, so that what is too long comes round to the
 * lower end. */
INLINE bool chunk_quick_gap(struct thread_state *s, uint64_t *gap)
{
	const uint64_t now = clock_ticks(), ticks = now - s->last;
	uint64_t turned = ticks << REC_GAP_SHIFT | ticks >> REC_GAP_BITS;

	PIN(turned);
	if (unlikely((turned & ((1 << REC_GAP_SHIFT) - 1)) != 0))
		return false;
	s->last = now;
	*gap = turned;
	return true;
}

/* The last record, enter, becomes the LEAF of a call that lasted so long. */
INLINE void chunk_make_leaf(uint64_t *last, uint64_t enter, uint64_t duration)
{
	uint64_t more = rec_enter_to_leaf(0, duration);

	PIN(more);
	ARCH_RENEW(*last, rec_enter_to_leaf(enter, duration), more);
}

/* ------------------------------------------------------------------ names
 * A function that the open chunk has named is found by its key, at one of two
 * places that are neighbours. */

/* The first of them. */
INLINE uint32_t chunk_place(uint64_t key)
{
	return ARCH_HASH_LOW(key, TABLE_BITS) &
	       (BROKEN(room) ? 63 : UINT32_MAX);
}

/* The key of a place that is empty: 0, as memory is at first, but for the two
 * where a function at 0 would be. */
INLINE uint64_t chunk_no_key(uint32_t place)
{
	return (place | 1) == (chunk_place(0) | 1);
}

/* The entry at the first of them. */
INLINE const struct table_entry *chunk_entry(const struct thread_state *s,
					     uint64_t key)
{
	return (const struct table_entry *)ARCH_AT(s->table, chunk_place(key));
}

/* The one beside it. */
INLINE const struct table_entry *chunk_beside(const struct table_entry *e)
{
	return (const struct table_entry *)((uint64_t)e ^ sizeof(*e));
}

/* The function's entry; NULL: the open chunk has not named it. */
INLINE const struct table_entry *chunk_named(const struct thread_state *s,
					     uint64_t key)
{
	const struct table_entry *e = chunk_entry(s, key);

	if (likely(e->key == key))
		return e;
	e = chunk_beside(e);
	return likely(e->key == key) ? e : NULL;
}

/* The entry of a function that stands there by another key; NULL: none. */
INLINE const struct table_entry *chunk_turned(const struct thread_state *s,
					      uint64_t key, uint64_t turned)
{
	const struct table_entry *const e = chunk_entry(s, key);

	return e->key == turned ? e :
	       chunk_beside(e)->key == turned ? chunk_beside(e) : NULL;
}

/* Is it known in this chunk that the function's calls are left out, or that
 * they are counted? */
INLINE bool chunk_skips(const struct thread_state *s, uint64_t key)
{
	return chunk_turned(s, key, key + KEY_SKIPPED) != NULL;
}

INLINE bool chunk_counts(const struct thread_state *s, uint64_t key)
{
	return chunk_turned(s, key, key | KEY_COUNTED) != NULL;
}

/* Is it named there only because it was open when the chunk was opened? */
INLINE bool chunk_still_opens(const struct thread_state *s, uint64_t key)
{
	return chunk_turned(s, key, key | KEY_STILL_OPEN) != NULL;
}

/* The open chunk has named no function, as far as the table knows. */
void chunk_forget_names(struct thread_state *s);

/* No frame and no call has a node in the open chunk any more: its epoch is
 * another one. Busy, or a handler's calls would be found in the next chunk. */
void chunk_forget_nodes(struct thread_state *s);

/* ------------------------------------------------------------------ items */

/* How many words the open chunk has left for items and dictionary. Not of a
 * scrap. */
INLINE uint32_t chunk_room(const struct thread_state *s)
{
	return s->buffer_words - s->items_at - s->items - s->funcs;
}

/* Room for words in the open chunk's items, or NULL: none left. The caller
 * fills them, head word included, then calls chunk_publish_items. */
uint64_t *chunk_item(struct thread_state *s, uint32_t words);
void chunk_publish_items(struct thread_state *s);

/* Writes the item that says what the function with this index is called, if
 * there is room. */
void chunk_put_hint(struct thread_state *s, uint32_t index, const char *text,
		    uint32_t length);

/* Writes the item of this process. */
void chunk_put_process(struct thread_state *s);

/* Sets a count in the chunk's header, which the recorder may be reading. */
INLINE void chunk_show(uint32_t *field, uint32_t value)
{
	__atomic_store_n(field, value, __ATOMIC_RELEASE);
}

/* The chunk's invariants (thread_state.h). */
bool chunk_valid(const struct thread_state *s);
