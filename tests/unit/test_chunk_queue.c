/* test_chunk_queue.c - what stays in a ring of chunks, and what has no room.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/chunk.h"
#include "tracer/recorder/base/chunk_queue.h"

#include <string.h>

struct seen {
	uint64_t first, last, n;
	bool is_in_order;
};

/* Each chunk's words all hold its number. */
static void see(struct seen *s, const uint64_t *words, uint32_t n)
{
	if (s->n++ == 0)
		s->first = words[0];
	else if (words[0] != s->last + 1)
		s->is_in_order = false;
	for (uint32_t i = 0; i < n; i++)
		if (words[i] != words[0])
			s->is_in_order = false;
	s->last = words[0];
}

static void see_all(const struct chunk_queue *b, struct seen *s)
{
	for (size_t i = b->from; i < b->next; i++)
		see(s, b->words + chunk_queue_at(b, i)->at,
		    chunk_queue_at(b, i)->words);
}

static void put(struct chunk_queue *b, uint64_t number, uint32_t words)
{
	uint64_t *const room = chunk_queue_room(b, false);

	/* All of the room may be written. */
	memset(room, 0xee, PACKED_MAX_WORDS * 8);
	for (uint32_t i = 0; i < words; i++)
		room[i] = number;
	chunk_queue_keep(b, words);
}

void test_chunk_queue_keeps_the_newest(void)
{
	const size_t bytes = 10 * CHUNK_MAX_WORDS * 8;
	struct chunk_queue b;
	uint32_t random = 1;

	REQUIRE(chunk_queue_init(&b, bytes) == 0);
	for (uint64_t i = 1; i <= 600; i++) {
		struct seen s = { .is_in_order = true };

		random = random * 1103515245 + 12345;
		put(&b, i, 32 + (random >> 8) % (CHUNK_MAX_WORDS - 32));
		if (i % 50 != 0)
			continue;
		see_all(&b, &s);
		CHECK(s.is_in_order);
		CHECK_EQ(s.last, i);
		/* 10 full ones would fit; these are half as long. */
		CHECK(s.n >= 9);
		CHECK(chunk_queue_valid(&b));
	}
}

void test_chunk_queue_bears_many_small_ones(void)
{
	struct chunk_queue b;
	struct seen s = { .is_in_order = true };

	REQUIRE(chunk_queue_init(&b, 64 << 20) == 0);
	for (uint64_t i = 1; i <= 70000; i++) {
		uint64_t *const room = chunk_queue_room(&b, false);

		room[0] = i;
		chunk_queue_keep(&b, 1);
	}
	see_all(&b, &s);
	CHECK(s.is_in_order);
	CHECK_EQ(s.last, 70000);
	CHECK_EQ(s.n, 65536);
}

/* Whoever sends keeps all that it was given room for, in order. */
void test_chunk_queue_refuses_what_has_no_room(void)
{
	struct chunk_queue q;
	uint64_t in = 0, out = 0, refused = 0;
	uint32_t words;

	REQUIRE(chunk_queue_init(&q, 4 * CHUNK_MAX_WORDS * 8) == 0);
	for (int i = 0; i < 500; i++) {
		uint64_t *const room = chunk_queue_room(&q, true);

		refused += !room;
		if (room) {
			room[0] = room[CHUNK_MAX_WORDS - 1] = ++in;
			chunk_queue_keep(&q, CHUNK_MAX_WORDS);
		}
		CHECK(chunk_queue_valid(&q));
		if (i % 3 != 0)
			continue;
		const uint64_t *const first = chunk_queue_oldest(&q, &words);

		CHECK_EQ(words, CHUNK_MAX_WORDS);
		CHECK_EQ(first[0], ++out);
		CHECK_EQ(first[words - 1], out);
		chunk_queue_drop(&q);
	}
	CHECK(refused > 100 && in - out >= 4);
	chunk_queue_fini(&q);
	CHECK(!chunk_queue_room(&q, true));
}
