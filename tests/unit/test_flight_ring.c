/* test_flight_ring.c - what a flight recorder says of chunks that made room.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/trace/flight_ring.h"

#include <string.h>

struct seen { uint64_t first, n; };

/* Room for 50 chunks. */
static bool make(struct flight_ring *f, struct chunk_queue *b)
{
	const int bad = chunk_queue_init(b, 50 * PACKED_MAX_WORDS * 8);

	flight_ring_init(f, b);
	return bad == 0;
}

static void see(void *ctx, const uint64_t *words, uint32_t n)
{
	struct seen *const s = ctx;

	if (s->n++ == 0)
		s->first = words[0];
	CHECK_EQ(n, PACKED_MAX_WORDS);
}

static void lose(struct flight_ring *f, uint64_t tick, uint64_t all)
{
	struct flight_gone now = { .tick = tick };

	now.lost[LOST_FULL] = all;
	flight_ring_note_lost(f, &now);
}

/* Chunk i ends at tick 10 i. Each fifth may come again. */
static void keep(struct flight_ring *f, struct chunk_queue *b, uint64_t i)
{
	struct chunk_header h = { .tick_end = 10 * i };

	h.flags = i % 5 == 0 ? CHUNK_PARTIAL : 0;
	chunk_queue_room(b, false)[0] = i;
	flight_ring_keep(f, &h, PACKED_MAX_WORDS);
}

/* By its end i records were lost. */
static void put(struct flight_ring *f, struct chunk_queue *b, uint64_t i)
{
	lose(f, 10 * i, i);
	keep(f, b, i);
}

void test_flight_ring_knows_what_is_gone(void)
{
	struct seen seen = { 0 };
	struct flight_gone gone;
	struct flight_ring f;
	struct chunk_queue b;

	REQUIRE(make(&f, &b));
	for (uint64_t i = 1; i <= 20; i++)
		put(&f, &b, i);
	flight_ring_each(&f, 0, &gone, see, &seen);
	CHECK_EQ(seen.n, 20);
	CHECK_EQ(gone.tick, 0);
	CHECK_EQ(gone.lost[LOST_FULL], 0);
	for (uint64_t i = 21; i <= 501; i++)
		put(&f, &b, i);
	seen = (struct seen){ 0 };
	flight_ring_each(&f, 0, &gone, see, &seen);
	CHECK(seen.n >= 50 && seen.n <= 53);
	CHECK_EQ(seen.first, 502 - seen.n);
	CHECK_EQ(gone.lost[LOST_FULL], gone.tick / 10);
	/* One that may come again does not count. */
	CHECK_EQ(gone.tick, 10 * (seen.first - 1 -
				  (seen.first % 5 == 1 ? 1 : 0)));
	/* Not beginnings of what ended before. */
	flight_ring_renew(&f);
	seen = (struct seen){ 0 };
	flight_ring_each(&f, 4900, &gone, see, &seen);
	CHECK_EQ(seen.n, 501 - 489);
	CHECK_EQ(gone.tick, 4890);
	CHECK_EQ(gone.lost[LOST_FULL], 489);
	/* What is open now is there, however old its last record is. */
	put(&f, &b, 505);
	seen = (struct seen){ 0 };
	flight_ring_each(&f, 6000, &gone, see, &seen);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(seen.first, 505);
	CHECK_EQ(gone.tick, 5010);
}

/* The chunk ended at 100 and came after 7 records had been lost. It is gone;
 * they are missing behind it. */
void test_flight_ring_hides_no_loss_before_a_chunk_came(void)
{
	struct seen seen = { 0 };
	struct flight_gone gone;
	static struct flight_ring f;
	struct chunk_queue b;

	REQUIRE(make(&f, &b));
	lose(&f, 90, 2);
	lose(&f, 150, 9);
	keep(&f, &b, 11);
	keep(&f, &b, 12);
	flight_ring_each(&f, 115, &gone, see, &seen);
	CHECK_EQ(seen.n, 1);
	CHECK_EQ(gone.tick, 110);
	CHECK_EQ(gone.lost[LOST_FULL], 2);
}

/* However long the recording lasts. */
void test_flight_ring_remembers_losses_for_long(void)
{
	struct seen seen = { 0 };
	struct flight_gone gone;
	static struct flight_ring f;
	struct chunk_queue b;

	REQUIRE(make(&f, &b));
	for (uint64_t i = 1; i <= 10001; i++)
		put(&f, &b, i);
	flight_ring_each(&f, 0, &gone, see, &seen);
	CHECK(gone.tick > 99000);
	CHECK_EQ(gone.lost[LOST_FULL], gone.tick / 10);
	/* More losses than chunks: never more than was lost by then. */
	for (uint64_t tick = 100011; tick <= 110000; tick++)
		lose(&f, tick, tick / 10);
	f.gone = 100020;
	flight_ring_each(&f, 0, &gone, see, &seen);
	CHECK(gone.lost[LOST_FULL] <= 10002);
	CHECK(gone.lost[LOST_FULL] >= 9000);
}
