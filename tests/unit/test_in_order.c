/* test_in_order.c - chunks come out once each, the longest of their kind,
 * numbers rising, and nothing waits for ever.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/in/in_order.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"

#include <stdio.h>

static char said[4096]; /* "thread.number/records" of what came out */

static int take(void *ctx, const struct chunk *chunk)
{
	char one[40];

	(void)ctx;
	snprintf(one, sizeof(one), "%s%u.%llu/%u", said[0] ? " " : "",
		 chunk->header.thread, (unsigned long long)chunk->header.number,
		 chunk->header.records);
	strncat(said, one, sizeof(said) - strlen(said) - 1);
	return 0;
}

/* A chunk of some calls of f. */
static enum in_order_result put(struct in_order *o, uint32_t thread,
				uint64_t number, int calls, uint32_t flags)
{
	static struct chunk_build b;
	struct chunk view;

	cb_begin(&b, 1, thread, number, 1000 + number * 100);
	for (int i = 0; i < calls; i++)
		cb_leaf(&b, "f", 1, 1);
	b.header.flags = flags;
	cb_end(&b, 1000 + number * 100 + 100);
	if (decode_chunk(&view, b.words, b.n))
		return IN_ORDER_STOP;
	return in_order_put(o, &view);
}

static struct in_order *start(void)
{
	said[0] = '\0';
	return in_order_new(take, NULL);
}

static void finish(struct in_order *o)
{
	in_order_finish(o);
	in_order_free(o);
}

void test_in_order_gives_on_at_once_what_is_due(void)
{
	struct in_order *const o = start();

	CHECK_EQ(put(o, 1, 0, 3, 0), IN_ORDER_TAKEN);
	CHECK_STR(said, "1.0/3");
	CHECK_EQ(put(o, 2, 0, 1, 0), IN_ORDER_TAKEN);
	CHECK_EQ(put(o, 1, 1, 2, 0), IN_ORDER_TAKEN);
	CHECK_STR(said, "1.0/3 2.0/1 1.1/2");
	CHECK_EQ(in_order_chunks(o), 3);
	finish(o);
}

void test_in_order_swaps_what_came_too_early(void)
{
	struct in_order *const o = start();

	put(o, 1, 1, 1, 0);
	put(o, 1, 2, 2, 0);
	CHECK_STR(said, "");
	put(o, 1, 0, 3, 0);
	CHECK_STR(said, "1.0/3 1.1/1 1.2/2");
	finish(o);
}

void test_in_order_drops_duplicates(void)
{
	struct in_order *const o = start();

	put(o, 1, 0, 3, 0);
	CHECK_EQ(put(o, 1, 0, 3, 0), IN_ORDER_DUPLICATE);
	put(o, 1, 2, 3, 0);
	CHECK_EQ(put(o, 1, 2, 3, 0), IN_ORDER_DUPLICATE);
	finish(o);
	CHECK_STR(said, "1.0/3 1.2/3");
}

void test_in_order_partial_waits_for_its_longer_self(void)
{
	struct in_order *const o = start();

	put(o, 1, 0, 1, CHUNK_PARTIAL);
	put(o, 1, 0, 4, CHUNK_PARTIAL);
	put(o, 1, 0, 2, CHUNK_PARTIAL);
	CHECK_STR(said, "");
	put(o, 1, 0, 6, 0);
	CHECK_STR(said, "1.0/6");
	finish(o);
}

void test_in_order_equal_length_prefers_the_finished_one(void)
{
	struct in_order *const o = start();

	put(o, 1, 0, 4, CHUNK_PARTIAL);
	put(o, 1, 0, 4, CHUNK_LAST);
	CHECK_STR(said, "1.0/4");
	finish(o);
}

void test_in_order_partial_comes_out_at_the_end(void)
{
	struct in_order *const o = start();

	put(o, 1, 0, 4, CHUNK_PARTIAL);
	put(o, 1, 1, 1, 0);
	finish(o);
	CHECK_STR(said, "1.0/4 1.1/1");
}

void test_in_order_gap_does_not_stall(void)
{
	const struct in_key key = { 77, 0, 1, 1, 0 };
	struct in_order *const o = start();
	uint64_t number = 5;

	while (put(o, 1, number, 1, 0) == IN_ORDER_TAKEN && number < 100)
		number++;
	CHECK(number < 30);
	CHECK_STR(said, "");
	CHECK_EQ(in_order_give_up(o, &key), IN_ORDER_TAKEN);
	CHECK_EQ(in_order_chunks(o), number - 4);
	CHECK_EQ(put(o, 1, number + 1, 1, 0), IN_ORDER_TAKEN);
	CHECK_EQ(in_order_chunks(o), number - 3);
	/* What comes after it was given up is no use any more. */
	CHECK_EQ(put(o, 1, 2, 1, 0), IN_ORDER_DUPLICATE);
	finish(o);
}

void test_in_order_knows_what_it_has(void)
{
	struct in_order *const o = start();
	struct in_key key = { 77, 0, 1, 1, 0 };

	CHECK(!in_order_has(o, &key, 99, 0));
	put(o, 1, 0, 2, 0);
	CHECK(in_order_has(o, &key, 99, 0));
	put(o, 1, 3, 2, CHUNK_PARTIAL);
	key.number = 3;
	CHECK(in_order_has(o, &key, 20, 0));
	CHECK(!in_order_has(o, &key, 9999, 0));
	key.number = 2;
	CHECK(!in_order_has(o, &key, 99, 0));
	key.level = 1;
	CHECK(!in_order_has(o, &key, 99, 0));
	finish(o);
}

/* A chunk of records and one node of counted calls. */
static enum in_order_result put_counted(struct in_order *o, int records,
					uint64_t calls, uint32_t flags)
{
	static struct chunk_build b;
	struct chunk view;
	size_t at;

	cb_begin(&b, 1, 1, 0, 1000);
	for (int i = 0; i < records; i++)
		cb_leaf(&b, "f", 1, 1);
	at = cb_func(&b, "f");
	cb_item_word(&b, item_put(ITEM_COUNTED, 4));
	cb_item_word(&b, rec_put((enum rec_kind)COUNTED_CALL, at, 0));
	cb_item_word(&b, calls);
	cb_item_word(&b, 0);
	b.header.flags = flags;
	cb_end(&b, 2000);
	if (!CHECK(decode_chunk(&view, b.words, b.n) == 0))
		return IN_ORDER_STOP;
	return in_order_put(o, &view);
}

/* Counted calls make a chunk longer and add no word to it. */
void test_in_order_of_equal_words_more_counted_calls_win(void)
{
	struct in_order *o = start();

	put_counted(o, 2, 10, CHUNK_PARTIAL);
	put_counted(o, 1, 12, CHUNK_PARTIAL);
	put_counted(o, 2, 11, CHUNK_PARTIAL);
	finish(o);
	CHECK_STR(said, "1.0/1");
	o = start();
	put_counted(o, 3, 10, CHUNK_PARTIAL);
	put_counted(o, 2, 11, 0);
	finish(o);
	CHECK_STR(said, "1.0/2");
}

/* The recorder's names do not wait for its end notes, whose number is lower:
 * there may be more of them than fit into memory. */
void test_in_order_end_notes_come_last_behind_any_names(void)
{
	struct in_order *const o = start();
	const struct in_key end = { 77, META_END, 1, 0, 0 };

	put(o, 0, META_START, 0, CHUNK_META);
	for (uint64_t n = META_NAMES; n < META_NAMES + 3; n++)
		CHECK_EQ(put(o, 0, n, 0, CHUNK_META), IN_ORDER_TAKEN);
	CHECK_STR(said, "0.0/0 0.2/0 0.3/0 0.4/0");
	CHECK(!in_order_has(o, &end, 0, false));
	put(o, 0, META_END, 0, CHUNK_META);
	CHECK(in_order_has(o, &end, 0, false));
	put(o, 0, META_NAMES + 3, 0, CHUNK_META);
	finish(o);
	CHECK_STR(said, "0.0/0 0.2/0 0.3/0 0.4/0 0.5/0 0.1/0");
}
