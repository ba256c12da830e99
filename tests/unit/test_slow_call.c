/* test_slow_call.c - chunks by hand, one tick a ns: which calls are slow, and
 * how long they are said to have taken.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracepoints/record.h"
#include "tracer/recorder/drain/slow_call.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <stdlib.h>
#include <string.h>

enum { WORK = 0, OTHER = 1, CO = 7 };

static struct slow_calls calls;
static struct rate rate;
static uint64_t chunk[CHUNK_MAX_WORDS];
static uint32_t words;
static struct slow_call_wish wish;
static struct chunk_items items;

static struct chunk_header *head(void)
{
	return (void *)chunk;
}

/* work, at offset 0x10 of a module without a build-id, is of interest. */
static bool set_up(const char *rule)
{
	rate_start(&rate, false);
	wish = (struct slow_call_wish){ 0 };
	return !slow_call_read(&wish, rule) &&
	       slow_calls_init(&calls, &wish, 1, "/nonexistent", NULL,
			       &rate) == 0 &&
	       verdict_set(calls.selection[0].verdicts, VERDICT_SLOTS,
			   verdict_of_native(XXH64("/x", 2, 0), 0x10),
			   VERDICT_SKIP);
}

static void tear_down(void)
{
	free(wish.pattern);
	free(calls.selection[0].skip.all);
	free(calls.selection[0].seen.slot);
}

static void put(uint64_t word)
{
	chunk[words++] = word;
}

static void begin(uint64_t number, uint64_t tick)
{
	memset(chunk, 0, sizeof(chunk));
	head()->thread = 1;
	head()->number = number;
	head()->tick_begin = tick;
	words = CHUNK_HEADER_WORDS;
}

/* The records are complete: the module, a stack of the thread and perhaps of a
 * coroutine, if one of them has a frame with an age, and the dictionary. */
static void end(uint64_t age, uint64_t co_age)
{
	head()->records = words - CHUNK_HEADER_WORDS;
	put(item_put(ITEM_MODULE, 10));
	words += 6;
	put(string_put(2, 2));
	put(0);
	memcpy(&chunk[words++], "/x", 2);
	put(item_put(ITEM_STACK, 4u + (age > 0) + (co_age > 0 ? 3u : 0u)));
	put(co_age > 0 ? 2 : 1);
	put(0);
	put(age > 0);
	if (age)
		put(rec_put(REC_OPERAND, WORK, age));
	if (co_age) {
		put(CO);
		put(1);
		put(rec_put(REC_OPERAND, WORK, co_age));
	}
	head()->items = words - CHUNK_HEADER_WORDS - head()->records;
	put(dict_put_native(0, 0x10));
	put(dict_put_native(0, 0x20));
	head()->funcs = 2;
	chunk_items_read(&items, chunk, words);
	slow_calls_note(&calls, &items, words);
}

/* A coroutine's stack of one call of work comes back. */
static void resume(uint64_t gap, uint64_t slept, uint64_t age)
{
	put(rec_put(REC_RESUME, RESUME_STACK, gap));
	put(rec_put_value(REC_OPERAND, CO));
	put(rec_put_value(REC_OPERAND, slept));
	put(rec_put_value(REC_OPERAND, 1));
	put(rec_put(REC_OPERAND, WORK, age));
}

static void suspend(uint64_t gap, uint32_t reason)
{
	put(rec_put(REC_SUSPEND, reason, gap));
	put(rec_put_value(REC_OPERAND, CO));
}

static bool says(const char *text)
{
	const bool is = strstr(calls.reason, text) != NULL;

	calls.reason[0] = '\0';
	return is;
}

void test_slow_call_reads_rules(void)
{
	static const struct { const char *text; uint64_t ns; bool total; }
	good[] = {
		{ "f > 500ms", 500000000, false },
		{ "f > 1 h", 3600000000000, false },
		{ "f>2s", 2000000000, false },
		{ " total(a*|b) >  1.5 us ", 0, true },
		{ "total(a*|b) > 1.5us", 1500, true },
		{ "operator>(int) > 7ns", 7, false },
	};
	static const char *const bad[] = { "", "f", "f > ", "> 1s", "f > 1x",
					   "f > 0s", "f > -1s", "f > 1e99s" };
	struct slow_call_wish w;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		const char *const why = slow_call_read(&w, good[i].text);

		CHECK_EQ(!why, good[i].ns != 0);
		CHECK_EQ(w.ns, good[i].ns);
		CHECK(why || w.is_total == good[i].total);
		CHECK(i != 5 || strcmp(w.pattern, "operator>(int)") == 0);
		free(w.pattern);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		CHECK(slow_call_read(&w, bad[i]) != NULL);
		free(w.pattern);
	}
}

void test_slow_call_finds_calls(void)
{
	REQUIRE(set_up("work > 1ms"));
	/* 999,999, then 1,000,001 in records; the inner call counts by itself;
	 * one that is unwound, and one of no interest. */
	begin(0, 1000);
	put(rec_put(REC_ENTER, WORK, 0));
	put(rec_put(REC_LEAVE, WORK, 1000000));
	put(rec_put(REC_ENTER, WORK, 5));
	put(rec_put(REC_ENTER, OTHER, 5));
	put(rec_put(REC_LEAVE, OTHER, 999000));
	put(rec_put(REC_LEAVE, WORK, 2000));
	end(0, 0);
	CHECK_EQ(calls.found, 1);
	CHECK(says("work > 1ms: a call took 1.001 ms"));
	begin(1, 3000000);
	put(rec_put(REC_ENTER, WORK, 0));
	put(rec_put_value(REC_TIME, 4000000));
	put(rec_put(REC_UNWIND, UNWIND_JUMP, 0));
	put(rec_put_value(REC_OPERAND, 1));
	put(rec_put(REC_ENTER, OTHER, 0));
	put(rec_put(REC_LEAVE, OTHER, 5000000));
	end(0, 0);
	CHECK_EQ(calls.found, 2);
	CHECK(says("took 4 ms"));
	/* It was open when the chunk began; what is in a snapshot is known. */
	begin(2, 20000000);
	put(rec_put(REC_LEAVE, WORK, 1000));
	end(2000000, 0);
	CHECK(says("took 2.001 ms"));
	calls.after = 20001000;
	chunk_items_read(&items, chunk, words);
	slow_calls_note(&calls, &items, words);
	CHECK_EQ(calls.found, 3);
	tear_down();
}

void test_slow_call_remembers_suspended_time(void)
{
	REQUIRE(set_up("work > 1ms"));
	/* Enters, is suspended for 2 ms in the chunk, and again. */
	begin(0, 1000);
	put(rec_put(REC_RESUME, 0, 0));
	put(rec_put_value(REC_OPERAND, CO));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put(REC_ENTER, WORK, 0));
	suspend(1000, SUSPEND_YIELD);
	resume(2000000, 2000000, 1000);
	suspend(1000, SUSPEND_YIELD);
	end(0, 0);
	CHECK_EQ(calls.found, 0);
	/* 5 ms later it goes on, and is running when the chunk ends. That comes
	 * twice: it was suspended once. */
	begin(1, 10000000);
	resume(0, 5000000, 2000);
	head()->flags = CHUNK_PARTIAL;
	end(0, 0);
	head()->flags = 0;
	chunk_items_read(&items, chunk, words);
	slow_calls_note(&calls, &items, words);
	begin(2, 10001000);
	put(rec_put(REC_LEAVE, WORK, 1000));
	suspend(0, SUSPEND_RETURN);
	end(0, 3000);
	CHECK_EQ(calls.found, 1);
	CHECK(says("took 7.004 ms"));
	tear_down();
	/* The same, where only its own time counts. */
	REQUIRE(set_up("total(work) > 3us"));
	chunk_items_read(&items, chunk, words);
	slow_calls_note(&calls, &items, words);
	CHECK(says("took 4 us"));
	tear_down();
}

static void tail(uint64_t gap)
{
	put(rec_put(REC_UNWIND, UNWIND_TAIL, gap));
	put(rec_put_value(REC_OPERAND, 1));
}

/* A coroutine's outermost call ends with what a tail call has replaced it by,
 * also if that is in a later chunk. */
void test_slow_call_lasts_beyond_a_tail_call(void)
{
	REQUIRE(set_up("work > 1ms"));
	begin(0, 1000);
	put(rec_put(REC_RESUME, 0, 0));
	put(rec_put_value(REC_OPERAND, CO));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put(REC_ENTER, WORK, 0));
	tail(1000);
	put(rec_put(REC_ENTER, OTHER, 0));
	suspend(1000, SUSPEND_YIELD);
	end(0, 0);
	CHECK_EQ(calls.found, 0);
	begin(1, 10000000);
	put(rec_put(REC_RESUME, RESUME_STACK | RESUME_BODY, 0));
	put(rec_put_value(REC_OPERAND, CO));
	put(rec_put_value(REC_OPERAND, 5000000));
	put(rec_put_value(REC_OPERAND, 1));
	put(rec_put(REC_OPERAND, OTHER, 1000));
	put(rec_put(REC_OPERAND, WORK, 2000));
	put(rec_put(REC_LEAVE, OTHER, 1000));
	suspend(0, SUSPEND_RETURN);
	end(0, 0);
	CHECK_EQ(calls.found, 1);
	CHECK(says("took 5.003 ms"));
	tear_down();
}

/* It ends as another outermost call begins that replaces none; and elsewhere a
 * call that is replaced has ended, as in reports. */
void test_slow_call_ends_before_another_outermost_one(void)
{
	REQUIRE(set_up("work > 1ms"));
	begin(0, 1000);
	put(rec_put(REC_RESUME, 0, 0));
	put(rec_put_value(REC_OPERAND, CO));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put_value(REC_OPERAND, 0));
	put(rec_put(REC_ENTER, WORK, 0));
	tail(1000000);
	put(rec_put(REC_ENTER, OTHER, 0));
	put(rec_put(REC_LEAVE, OTHER, 1000000));
	put(rec_put(REC_ENTER, OTHER, 0));
	suspend(5000000, SUSPEND_RETURN);
	put(rec_put(REC_ENTER, WORK, 0));
	tail(1000);
	put(rec_put(REC_ENTER, OTHER, 0));
	put(rec_put(REC_LEAVE, OTHER, 2000000));
	end(0, 0);
	CHECK_EQ(calls.found, 1);
	CHECK(says("took 2 ms"));
	tear_down();
}

/* Whatever lies in a chunk. */
void test_slow_call_survives_nonsense(void)
{
	REQUIRE(set_up("work > 1ns"));
	srand(5);
	for (int i = 0; i < 3000; i++) {
		begin((uint64_t)i, (uint64_t)rand());
		for (int n = rand() % 300; n > 0; n--)
			put((uint64_t)rand() << (rand() % 40) << 4 |
			    (uint64_t)(rand() % 16));
		head()->flags = rand() % 2 ? CHUNK_PARTIAL : 0;
		end((uint64_t)(rand() % 2), (uint64_t)(rand() % 3));
		for (int n = rand() % 9; n > 0; n--)
			chunk[CHUNK_HEADER_WORDS + rand() % (int)(words -
				CHUNK_HEADER_WORDS)] ^= UINT64_C(1) <<
							(rand() % 64);
		chunk_items_read(&items, chunk, words);
	slow_calls_note(&calls, &items, words);
	}
	CHECK(calls.found > 0);
	tear_down();
}
