/* test_chunk_copy.c - from a pool buffer to a chunk; buffers that lie.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/record.h"
#include "tracepoints/buffer.h"
#include "tracer/recorder/drain/chunk_copy.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t buffer[POOL_SMALL_WORDS], out[CHUNK_MAX_WORDS];
static struct rate rate;
static struct chunk_items items;

static struct chunk_header *header(void)
{
	return (void *)buffer;
}

static uint64_t *record(uint32_t i)
{
	return buffer + CHUNK_HEADER_WORDS + i;
}

/* A buffer of three records, two item words and three functions. */
static void fill(void)
{
	struct chunk_header *const h = header();

	memset(buffer, 0, sizeof(buffer));
	rate_start(&rate, false);
	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	h->recording = 77;
	h->process = h->thread = 1;
	h->records = 3;
	h->items = 2;
	h->funcs = 3;
	h->tick_begin = 1000;
	h->tick_end = 5000;
	*record(0) = rec_put(REC_ENTER, 0, 10);
	*record(1) = rec_enter_to_leaf(rec_put(REC_ENTER, 1, 20), 5);
	*record(2) = rec_put(REC_LEAVE, 0, 30);
	buffer[CHUNK_HEADER_WORDS + pool_record_room(POOL_SMALL_WORDS)] =
		item_put(ITEM_STACK, 2);
	for (uint32_t i = 0; i < 3; i++)
		buffer[POOL_SMALL_WORDS - 1 - i] = dict_put_code(100 + i);
}

static int copy(uint32_t flags)
{
	const struct chunk_source source = { buffer, POOL_SMALL_WORDS, 77,
					     flags, &rate, NULL, NULL, 0 };

	memset(out, 0xee, sizeof(out));
	return chunk_copy(out, &source, &items);
}

void test_chunk_copy_closes_up(void)
{
	const struct chunk_header *const h = (const void *)out;

	fill();
	CHECK_EQ(copy(0), CHUNK_HEADER_WORDS + 3 + 2 + 3);
	CHECK_EQ(h->total_words, CHUNK_HEADER_WORDS + 8);
	CHECK_EQ(h->tick_end, 5000);
	CHECK_EQ(h->flags, 0);
	CHECK_EQ(out[CHUNK_HEADER_WORDS + 3], item_put(ITEM_STACK, 2));
	/* The dictionary stands the right way round. */
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(out[CHUNK_HEADER_WORDS + 5 + i],
			 dict_put_code(100 + i));
}

/* Nodes lie at the end of the records' room, the first one last. */
static void put_node(uint32_t number, uint64_t calls)
{
	uint64_t *const node = record(pool_record_room(POOL_SMALL_WORDS) -
				      number * COUNTED_WORDS);

	node[0] = rec_put((enum rec_kind)COUNTED_CALL, 1, number - 1);
	node[1] = calls;
	node[2] = 0;
	header()->counted = number;
}

void test_chunk_copy_counted_calls_become_an_item(void)
{
	const struct chunk_header *const h = (const void *)out;
	const uint64_t *const item = out + CHUNK_HEADER_WORDS + 3 + 2;
	const struct chunk_source source = { .buffer = buffer,
					     .words = POOL_SMALL_WORDS };

	fill();
	put_node(1, 5);
	put_node(2, 7);
	CHECK_EQ(copy(0), CHUNK_HEADER_WORDS + 3 + 2 + 7 + 3);
	CHECK_EQ(h->items, 9);
	CHECK_EQ(h->counted, 0);
	CHECK_EQ(item[0], item_put(ITEM_COUNTED, 7));
	CHECK_EQ(item[2], 5);
	CHECK_EQ(rec_gap(item[4]), 1);
	CHECK_EQ(item[5], 7);
	CHECK_EQ(chunk_counted(&source), 12);
}

void test_chunk_copy_counted_calls_alone_are_a_chunk(void)
{
	fill();
	header()->records = 0;
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
	put_node(1, 5);
	CHECK(copy(CHUNK_TAKEN) > 0);
}

/* Other items tell only of what has records. */
void test_chunk_copy_a_state_that_called_nothing_is_a_chunk(void)
{
	uint64_t *const item = buffer + CHUNK_HEADER_WORDS +
			       pool_record_room(POOL_SMALL_WORDS);

	fill();
	header()->records = 0;
	item[0] = item_put(ITEM_PROCESS, 2);
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
	CHECK_EQ(copy(CHUNK_PARTIAL), 0);
	item[2] = item_put(ITEM_VM, 5);
	header()->items = 7;
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK(copy(CHUNK_PARTIAL) > 0);
	/* It does not reach beyond its items, nor stand still in one. */
	header()->items = 2;
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
	item[0] = item_put(ITEM_PROCESS, 0);
	header()->items = 7;
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
}

/* The time of a brief call may lie before the last record, in a gap: then it
 * is there already. */
void test_chunk_copy_an_unfinished_chunk_lasts_until_its_last_brief_call(void)
{
	const struct chunk_header *const h = (const void *)out;
	const uint64_t begin = 1000, records = 10 + 20 + 5 + 30;

	fill();
	header()->tick_end = 0;
	put_node(1, 5);
	record(pool_record_room(POOL_SMALL_WORDS) - COUNTED_WORDS)[2] = 15;
	header()->brief_end = begin + 25;
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK_EQ(h->tick_end, begin + records);
	header()->brief_end = begin + records + 7;
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK_EQ(h->tick_end, begin + records + 7);
	/* Not in times to come. */
	header()->brief_end = UINT64_MAX;
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK(h->tick_end > begin + records && h->tick_end < UINT64_MAX);
}

void test_chunk_copy_refuses_more_nodes_than_there_is_room(void)
{
	fill();
	header()->counted = pool_record_room(POOL_SMALL_WORDS) / COUNTED_WORDS;
	CHECK_EQ(copy(0), -1);
	header()->counted = UINT32_MAX;
	CHECK_EQ(copy(0), -1);
	header()->counted = UINT32_MAX / COUNTED_WORDS + 1;
	CHECK_EQ(copy(0), -1);
}

void test_chunk_seal(void)
{
	struct chunk_header *const h = (void *)out;
	uint64_t sum;

	fill();
	copy(0);
	chunk_seal(out);
	sum = h->checksum;
	CHECK(sum != 0);
	h->checksum = 0;
	CHECK_EQ(sum, XXH3_64bits(out, h->total_words * 8));
}

void test_chunk_copy_ends_unfinished_with_the_last_record(void)
{
	const struct chunk_header *const h = (const void *)out;

	fill();
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK_EQ(h->tick_end, 1000 + 10 + 20 + 5 + 30);
	CHECK_EQ(h->flags, CHUNK_TAKEN);
	CHECK(copy(CHUNK_PARTIAL) > 0);
	CHECK_EQ(h->flags, CHUNK_PARTIAL);
}

void test_chunk_copy_leaves_half_a_record_out(void)
{
	const struct chunk_header *const h = (const void *)out;

	fill();
	header()->records = 6;
	*record(3) = rec_put(REC_RESUME, RESUME_STACK, 7);
	*record(4) = rec_put_value(REC_OPERAND, 1);
	*record(5) = rec_put_value(REC_OPERAND, 0);
	CHECK_EQ(copy(CHUNK_TAKEN), CHUNK_HEADER_WORDS + 3 + 2 + 3);
	CHECK_EQ(h->records, 3);
	/* One whose stack is said to be longer than the chunk. */
	header()->records = 8;
	*record(6) = rec_put_value(REC_OPERAND, UINT64_C(1) << 59);
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK_EQ(h->records, 3);
	/* Whole. */
	*record(6) = rec_put_value(REC_OPERAND, 1);
	*record(7) = rec_put(REC_OPERAND, 0, 3);
	CHECK(copy(CHUNK_TAKEN) > 0);
	CHECK_EQ(h->records, 8);
	CHECK_EQ(h->tick_end, 1000 + 65 + 7);
}

void test_chunk_walk_counts_long_gaps(void)
{
	const uint64_t words[] = { rec_put_value(REC_TIME, UINT64_C(1) << 50),
				   rec_put(REC_ENTER, 0, 3), 0,
				   rec_put(REC_ENTER, 0, 3) };
	uint32_t whole;

	CHECK_EQ(chunk_walk(words, 4, &whole), (INT64_C(1) << 50) + 3);
	/* A word that was never written ends the walk. */
	CHECK_EQ(whole, 2);
}

void test_chunk_copy_refuses_what_does_not_fit(void)
{
	fill();
	header()->records = pool_record_room(POOL_SMALL_WORDS) + 1;
	CHECK(copy(0) < 0);
	fill();
	header()->items = UINT32_MAX;
	CHECK(copy(0) < 0);
	fill();
	header()->items = POOL_SMALL_WORDS - CHUNK_HEADER_WORDS -
			  pool_record_room(POOL_SMALL_WORDS) - 2;
	CHECK(copy(0) < 0);
	fill();
	header()->funcs = UINT32_MAX;
	CHECK(copy(0) < 0);
	fill();
	header()->recording = 78;
	CHECK(copy(0) < 0);
	fill();
	header()->magic = 0;
	CHECK(copy(0) < 0);
}

void test_chunk_copy_takes_the_fullest_buffer(void)
{
	const uint32_t room = pool_record_room(POOL_SMALL_WORDS);

	fill();
	header()->records = room;
	header()->items = POOL_SMALL_WORDS - CHUNK_HEADER_WORDS - room - 3;
	CHECK_EQ(copy(0), POOL_SMALL_WORDS);
}

void test_chunk_copy_drops_the_empty_ones_of_the_dead(void)
{
	fill();
	header()->records = 0;
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
	/* What was lost is worth a chunk. */
	header()->lost[LOST_FULL] = 1;
	CHECK(copy(CHUNK_TAKEN) > 0);
	/* Killed before the header stood. */
	memset(buffer, 0, sizeof(buffer));
	CHECK_EQ(copy(CHUNK_TAKEN), 0);
}

void test_chunk_copy_mistrusts_flags(void)
{
	const struct chunk_header *const h = (const void *)out;

	fill();
	header()->flags = UINT32_MAX;
	header()->counted = 5;
	header()->written = 5;
	CHECK(copy(0) > 0);
	CHECK_EQ(h->flags, CHUNK_BASE_UNKNOWN | CHUNK_LAST | CHUNK_GAP |
			   CHUNK_TSC);
	CHECK_EQ(h->counted, 0);
	CHECK_EQ(h->written, 5);
}
