/* test_backlog.c - the ring of chunks that LTTng may not have written yet.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/chunk.h"
#include "tracer/recorder/trace/sink.h"

#include <string.h>

struct seen {
	uint64_t first, last, n;
	bool is_in_order;
};

/* Each chunk's words all hold its number. */
static void see(void *ctx, const uint64_t *words, uint32_t n)
{
	struct seen *const s = ctx;

	if (s->n++ == 0)
		s->first = words[0];
	else if (words[0] != s->last + 1)
		s->is_in_order = false;
	for (uint32_t i = 0; i < n; i++)
		if (words[i] != words[0])
			s->is_in_order = false;
	s->last = words[0];
}

static void put(struct backlog *b, uint64_t number, uint32_t words)
{
	uint64_t *const room = backlog_room(b);

	/* All of the room may be written. */
	memset(room, 0xee, PACKED_MAX_WORDS * 8);
	for (uint32_t i = 0; i < words; i++)
		room[i] = number;
	backlog_keep(b, words);
}

void test_backlog_keeps_the_newest(void)
{
	const size_t bytes = 10 * CHUNK_MAX_WORDS * 8;
	struct backlog b;
	uint32_t random = 1;

	REQUIRE(backlog_init(&b, bytes) == 0);
	for (uint64_t i = 1; i <= 600; i++) {
		struct seen s = { .is_in_order = true };

		random = random * 1103515245 + 12345;
		put(&b, i, 32 + (random >> 8) % (CHUNK_MAX_WORDS - 32));
		if (i % 50 != 0)
			continue;
		backlog_each(&b, see, &s);
		CHECK(s.is_in_order);
		CHECK_EQ(s.last, i);
		/* 10 full ones would fit; these are half as long. */
		CHECK(s.n >= 9);
		CHECK(backlog_valid(&b));
	}
}

void test_backlog_bears_many_small_ones(void)
{
	struct backlog b;
	struct seen s = { .is_in_order = true };

	REQUIRE(backlog_init(&b, 64 << 20) == 0);
	for (uint64_t i = 1; i <= 70000; i++) {
		uint64_t *const room = backlog_room(&b);

		room[0] = i;
		backlog_keep(&b, 1);
	}
	backlog_each(&b, see, &s);
	CHECK(s.is_in_order);
	CHECK_EQ(s.last, 70000);
	CHECK_EQ(s.n, 65536);
	backlog_clear(&b);
	s.n = 0;
	backlog_each(&b, see, &s);
	CHECK_EQ(s.n, 0);
}
