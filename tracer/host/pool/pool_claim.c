/* pool_claim.c - buffers of the pool, taken and given back. Several processes, all
 * their threads and the recorder do so at once: by one word a buffer.
 * SPDX-License-Identifier: MIT */
#include "tracer/host/pool/pool_claim.h"
#include "tracer/host/pool/process.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Always the first free one: a pool that is drained in time then uses few of
 * its buffers, again and again, which stay in the caches and need no new page
 * of this process. */
static uint32_t claim_in(uint32_t first, uint32_t count, uint32_t slot)
{
	for (uint32_t i = 0; i < count; i++) {
		_Atomic uint64_t *const at = &process_view.states[first + i];
		uint64_t word = atomic_load_explicit(at, memory_order_relaxed);

		if (buffer_state(word) == BUFFER_FREE &&
		    atomic_compare_exchange_strong(at, &word, buffer_word(
			    BUFFER_FILLING, slot, buffer_generation(word))))
			return first + i;
	}
	return NO_BUFFER;
}

uint64_t *pool_claim_words(uint32_t b)
{
	return b < process_view.small_count ?
	       process_view.small + (size_t)b * POOL_SMALL_WORDS :
	       process_view.big + (size_t)(b - process_view.small_count) *
				  POOL_BIG_WORDS;
}

/* The flight recorder: take the full buffer that was closed first. */
static uint32_t claim_oldest(uint32_t slot)
{
	for (int tries = 0; tries < 3; tries++) {
		uint64_t oldest = UINT64_MAX, word = 0;
		uint32_t best = NO_BUFFER;
		const uint32_t all = process_view.small_count +
				     process_view.big_count;

		for (uint32_t b = process_view.small_count; b < all; b++) {
			const uint64_t w = atomic_load(&process_view.states[b]);
			const struct chunk_header *h =
				(const void *)pool_claim_words(b);

			if (buffer_state(w) == BUFFER_FULL &&
			    h->tick_end < oldest) {
				oldest = h->tick_end;
				best = b;
				word = w;
			}
		}
		if (best == NO_BUFFER)
			return NO_BUFFER;
		if (atomic_compare_exchange_strong(&process_view.states[best],
			    &word, buffer_word(BUFFER_FILLING, slot,
						    buffer_generation(word) +
						    1)))
			return best;
	}
	return NO_BUFFER;
}

static uint32_t claim_free(const struct thread_state *s, int big)
{
	uint32_t b = NO_BUFFER;

	for (int i = 0; i < 2 && b == NO_BUFFER; i++, big = !big) {
		b = big ? claim_in(process_view.small_count,
				   process_view.big_count, s->slot_index) :
			  claim_in(0, process_view.small_count, s->slot_index);
	}
	return b;
}

/* Has the recorder died? The kernel says so in its robust mutex. */
static int recorder_dead(void)
{
	const int lock = __atomic_load_n((int *)&process_pool->recorder,
					 __ATOMIC_RELAXED);

	return lock == 0 || (lock & 0x40000000) != 0;
}

uint32_t pool_claim(const struct thread_state *s, int big)
{
	const struct timespec pause = { 0, 200000 };
	uint32_t b = claim_free(s, big);

	if (b != NO_BUFFER || process_pool->on_full == POOL_DROP)
		return b;
	if (process_pool->on_full == POOL_OVERWRITE)
		return claim_oldest(s->slot_index);
	while (b == NO_BUFFER && !recorder_dead()) {
		/* nanosleep() itself would be a place to be cancelled at. */
		syscall(SYS_nanosleep, &pause, NULL);
		b = claim_free(s, big);
	}
	return b;
}

void pool_claim_release(uint32_t b, uint64_t word, enum buffer_state state)
{
	const uint32_t slot = state == BUFFER_FULL ? buffer_slot(word) : 0;

	if (word != 0)
		atomic_compare_exchange_strong(&process_view.states[b], &word,
			buffer_word(state, slot, buffer_generation(word)));
}
