/* test_child.c - a reading process that crashes, hangs, takes too long or asks
 * for all memory is seen to, and what it read before is not lost.
 * links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/child.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum { WELL, HANG, ABORT, DEVOUR, LEAVE, FLOOD, LARGE } how;

/* Volatile, so that the compiler does not leave malloc out. */
static void *volatile devoured;
static volatile int stay = 1;

static void misbehave(const void *ctx, FILE *to)
{
	(void)ctx;
	for (uint64_t i = 0; i < 100; i++)
		child_send(to, "n", 1, &i, sizeof(i));
	fflush(to);
	while (how == HANG && stay)
		;
	while (how == FLOOD)
		child_send(to, "", 0, "", 1);
	if (how == LARGE)
		child_send(to, "01234567", 8, "89", 2);
	if (how == DEVOUR)
		devoured = malloc((size_t)1 << 34);
	if (how == ABORT || (how == DEVOUR && !devoured))
		abort();
	if (how == LEAVE)
		_exit(1);
}

static uint64_t count;

static int take(void *ctx, const char *message, size_t size)
{
	(void)ctx;
	if (size == 1)
		return 0;
	CHECK_EQ(size, 1 + sizeof(count));
	CHECK_EQ(memcmp(message + 1, &count, sizeof(count)), 0);
	count++;
	return 0;
}

/* Run all; the messages must come in order. */
static int run(unsigned seconds, const char **why)
{
	static char text[CHILD_WHY];
	const struct child_job job = {
		.what = "it", .work = misbehave, .take = take, .most = 9,
		.bytes = 1 << 16, .memory = 1 << 30, .seconds = seconds };
	int got;

	count = 0;
	text[0] = '\0';
	got = child_run(&job, text);
	CHECK_EQ(count, 100);
	*why = text;
	return got;
}

void test_child_is_heard_to_the_end(void)
{
	const char *why;

	how = WELL;
	CHECK_EQ(run(0, &why), 0);
	CHECK_EQ(run(60, &why), 0);
}

void test_child_that_hangs_is_ended(void)
{
	const char *why;

	how = HANG;
	CHECK_EQ(run(0, &why), -1);
	CHECK_STR(why, "it hung");
	CHECK_EQ(run(1, &why), -1);
	CHECK_STR(why, "it took too long");
}

void test_child_that_crashes_is_told(void)
{
	const char *why;

	how = ABORT;
	CHECK_EQ(run(0, &why), -1);
	CHECK(strstr(why, "it crashed"));
	how = LEAVE;
	CHECK_EQ(run(0, &why), -1);
	CHECK_STR(why, "it failed");
}

void test_child_may_not_devour_memory(void)
{
	const char *why;

	if (getenv("EMULATED"))
		test_skip("emulated: memory has no limit");
	how = DEVOUR;
	CHECK_EQ(run(0, &why), -1);
}

void test_child_may_not_send_what_it_likes(void)
{
	const char *why;

	how = FLOOD;
	CHECK_EQ(run(0, &why), -1);
	CHECK_STR(why, "it sent too much");
	how = LARGE;
	CHECK_EQ(run(0, &why), -1);
	CHECK_STR(why, "it sent nonsense");
}
