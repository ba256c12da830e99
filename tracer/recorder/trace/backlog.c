/* backlog.c - where in the ring the entries lie. Knows nothing of what they
 * contain.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/backlog.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum { ENTRIES = BACKLOG_ENTRIES };

struct backlog_entry {
	size_t at;
	uint32_t words;
};

/* Pages come as they are touched: a short recording takes what it wrote. */
void *backlog_reserve(size_t bytes)
{
	void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int backlog_init(struct backlog *b, size_t bytes)
{
	memset(b, 0, sizeof(*b));
	b->room = bytes / 8 + 2 * PACKED_MAX_WORDS;
	b->words = backlog_reserve(b->room * 8);
	b->entry = backlog_reserve(ENTRIES * sizeof(*b->entry));
	return b->words && b->entry ? 0 : -1;
}

bool backlog_valid(const struct backlog *b)
{
	unsigned wraps = 0;

	if (b->next - b->from > ENTRIES || b->head > b->room)
		return false;
	for (size_t i = b->from; i < b->next; i++) {
		const struct backlog_entry *const e = &b->entry[i % ENTRIES];
		const size_t end = i + 1 < b->next ?
				   b->entry[(i + 1) % ENTRIES].at : b->head;

		wraps += end < e->at;
		if (e->at + e->words > (end < e->at ? b->room : end))
			return false;
	}
	return wraps <= 1 && (wraps == 0 ||
			      b->head <= b->entry[b->from % ENTRIES].at);
}

uint64_t *backlog_room(struct backlog *b)
{
	if (b->head + PACKED_MAX_WORDS > b->room) {
		/* What lies behind head is older than what lies before it. */
		while (b->from < b->next &&
		       b->entry[b->from % ENTRIES].at >= b->head)
			b->from++;
		b->head = 0;
	}
	while (b->from < b->next) {
		const struct backlog_entry *e = &b->entry[b->from % ENTRIES];

		if (b->next - b->from < ENTRIES && (e->at < b->head ||
		    e->at >= b->head + PACKED_MAX_WORDS))
			break;
		b->from++;
	}
#ifdef WEFT_CHECKED
	/* It looks at every entry: each time would cost minutes. */
	assert(b->next % 1024 || backlog_valid(b));
#endif
	return b->words + b->head;
}

void backlog_keep(struct backlog *b, uint32_t words)
{
	assert(words <= PACKED_MAX_WORDS);
	assert(b->next - b->from < ENTRIES);
	b->entry[b->next++ % ENTRIES] =
		(struct backlog_entry){ b->head, words };
	b->head += words;
}

void backlog_each(const struct backlog *b,
		  void (*call)(void *ctx, const uint64_t *words, uint32_t n),
		  void *ctx)
{
	for (size_t i = b->from; i < b->next; i++) {
		const struct backlog_entry *e = &b->entry[i % ENTRIES];

		call(ctx, b->words + e->at, e->words);
	}
}

uint64_t backlog_bytes(const struct backlog *b)
{
	uint64_t words = 0;

	for (size_t i = b->from; i < b->next; i++)
		words += b->entry[i % ENTRIES].words;
	return words * 8;
}

void backlog_clear(struct backlog *b)
{
	b->from = b->next;
	b->head = 0;
}
