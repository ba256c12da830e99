/* test_heap.c - blocks end where they are given back, in whatever thread; two
 * clocks that differ a little do not confuse them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/heap.h"
#include "tests/test.h"

static struct heap h;
static struct session session = { .tick_hz = 1000000000 };
static struct heap_table t;
static const uint8_t threads[] = { 1, 1, 0 };

static void event(uint64_t address, ticks at, uint32_t thread, stack_id stack,
		  uint64_t size)
{
	h.events = mem_grow(h.events, h.count + 1, sizeof(*h.events));
	h.events[h.count] = (struct heap_event){
		.address = address, .at = at, .size = size, .number = h.count,
		.thread = thread, .stack = stack, .takes = stack != 0 };
	h.count++;
}

static void sum_up(ticks from, ticks to)
{
	h.session = &session;
	heap_sum_up(&h, threads, from, to, &t);
}

static struct heap_row row(stack_id stack)
{
	for (size_t i = 0; i < t.count; i++)
		if (t.rows[i].stack == stack)
			return t.rows[i];
	return (struct heap_row){ 0 };
}

static double error_of(struct heap_sum sum)
{
	return cct_heap_error(&sum);
}

static void end(void)
{
	mem_free_all(h.events, t.rows);
	h = (struct heap){ 0 };
}

void test_heap_blocks_end_in_any_thread(void)
{
	event(0x100, 10, 0, 1, 64);
	event(0x100, 30, 1, 0, 0);
	event(0x100, 40, 1, 2, 32);
	event(0x200, 50, 0, 1, 1000);
	event(0x300, 60, 0, 0, 0);
	event(0x400, 70, 2, 1, 5);
	sum_up(0, UINT64_MAX);
	CHECK_EQ(row(1).is.taken.bytes, 1064);
	CHECK_EQ(row(1).is.freed.bytes, 64);
	CHECK_EQ(row(1).lived, 20);
	CHECK_EQ(row(1).is.in_use.bytes, 1000);
	CHECK_EQ(row(2).is.in_use.blocks, 1);
	CHECK_EQ(t.all.is.in_use.bytes, 1032);
	CHECK(t.most.bytes == 1032 && t.most.blocks == 2 && t.most_at == 50);
	CHECK(row(1).at_most.bytes == 1000 && row(2).at_most.blocks == 1);
	CHECK(t.unknown == 1 && t.lost == 0);
	end();
}

/* The most in each fourth of the time from 20 to 60. */
void test_heap_curve(void)
{
	double curve[4] = { 0 };

	h.curve = curve;
	h.parts = 4;
	event(0x100, 10, 0, 1, 64);
	event(0x200, 29, 0, 1, 8);
	event(0x200, 31, 0, 0, 0);
	event(0x300, 50, 0, 1, 100);
	event(0x100, 50, 0, 0, 0);
	event(0x300, 58, 0, 0, 0);
	event(0x300, 90, 0, 1, 900);
	sum_up(20, 60);
	CHECK(curve[0] == 72 && curve[1] == 72);
	CHECK(curve[2] == 64 && curve[3] == 100);
	end();
}

/* The end of a time so long that its parts are no whole numbers. */
void test_heap_curve_of_very_long(void)
{
	double curve[5] = { 0 };

	h.curve = curve;
	h.parts = 4;
	event(0x100, 10, 0, 1, 64);
	sum_up(0, UINT64_C(1) << 62);
	CHECK(curve[3] == 64 && curve[4] == 0);
	end();
}

/* What it grew by from 35 to 65. */
void test_heap_range(void)
{
	event(0x100, 10, 0, 1, 64);
	event(0x200, 20, 0, 1, 8);
	event(0x200, 30, 0, 0, 0);
	event(0x100, 40, 0, 0, 0);
	event(0x100, 50, 0, 1, 100);
	event(0x100, 70, 0, 0, 0);
	event(0x100, 80, 0, 1, 9);
	sum_up(35, 65);
	CHECK(row(1).before.blocks == 1 && row(1).before.bytes == 64);
	CHECK(row(1).is.in_use.blocks == 1 && row(1).is.in_use.bytes == 100);
	CHECK(row(1).is.taken.blocks == 1 && row(1).is.freed.bytes == 64);
	end();
}

static void add_life(void *ctx, const struct heap_life *life)
{
	double *const in_use = ctx;

	in_use[life->stack] += life->to == UINT64_MAX ? life->is.bytes : 0;
}

/* Thread 1 takes at once what thread 0 gives back, as its clock says even
 * before; if that is never given back, it was lost. */
void test_heap_clocks_differ_a_little(void)
{
	double in_use[3] = { 0 };

	event(0x100, 1000, 0, 1, 64);
	event(0x100, 5000, 1, 2, 32);
	event(0x100, 5500, 0, 0, 0);
	event(0x200, 1000, 0, 1, 64);
	event(0x200, 5000, 1, 2, 32);
	event(0x200, 9000, 0, 0, 0);
	h.session = &session;
	heap_each(&h, threads, add_life, in_use);
	CHECK(in_use[1] == 0 && in_use[2] == 32);
	sum_up(0, UINT64_MAX);
	CHECK_EQ(row(1).is.in_use.bytes, 0);
	CHECK_EQ(row(2).is.in_use.bytes, 32);
	CHECK(t.lost == 1 && t.unknown == 0);
	end();
}

/* A block of n bytes has a sample with 1 - exp(-n / mean); to what was seen
 * comes one sample that might have been, once in each sum. */
void test_heap_errors_of_samples(void)
{
	struct note note = { "heap", "1000" };
	struct heap_sum two;

	session.notes = &note;
	session.note_count = 1;
	event(0x100, 10, 0, 1, 1);
	event(0x200, 20, 0, 2, 1000);
	sum_up(0, UINT64_MAX);
	CHECK(row(1).is.taken.bytes > 1000 && row(1).is.taken.bytes < 1001);
	CHECK(row(1).is.taken.blocks > 1000 && row(1).is.taken.blocks < 1001);
	CHECK(error_of(row(1).is.taken) > 1414 &&
	      error_of(row(1).is.taken) < 1415);
	CHECK(row(2).is.in_use.bytes > 1581 && row(2).is.in_use.bytes < 1582);
	two = row(1).is.taken;
	cct_heap_add(&two, &two);
	CHECK(error_of(two) > 1732 && error_of(two) < 1733);
	session.note_count = 0;
	end();
}

static double lasts(stack_id stack, int point)
{
	return row(stack).lasts[point].bytes;
}

static void move(uint64_t from, uint64_t to, ticks at, stack_id stack,
		 uint64_t size)
{
	event(from, at, 0, 0, 0);
	h.events[h.count - 1].moves = true;
	event(to, at, 0, stack, size);
}

/* Garbage goes up and down, and is higher at the end; a block that grows is the
 * same one wherever it is, by its first stack. */
void test_heap_what_lasts(void)
{
	event(0x10, 0, 0, 1, 1000);
	event(0x20, 0, 0, 4, 64);
	for (ticks at = 10; at < 400; at += 10) {
		event(0x1000 * at, at, 0, 2, 10);
		event(0x1000 * at + 8, at, 0, 3, at);
		if (at > 100)
			event(0x1000 * (at - 100) + 8, at, 0, 0, 0);
	}
	move(0x20, 0x28, 90, 5, 128);
	move(0x28, 0x20, 190, 4, 32);
	move(0x20, 0x30, 290, 5, 256);
	event(0x40, 400, 0, 1, 1);
	sum_up(0, 401);
	CHECK_EQ(lasts(1, 1), 1000);
	CHECK_EQ(lasts(1, 2), 1000);
	CHECK_EQ(lasts(2, 0), 0);
	CHECK_EQ(lasts(2, 1), 90);
	CHECK_EQ(lasts(2, 2), 190);
	for (int k = 0; k < HEAP_POINTS; k++) {
		CHECK_EQ(lasts(3, k), 0);
		CHECK_EQ(lasts(5, k), 0);
	}
	CHECK_EQ(lasts(4, 1), 32);
	CHECK_EQ(lasts(4, 2), 32);
	CHECK(row(3).is.in_use.bytes > row(2).is.in_use.bytes);
	end();
}

/* Of a block that is moved away from where thread 1 takes the next one, as its
 * clock says even before. */
/* What grows by moving is of who took it, not of who moved it. */
void test_heap_what_grows_is_of_who_took_it(void)
{
	event(0x1000, 10, 0, 1, 100);
	move(0x1000, 0x2000, 60, 2, 900);
	event(0x3000, 70, 0, 3, 50);
	event(0x4000, 20, 0, 4, 70);
	event(0x4000, 80, 0, 0, 0);
	sum_up(50, 100);
	CHECK_EQ(row(1).grown, 800);
	CHECK_EQ(row(2).grown, 0);
	CHECK_EQ(row(2).is.in_use.bytes, 900);
	CHECK_EQ(row(3).grown, 50);
	CHECK_EQ(row(4).grown, -70);
	end();
}

void test_heap_what_lasts_if_clocks_differ(void)
{
	event(0x10, 0, 0, 3, 1);
	event(0x100, 1000, 0, 1, 64);
	move(0x100, 0x200, 3000, 5, 64);
	event(0x200, 5000, 1, 2, 32);
	move(0x200, 0x300, 5500, 5, 64);
	event(0x10, 10000, 0, 0, 0);
	sum_up(0, UINT64_MAX);
	CHECK_EQ(lasts(1, 1), 64);
	CHECK_EQ(lasts(1, 2), 64);
	CHECK_EQ(row(2).is.in_use.bytes, 32);
	end();
}

/* Whose first place another thread took, that nobody asks for. */
void test_heap_what_lasts_of_another_thread(void)
{
	event(0x10, 0, 0, 3, 1);
	event(0x100, 10, 2, 1, 64);
	move(0x100, 0x200, 20, 5, 64);
	event(0x10, 400, 0, 0, 0);
	sum_up(0, UINT64_MAX);
	CHECK_EQ(row(1).lasts[1].bytes, 0);
	CHECK_EQ(lasts(5, 1), 64);
	CHECK_EQ(t.count, 2);
	end();
}
