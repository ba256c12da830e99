/* test_in_child.c - a reading process that crashes, hangs, or asks for all
 * memory is seen to, and what it read before is not lost.
 * links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_child.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum { WELL, HANG, ABORT, DEVOUR, LEAVE, SAY } how;

/* Volatile, so that the compiler does not leave malloc out. */
static void *volatile devoured;

static void misbehave(struct in_ring *ring, const struct in_source *sources,
		      size_t count)
{
	(void)sources;
	(void)count;
	for (uint64_t i = 0; i < 100; i++) {
		memcpy(in_ring_room(ring), &i, sizeof(i));
		in_ring_put(ring, sizeof(i));
		ring->progress++;
	}
	if (how == HANG)
		for (;;)
			ring->progress += 0;
	if (how == DEVOUR)
		devoured = malloc((size_t)1 << 34);
	if (how == ABORT || (how == DEVOUR && !devoured))
		abort();
	if (how == LEAVE)
		_exit(0);
	if (how == SAY) {
		strcpy(ring->text, "it said so");
		ring->failed = 1;
	}
	in_ring_room(ring);
	in_ring_put(ring, 0);
}

/* Read all; the words must be there in order. */
static int read_all(const char **why)
{
	static char text[512];
	struct in_child *const c = in_child_start(misbehave, NULL, 0, 1);
	const char *bytes;
	uint64_t count = 0;
	size_t n;
	int got;

	while ((got = in_child_next(c, &bytes, &n)) > 0) {
		CHECK_EQ(n, sizeof(count));
		CHECK_EQ(memcmp(bytes, &count, sizeof(count)), 0);
		count++;
	}
	CHECK_EQ(count, 100);
	snprintf(text, sizeof(text), "%s", in_child_why(c));
	*why = text;
	in_child_end(c);
	return got;
}

void test_in_child_reads_to_the_end(void)
{
	const char *why;

	how = WELL;
	CHECK_EQ(read_all(&why), 0);
}

void test_in_child_that_hangs_is_ended(void)
{
	const char *why;

	how = HANG;
	CHECK_EQ(read_all(&why), -1);
	CHECK_STR(why, "babeltrace2 hung");
}

void test_in_child_that_crashes_is_told(void)
{
	const char *why;

	how = ABORT;
	CHECK_EQ(read_all(&why), -1);
	CHECK(strstr(why, "crashed") != NULL);
	how = LEAVE;
	CHECK_EQ(read_all(&why), -1);
	CHECK(strstr(why, "ended early") != NULL);
}

void test_in_child_may_not_devour_memory(void)
{
	const char *why;

	how = DEVOUR;
	CHECK_EQ(read_all(&why), -1);
}

void test_in_child_that_fails_says_why(void)
{
	const char *why;

	how = SAY;
	CHECK_EQ(read_all(&why), -1);
	CHECK_STR(why, "it said so");
}
