/* test_offcpu.c - what switches tell of a thread's time, and what they do not.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/process/offcpu.h"

#include <string.h>

#define MS UINT64_C(1000000)

static struct offcpu o;
static uint64_t item[64];
static uint64_t pairs[64];        /* what it says: from and to, and an empty
				   * one after what had no core */
static uint32_t flags;            /* of the chunks to come */

/* The next number in LEB128; 0 at the end. */
static uint64_t number(const uint8_t **at, const uint8_t *end)
{
	uint64_t n = 0, factor = 1;

	while (*at < end) {
		n += **at % 128 * factor;
		factor *= 128;
		if (*(*at)++ < 128)
			break;
	}
	return n;
}

static uint32_t add_pair(uint32_t n, uint64_t from, uint64_t to)
{
	CHECK(n < 31);
	pairs[2 * n] = from;
	pairs[2 * n + 1] = to;
	return n + 1;
}

/* Ticks are ns. Returns how many pairs there are. */
static uint32_t ask(uint64_t from, uint64_t to, uint32_t room)
{
	const struct chunk_header h = { .tick_begin = from, .tick_end = to,
					.tick_hz = 1000000000,
					.flags = flags };
	memset(item, 255, sizeof(item));
	const uint32_t words = offcpu_item(&o, &h, item, room);
	const uint8_t *byte = (const uint8_t *)(item + 3);
	const uint8_t *const end = (const uint8_t *)(item + words);
	uint64_t at = item[1];
	uint32_t n;

	if (words == 0)
		return 0;
	CHECK_EQ(item_words(item[0]), words);
	CHECK(words <= room);
	n = add_pair(0, item[1], item[2]);
	while (byte < end) {
		const uint64_t begin = at + number(&byte, end);
		const uint64_t ready = begin + number(&byte, end);

		at = ready + number(&byte, end);
		if (begin == at)
			break;
		if (begin < ready)
			n = add_pair(n, begin, ready);
		if (ready < at)
			n = add_pair(add_pair(n, ready, at), at, at);
	}
	return n;
}

/* The thread leaves its processor and comes back, in ms. */
static void sleeps(uint64_t from, uint64_t to)
{
	offcpu_switch(&o, OFFCPU_OFF, from * MS);
	offcpu_switch(&o, OFFCPU_ON, to * MS);
}

static void check_pair(uint32_t i, uint64_t from, uint64_t to)
{
	CHECK_EQ(pairs[2 * i], from);
	CHECK_EQ(pairs[2 * i + 1], to);
}

void test_offcpu_first_switch_tells_the_time_before_it(void)
{
	/* It came back: it had slept since it was watched. */
	offcpu_begin(&o, 10 * MS, OFFCPU_OFF);
	offcpu_switch(&o, OFFCPU_ON, 50 * MS);
	offcpu_switch(&o, OFFCPU_OFF, 60 * MS);
	CHECK_EQ(ask(5 * MS, 60 * MS, 64), 2);
	check_pair(0, 10 * MS, 60 * MS);
	check_pair(1, 10 * MS, 50 * MS);
	/* It went: it had run. */
	offcpu_begin(&o, 70 * MS, OFFCPU_UNSEEN);
	sleeps(80, 90);
	CHECK_EQ(ask(60 * MS, 90 * MS, 64), 2);
	check_pair(0, 70 * MS, 90 * MS);
	check_pair(1, 80 * MS, 90 * MS);
	/* It came back, without a core until then, or after a loss. */
	offcpu_begin(&o, 10 * MS, OFFCPU_READY);
	offcpu_switch(&o, OFFCPU_ON, 50 * MS);
	CHECK_EQ(ask(5 * MS, 60 * MS, 64), 3);
	check_pair(1, 10 * MS, 50 * MS);
	check_pair(2, 50 * MS, 50 * MS);
	offcpu_begin(&o, 10 * MS, OFFCPU_UNSEEN);
	offcpu_switch(&o, OFFCPU_ON, 50 * MS);
	offcpu_switch(&o, OFFCPU_OFF, 60 * MS);
	CHECK_EQ(ask(5 * MS, 60 * MS, 64), 1);
	check_pair(0, 50 * MS, 60 * MS);
}

void test_offcpu_without_a_switch_only_records_tell(void)
{
	/* The chunk's last record came before the thread was watched. */
	offcpu_begin(&o, 10 * MS, OFFCPU_OFF);
	CHECK_EQ(ask(5 * MS, 10 * MS + 100, 64), 0);
	offcpu_switch(&o, OFFCPU_ON, 50 * MS);
	CHECK_EQ(ask(10 * MS + 100, 51 * MS, 64), 2);
	check_pair(1, 10 * MS + 100, 50 * MS);
}

void test_offcpu_switch_that_cannot_be_begins_anew(void)
{
	offcpu_begin(&o, 10 * MS, OFFCPU_OFF);
	offcpu_switch(&o, OFFCPU_OFF, 20 * MS);
	sleeps(40, 50);
	offcpu_switch(&o, OFFCPU_OFF, 60 * MS);
	CHECK_EQ(ask(10 * MS, 60 * MS, 64), 2);
	check_pair(0, 40 * MS, 60 * MS);
	check_pair(1, 40 * MS, 50 * MS);
}

/* One that was noted while the ring was read has an earlier time than what is
 * known already. */
void test_offcpu_late_switch_counts(void)
{
	offcpu_begin(&o, 10 * MS, OFFCPU_OFF);
	offcpu_switch(&o, OFFCPU_OFF, 10 * MS - 5);
	offcpu_switch(&o, OFFCPU_ON, 30 * MS);
	CHECK_EQ(ask(10 * MS, 30 * MS, 64), 2);
	check_pair(1, 10 * MS, 30 * MS);
}

void test_offcpu_without_room_the_rest_is_unknown(void)
{
	offcpu_begin(&o, 0, OFFCPU_OFF);
	offcpu_begin(&o, MS, OFFCPU_OFF);
	for (uint64_t i = 1; i <= 4; i++) {
		offcpu_switch(&o, OFFCPU_OFF, 10 * i * MS);
		offcpu_switch(&o, OFFCPU_ON, (10 * i + 5) * MS);
	}
	/* Room for the head, the known time and one span; the last span is
	 * also the next chunk's. */
	CHECK_EQ(ask(MS, 43 * MS, 5), 2);
	check_pair(0, MS, 20 * MS);
	check_pair(1, 10 * MS, 15 * MS);
	CHECK_EQ(ask(43 * MS, 45 * MS, 64), 2);
	check_pair(1, 43 * MS, 45 * MS);
}

/* A thread that fights for a lock has as many switches as records: all of its
 * chunk's have room beside the records, in half of the chunk. */
void test_offcpu_has_room_for_as_many_switches_as_records(void)
{
	enum { RECORDS = 6000, US = 1000 };
	static uint64_t words[CHUNK_MAX_WORDS / 2];
	const struct chunk_header h = { .tick_begin = 1,
		.tick_end = (RECORDS + 1) * 50 * US, .tick_hz = 1000000000 };

	offcpu_begin(&o, 1, OFFCPU_UNSEEN);
	for (uint64_t i = 1; i <= RECORDS; i++) {
		offcpu_switch(&o, i % 2 ? OFFCPU_READY : OFFCPU_OFF,
			      i * 50 * US);
		offcpu_switch(&o, OFFCPU_ON, (i * 50 + 20) * US);
	}
	offcpu_reach(&o, h.tick_end);
	CHECK(offcpu_item(&o, &h, words, CHUNK_MAX_WORDS / 2) > 0);
	CHECK_EQ(words[1], 1);
	CHECK_EQ(words[2], h.tick_end);
}

/* What the switches do not explain of the waits for a core came after sleeps:
 * in equal parts, if these are long enough. */
void test_offcpu_waits_after_sleeps_are_told_by_the_kernels_sum(void)
{
	offcpu_begin(&o, MS, OFFCPU_UNSEEN);
	o.waited = 100 * MS;
	sleeps(10, 20);
	offcpu_switch(&o, OFFCPU_READY, 30 * MS);
	offcpu_switch(&o, OFFCPU_ON, 35 * MS);
	sleeps(40, 41);
	sleeps(50, 60);
	/* 5 ms are known; of 9, the short one takes 1 at most, and the long one
	 * the rest. What came after the kernel was asked waits for the next
	 * answer. */
	offcpu_waited(&o, 45 * MS, 114 * MS);
	CHECK_EQ(o.settled, 3);
	offcpu_waited(&o, 70 * MS, 117 * MS);
	CHECK_EQ(ask(MS, 70 * MS, 64), 11);
	check_pair(1, 10 * MS, 12 * MS);
	check_pair(2, 12 * MS, 20 * MS);
	check_pair(3, 20 * MS, 20 * MS);
	check_pair(4, 30 * MS, 35 * MS);
	check_pair(5, 35 * MS, 35 * MS);
	check_pair(6, 40 * MS, 41 * MS);
	check_pair(7, 41 * MS, 41 * MS);
	check_pair(8, 50 * MS, 57 * MS);
}

/* Without a first answer, or where spans are gone that no answer covers, the
 * next one is only what later ones are compared with. */
void test_offcpu_waits_take_two_answers(void)
{
	offcpu_begin(&o, MS, OFFCPU_UNSEEN);
	sleeps(10, 20);
	offcpu_waited(&o, 25 * MS, 5 * MS);
	CHECK_EQ(ask(MS, 26 * MS, 64), 2);
	sleeps(30, 40);
	CHECK_EQ(ask(26 * MS, 45 * MS, 64), 2);
	sleeps(50, 60);
	offcpu_waited(&o, 65 * MS, 9 * MS);
	CHECK_EQ(ask(45 * MS, 66 * MS, 64), 2);
	check_pair(1, 50 * MS, 60 * MS);
	sleeps(70, 80);
	offcpu_waited(&o, 85 * MS, 12 * MS);
	CHECK_EQ(ask(66 * MS, 90 * MS, 64), 4);
	check_pair(1, 70 * MS, 77 * MS);
	check_pair(2, 77 * MS, 80 * MS);
}

/* It needs room, too: without it, the thread would seem to have slept. */
void test_offcpu_tells_sleep_from_no_core(void)
{
	for (uint32_t room = 6; room >= 5; room--) {
		offcpu_begin(&o, MS, OFFCPU_OFF);
		offcpu_switch(&o, OFFCPU_OFF, 10 * MS);
		offcpu_switch(&o, OFFCPU_ON, 20 * MS);
		offcpu_switch(&o, OFFCPU_READY, 30 * MS);
		offcpu_switch(&o, OFFCPU_ON, 40 * MS);
		CHECK_EQ(ask(MS, 50 * MS, room), room == 6 ? 4 : 2);
		check_pair(0, MS, (room == 6 ? 40 : 30) * MS);
		check_pair(1, 10 * MS, 20 * MS);
	}
	offcpu_begin(&o, MS, OFFCPU_OFF);
	offcpu_switch(&o, OFFCPU_READY, 30 * MS);
	offcpu_switch(&o, OFFCPU_ON, 40 * MS);
	CHECK_EQ(ask(MS, 35 * MS, 64), 3);
	check_pair(1, 30 * MS, 35 * MS);
	check_pair(2, 35 * MS, 35 * MS);
	CHECK_EQ(ask(35 * MS, 50 * MS, 64), 3);
	check_pair(1, 35 * MS, 40 * MS);
	check_pair(2, 40 * MS, 40 * MS);
}

/* A thread that sleeps when recording ends has not given its chunk back. */
void test_offcpu_a_chunk_that_may_come_again_takes_nothing_away(void)
{
	offcpu_begin(&o, 10 * MS, OFFCPU_OFF);
	offcpu_switch(&o, OFFCPU_ON, 20 * MS);
	sleeps(30, 40);
	for (int i = 0; i < 2; i++) {
		flags = CHUNK_PARTIAL;
		CHECK_EQ(ask(5 * MS, 25 * MS, 64), 2);
		check_pair(0, 10 * MS, 25 * MS);
		check_pair(1, 10 * MS, 20 * MS);
	}
	flags = 0;
	CHECK_EQ(ask(5 * MS, 40 * MS, 64), 3);
	check_pair(0, 10 * MS, 40 * MS);
	check_pair(1, 10 * MS, 20 * MS);
	check_pair(2, 30 * MS, 40 * MS);
	CHECK_EQ(o.spans, 0);
}
