/* chunk_queue.c - where in the ring the entries lie. Knows nothing of what they
 * contain.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/chunk_queue.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum { ENTRIES = CHUNK_QUEUE_ENTRIES };

void *chunk_queue_reserve(size_t bytes)
{
	void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int chunk_queue_init(struct chunk_queue *q, size_t bytes)
{
	memset(q, 0, sizeof(*q));
	q->room = bytes / 8 + 2 * PACKED_MAX_WORDS;
	q->words = chunk_queue_reserve(q->room * 8);
	q->entry = chunk_queue_reserve(ENTRIES * sizeof(*q->entry));
	if (q->words && q->entry)
		return 0;
	chunk_queue_fini(q);
	return -1;
}

void chunk_queue_fini(struct chunk_queue *q)
{
	if (q->words)
		munmap(q->words, q->room * 8);
	if (q->entry)
		munmap(q->entry, ENTRIES * sizeof(*q->entry));
	memset(q, 0, sizeof(*q));
}

bool chunk_queue_valid(const struct chunk_queue *q)
{
	unsigned wraps = 0;

	if (q->next - q->from > ENTRIES || q->head > q->room)
		return false;
	for (size_t i = q->from; i < q->next; i++) {
		const struct chunk_queue_entry *const e = chunk_queue_at(q, i);
		const size_t end = i + 1 < q->next ?
				   chunk_queue_at(q, i + 1)->at : q->head;

		wraps += end < e->at;
		if (e->at + e->words > (end < e->at ? q->room : end))
			return false;
	}
	return wraps <= 1 && (wraps == 0 ||
			      q->head <= chunk_queue_at(q, q->from)->at);
}

uint64_t *chunk_queue_room(struct chunk_queue *q, bool keeps)
{
	if (q->from == q->next)
		q->head = 0;
	if (q->head + PACKED_MAX_WORDS > q->room) {
		/* What lies behind head is older than what lies before it. */
		for (; q->from < q->next && chunk_queue_at(q, q->from)->at >=
		     q->head; q->from++)
			if (keeps)
				return NULL;
		if (PACKED_MAX_WORDS > q->room)
			return NULL;
		q->head = 0;
	}
	for (; q->from < q->next; q->from++) {
		const size_t at = chunk_queue_at(q, q->from)->at;

		if (q->next - q->from < ENTRIES && (at < q->head ||
		    at >= q->head + PACKED_MAX_WORDS))
			break;
		if (keeps)
			return NULL;
	}
#ifdef WEFT_CHECKED
	/* It looks at every entry: each time would cost minutes. */
	assert(q->next % 1024 || chunk_queue_valid(q));
#endif
	return q->words + q->head;
}

struct chunk_queue_entry *chunk_queue_keep(struct chunk_queue *q,
					   uint32_t words)
{
	struct chunk_queue_entry *const e = chunk_queue_at(q, q->next++);

	assert(words <= PACKED_MAX_WORDS && q->next - q->from <= ENTRIES);
	*e = (struct chunk_queue_entry){ .at = q->head, .words = words };
	q->head += words;
	q->used = q->head > q->used ? q->head : q->used;
	return e;
}

uint64_t *chunk_queue_oldest(const struct chunk_queue *q, uint32_t *words)
{
	const struct chunk_queue_entry *const e = chunk_queue_at(q, q->from);

	assert(!chunk_queue_is_empty(q));
	*words = e->words;
	return q->words + e->at;
}

void chunk_queue_drop(struct chunk_queue *q)
{
	q->from++;
}

uint64_t chunk_queue_bytes(const struct chunk_queue *q)
{
	uint64_t words = 0;

	for (size_t i = q->from; i < q->next; i++)
		words += chunk_queue_at(q, i)->words;
	return words * 8;
}

void chunk_queue_rest(struct chunk_queue *q)
{
	if (!chunk_queue_is_empty(q) || q->used == 0)
		return;
	madvise(q->words, q->used * 8, MADV_DONTNEED);
	q->used = 0;
}
