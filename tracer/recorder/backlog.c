/* backlog.c - a ring of whole chunks.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/backlog.h"
#include "tracepoints/chunk.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum { ENTRIES = 1 << 16 };

struct recent_entry {
	size_t at;
	uint32_t words;
};

/* Pages come as they are touched: a short recording pays for what it wrote. */
static void *reserve(size_t bytes)
{
	void *const p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int recent_init(struct recent *r, size_t bytes)
{
	memset(r, 0, sizeof(*r));
	r->room = bytes / 8 + 2 * CHUNK_MAX_WORDS;
	r->words = reserve(r->room * 8);
	r->entry = reserve(ENTRIES * sizeof(*r->entry));
	return r->words && r->entry ? 0 : -1;
}

void recent_fini(struct recent *r)
{
	if (r->words)
		munmap(r->words, r->room * 8);
	if (r->entry)
		munmap(r->entry, ENTRIES * sizeof(*r->entry));
	memset(r, 0, sizeof(*r));
}

uint64_t *recent_room(struct recent *r)
{
	if (r->head + CHUNK_MAX_WORDS > r->room) {
		/* What lies behind head is older than what lies before it. */
		while (r->from < r->next &&
		       r->entry[r->from % ENTRIES].at >= r->head)
			r->from++;
		r->head = 0;
	}
	while (r->from < r->next) {
		const struct recent_entry *e = &r->entry[r->from % ENTRIES];

		if (r->next - r->from < ENTRIES && (e->at < r->head ||
		    e->at >= r->head + CHUNK_MAX_WORDS))
			break;
		r->from++;
	}
	return r->words + r->head;
}

void recent_keep(struct recent *r, uint32_t words)
{
	assert(words <= CHUNK_MAX_WORDS);
	r->entry[r->next++ % ENTRIES] =
		(struct recent_entry){ r->head, words };
	r->head += words;
}

void recent_each(const struct recent *r,
		 int (*call)(void *ctx, const uint64_t *words, uint32_t n),
		 void *ctx)
{
	for (size_t i = r->from; i < r->next; i++) {
		const struct recent_entry *e = &r->entry[i % ENTRIES];

		if (call(ctx, r->words + e->at, e->words) != 0)
			return;
	}
}

uint64_t recent_bytes(const struct recent *r)
{
	uint64_t words = 0;

	for (size_t i = r->from; i < r->next; i++)
		words += r->entry[i % ENTRIES].words;
	return words * 8;
}

void recent_forget(struct recent *r)
{
	r->from = r->next;
	r->head = 0;
}
