/* test_recent.c - the ring of chunks LTTng may not have written yet.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/chunk.h"
#include "tracer/recorder/backlog.h"

#include <string.h>

struct seen {
	uint64_t first, last, n;
	bool is_in_order;
};

/* Each chunk's words all hold its number. */
static int see(void *ctx, const uint64_t *words, uint32_t n)
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
	return 0;
}

static void put(struct recent *r, uint64_t number, uint32_t words)
{
	uint64_t *const room = recent_room(r);

	/* All of the room may be written. */
	memset(room, 0xee, CHUNK_MAX_WORDS * 8);
	for (uint32_t i = 0; i < words; i++)
		room[i] = number;
	recent_keep(r, words);
}

void test_recent_keeps_the_newest(void)
{
	const size_t bytes = 10 * CHUNK_MAX_WORDS * 8;
	struct recent r;
	uint32_t random = 1;

	REQUIRE(recent_init(&r, bytes) == 0);
	for (uint64_t i = 1; i <= 3000; i++) {
		struct seen s = { .is_in_order = true };

		random = random * 1103515245 + 12345;
		put(&r, i, 32 + (random >> 8) % (CHUNK_MAX_WORDS - 32));
		if (i % 50 != 0)
			continue;
		recent_each(&r, see, &s);
		CHECK(s.is_in_order);
		CHECK_EQ(s.last, i);
		/* 10 full ones would fit; these are half as long. */
		CHECK(s.n >= 9);
	}
	recent_fini(&r);
}

void test_recent_bears_many_small_ones(void)
{
	struct recent r;
	struct seen s = { .is_in_order = true };

	REQUIRE(recent_init(&r, 64 << 20) == 0);
	for (uint64_t i = 1; i <= 200000; i++) {
		uint64_t *const room = recent_room(&r);

		room[0] = i;
		recent_keep(&r, 1);
	}
	recent_each(&r, see, &s);
	CHECK(s.is_in_order);
	CHECK_EQ(s.last, 200000);
	CHECK_EQ(s.n, 65536);
	recent_forget(&r);
	s.n = 0;
	recent_each(&r, see, &s);
	CHECK_EQ(s.n, 0);
	recent_fini(&r);
}
