/* held.c - chunks with words of their own, and how many hold them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/held.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/chunk/unpack.h"

#include <assert.h>
#include <stdatomic.h>

/* What chunk.holders points to. */
struct held {
	_Atomic uint32_t holders;
	struct chunk chunk;
	uint64_t words[];
};

bool held_is_packed(const void *p)
{
	return memcmp(p, PACKED_MAGIC, sizeof(PACKED_MAGIC) - 1) == 0;
}

/* Not zeroed: nearly all of it is written at once. */
static struct held *held_new(size_t words)
{
	struct held *const h = mem_grow(NULL, 1, sizeof(*h) + words * 8);

	atomic_init(&h->holders, 1);
	return h;
}

/* The words are there: check them. The seal of a packed chunk holds for all of
 * its bytes, so its words need no second checksum. */
static const struct chunk *check(struct held *h, size_t words, bool is_sealed)
{
	if ((is_sealed ? decode_sealed : decode_chunk)(&h->chunk, h->words,
						       words) != 0) {
		mem_free(h);
		return NULL;
	}
	h->chunk.held = h;
	return &h->chunk;
}

static const struct chunk *open_packed(const void *bytes, size_t n,
				       struct packed_head *head,
				       uint32_t *size)
{
	struct held *h;

	if (n < PACKED_HEAD || !packed_read(bytes, head)) {
		*head = (struct packed_head){ .words = 0 };
		err_add("a packed chunk's head is damaged");
		return NULL;
	}
	h = held_new(head->words);
	if (unpack_chunk(h->words, bytes, n, head) < 0) {
		mem_free(h);
		return NULL;
	}
	*size = packed_size(head);
	return check(h, head->words, true);
}

/* Version 1 of the format. The bytes may have any alignment. */
static const struct chunk *open_words(const void *bytes, size_t n,
				      struct packed_head *head, uint32_t *size)
{
	struct chunk_header w = { .total_words = 0 };
	struct held *h;

	*head = (struct packed_head){ .words = 0 };
	if (n >= sizeof(w)) {
		memcpy(&w, bytes, sizeof(w));
		*head = (struct packed_head){
			.words = (uint32_t)w.total_words, .flags = w.flags,
			.recording = w.recording, .process = w.process,
			.thread = w.thread, .level = w.level,
			.number = w.number };
	}
	if (w.total_words < CHUNK_HEADER_WORDS ||
	    w.total_words > CHUNK_MAX_WORDS || w.total_words * 8 > n) {
		err_add("no chunk: %zu bytes", n);
		return NULL;
	}
	*size = (uint32_t)w.total_words * 8;
	h = held_new(head->words);
	memcpy(h->words, bytes, *size);
	return check(h, head->words, false);
}

const struct chunk *held_open(const void *bytes, size_t n,
			      struct packed_head *head, uint32_t *size)
{
	*size = 0;
	return n >= PACKED_HEAD && held_is_packed(bytes) ?
	       open_packed(bytes, n, head, size) :
	       open_words(bytes, n, head, size);
}

const struct chunk *held_keep(const struct chunk *c)
{
	struct held *h = c->held;

	if (h) {
		atomic_fetch_add(&h->holders, 1);
		return c;
	}
	h = held_new(c->n);
	memcpy(h->words, c->words, c->n * 8);
	c = check(h, c->n, true);
	assert(c);
	return c;
}

void held_drop(const struct chunk *c)
{
	if (c && atomic_fetch_sub(&c->held->holders, 1) == 1)
		mem_free(c->held);
}
