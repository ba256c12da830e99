/* told.h - chunks that are given to a replay, and the text of what came of
 * them: what tests of a replay's watchers have in common. Included whole.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"

#include <stdio.h>

static struct chunk_build b;
static struct replay *replay;
static char told[4096];

/* End the chunk and give it to the replay. */
static inline void give(uint64_t tick)
{
	struct chunk v;

	cb_end(&b, tick);
	REQUIRE(decode_chunk(&v, b.words, b.n) == 0);
	replay_chunk(replay, &v);
}

/* Append to what is told. */
static inline void add(const char *text)
{
	const size_t used = strlen(told);

	snprintf(told + used, sizeof(told) - used, "%s", text);
}

/* Thread n of three on which a coroutine runs: 4 to 10, 30 to 34, 50 to 56. */
static inline void thread(uint32_t n)
{
	cb_begin(&b, 1, n, 0, 0);
	if (n == 1) {
		cb_enter(&b, "main", 0);
		cb_resume(&b, 9, 0, 0, 0, 4);
		cb_enter(&b, "body", 0);
		cb_enter(&b, "native", 2);
		cb_enter(&b, "inner", 2);
		cb_suspend(&b, 9, SUSPEND_YIELD, 2);
		cb_leave(&b, "main", 5);
	} else if (n == 2) {
		cb_enter(&b, "worker", 0);
		cb_resume(&b, 9, RESUME_STACK, 20, 2, 30);
		cb_frame(&b, "body", 6);
		cb_frame(&b, "inner", 2);
		cb_leaf(&b, "leaf", 1, 2);
		cb_suspend(&b, 9, SUSPEND_YIELD, 1);
		cb_leave(&b, "worker", 6);
	} else {
		cb_enter(&b, "last", 0);
		cb_resume(&b, 9, RESUME_STACK, 16, 2, 50);
		cb_frame(&b, "body", 10);
		cb_frame(&b, "inner", 6);
		cb_leave(&b, "inner", 1);
		cb_leave(&b, "body", 5);
		cb_suspend(&b, 9, SUSPEND_RETURN, 0);
		cb_leave(&b, "last", 1);
	}
	give(60);
}
