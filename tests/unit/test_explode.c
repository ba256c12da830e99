/* test_explode.c - events come out of chunks in the order of time over all
 * threads, in pairs, and say how late they are.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/explode/explode.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"

#include <stdio.h>

static char said[4096];

/* "kind thread@ns" of the events there are so far. */
static void drain(struct explode *x, int wanted)
{
	static const char *const kinds[EXPLODE_KINDS] = {
		"enter", "exit", "call", "return", "resume", "suspend", "mark"
	};
	struct explode_event e;
	int got;

	said[0] = '\0';
	while ((got = explode_next(x, &e)) > 0) {
		char one[80];

		snprintf(one, sizeof(one), "%s%s %u@%llu",
			 said[0] ? ", " : "", kinds[e.kind],
			 e.at.thread_serial, (unsigned long long)e.ns);
		if (e.late_by)
			snprintf(one + strlen(one), 24, "-%llu",
				 (unsigned long long)e.late_by);
		strncat(said, one, sizeof(said) - strlen(said) - 1);
	}
	CHECK_EQ(got, wanted);
}

/* One clock for all: tick t is t ns after the epoch. */
static struct chunk_build *chunk(uint32_t thread, uint64_t number,
				 uint64_t tick)
{
	static struct chunk_build b;

	cb_begin(&b, 1, thread, number, tick);
	b.header.pair_tick = b.header.pair_real = 0;
	return &b;
}

static void put(struct explode *x, struct chunk_build *b, uint64_t end)
{
	struct chunk view;

	cb_end(b, end);
	REQUIRE(decode_chunk(&view, b->words, b->n) == 0);
	explode_put(x, &view);
}

void test_explode_merges_threads(void)
{
	struct explode *const x = explode_new(1000000);
	struct chunk_build *b = chunk(1, 0, 100);

	cb_enter(b, "f", 10);
	cb_leave(b, "f", 100);
	put(x, b, 300);
	b = chunk(2, 0, 90);
	cb_leaf(b, "g", 60, 20);
	cb_mark(b, "here", 80);
	put(x, b, 300);
	drain(x, 0);
	CHECK_STR(said, "");
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 1@110, call 2@150, return 2@170, return 1@210, "
		  "mark 2@250");
	explode_free(x);
}

void test_explode_long_and_short_chunks_merge(void)
{
	struct explode *const x = explode_new(1000);
	struct chunk_build *b = chunk(1, 0, 0);

	cb_leaf(b, "f", 95, 10);
	put(x, b, 200);
	for (uint64_t i = 0; i < 4; i++) {
		b = chunk(2, i, i * 50);
		cb_leaf(b, "g", 10, 10);
		put(x, b, i * 50 + 50);
	}
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 2@10, return 2@20, call 2@60, return 2@70, "
		  "call 1@95, return 1@105, call 2@110, return 2@120, "
		  "call 2@160, return 2@170");
	explode_free(x);
}

void test_explode_handlers_stand_in_what_they_interrupted(void)
{
	struct explode *const x = explode_new(1000);
	struct chunk_build *b = chunk(1, 0, 50);

	cb_leaf(b, "handler", 10, 10);
	b->header.level = 1;
	b->header.interrupted_chunk = 0;
	b->header.interrupted_record = 1;
	put(x, b, 80);
	b = chunk(1, 0, 0);
	cb_enter(b, "f", 20);
	cb_leave(b, "f", 100);
	put(x, b, 200);
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 1@20, call 1@60, return 1@70, return 1@120");
	explode_free(x);
}

void test_explode_window_lets_go(void)
{
	struct explode *const x = explode_new(100);
	struct chunk_build *b = chunk(1, 0, 100);

	cb_leaf(b, "f", 10, 10);
	put(x, b, 150);
	drain(x, 0);
	CHECK_STR(said, "");
	b = chunk(1, 1, 150);
	cb_leaf(b, "f", 100, 10);
	put(x, b, 300);
	drain(x, 0);
	CHECK_STR(said, "call 1@110, return 1@120");
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 1@250, return 1@260");
	explode_free(x);
}

void test_explode_says_what_is_late(void)
{
	struct explode *const x = explode_new(100);
	struct chunk_build *b = chunk(1, 0, 1000);

	cb_leaf(b, "f", 100, 10);
	put(x, b, 2000);
	drain(x, 0);
	CHECK_STR(said, "call 1@1100, return 1@1110");
	b = chunk(2, 0, 1000);
	cb_leaf(b, "g", 50, 20);
	put(x, b, 1500);
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 2@1110-60, return 2@1110-40");
	explode_free(x);
}

void test_explode_shows_coroutines(void)
{
	struct explode *const x = explode_new(100);
	struct chunk_build *b = chunk(1, 0, 0);

	cb_resume(b, 9, 0, 0, 0, 10);
	cb_enter(b, "body", 10);
	cb_suspend(b, 9, SUSPEND_YIELD, 10);
	cb_resume(b, 9, 0, 70, 0, 70);
	cb_leave(b, "body", 10);
	cb_suspend(b, 9, SUSPEND_RETURN, 10);
	b->header.flags = CHUNK_LAST;
	put(x, b, 200);
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "resume 1@10, call 1@20, suspend 1@30, resume 1@100, "
		  "return 1@110, suspend 1@120");
	explode_free(x);
}

void test_explode_pairs_what_stays_open(void)
{
	struct explode *const x = explode_new(100);
	struct chunk_build *const b = chunk(1, 0, 0);

	cb_enter(b, "f", 10);
	put(x, b, 200);
	explode_end(x);
	drain(x, -1);
	CHECK_STR(said, "call 1@10, return 1@200");
	explode_free(x);
}
