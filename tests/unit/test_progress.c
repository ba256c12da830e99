/* test_progress.c - what a person reads while a trace is read.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/progress.h"
#include "tests/test.h"

static const char *text(uint64_t records, double seconds, uint64_t done,
			uint64_t of)
{
	static char room[PROGRESS_TEXT];

	return progress_text(room, records, seconds, done, of);
}

void test_progress_tells_the_time_left(void)
{
	CHECK_STR(text(30000000, 2, 250, 1000), "reading: 30,000,000 records, "
		  "15.0 million a second, 25%, 6 s left");
	CHECK_STR(text(1000, 1, 1001, 1000), "reading: 1,000 records, "
		  "0.0 million a second, 100%, 0 s left");
}

void test_progress_knows_no_time_without_sizes(void)
{
	CHECK_STR(text(5000000, 1, 0, 0),
		  "reading: 5,000,000 records, 5.0 million a second");
	CHECK_STR(text(5000000, 1, 1, UINT64_MAX),
		  "reading: 5,000,000 records, 5.0 million a second");
}
