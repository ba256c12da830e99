/* test_hot_path.c - what single calls spent their time in, over suspensions and
 * threads in any order.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/slow/hot_path.h"
#include "tests/unit/told.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void replay_all(struct session *s, const uint32_t *order,
		       const struct replay_sink *sink, void *ctx)
{
	replay = replay_new(s, sink, ctx);
	for (int i = 0; i < 3; i++)
		thread(order[i]);
	replay_finish(replay);
	replay_free(replay);
}

static void add_path(struct session *s, struct hot_path *in, size_t i,
		     func_id func, enum slow_key key)
{
	size_t count;
	struct hot_path_step *const steps = hot_path_steps(in, i, key, &count);
	char text[100];

	add(func_get(s->funcs, func)->source + 1);
	for (size_t k = 0; k < count; k++) {
		snprintf(text, sizeof(text), "; %s%s %" PRIu64 " calls %"
			 PRIu64 " slept %" PRIu64, steps[k].is_body ? "~" : "",
			 func_get(s->funcs, steps[k].func)->source + 1,
			 steps[k].calls, steps[k].total, steps[k].suspended);
		add(text);
	}
	add("\n");
	mem_free(steps);
}

/* Of the first calls found. */
static const char *paths(const uint32_t *order, enum slow_key key, size_t most)
{
	static uint8_t wanted[100];
	const struct slow_options options = {
		.wanted = wanted, .funcs = sizeof(wanted), .key = key };
	struct session *const first = session_new(0);
	struct session *const second = session_new(0);
	struct slow *const slow = slow_new(&options);
	const struct slow_found *const found = slow_found(slow);
	struct hot_path *in;

	memset(wanted, 1, sizeof(wanted));
	told[0] = '\0';
	replay_all(first, order, &slow_sink, slow);
	slow_finish(slow);
	in = hot_path_new(found->calls, found->count, 1);
	replay_all(second, order, &hot_path_sink, in);
	for (size_t i = 0; i < found->count && i < most; i++)
		add_path(second, in, i, found->calls[i].func, key);
	hot_path_free(in);
	slow_free(slow);
	session_free(first);
	session_free(second);
	return told;
}

static const uint32_t orders[6][3] = {
	{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
	{ 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };

void test_hot_path_follows_a_call_over_threads_in_any_order(void)
{
	for (size_t i = 0; i < 6; i++)
		CHECK_STR(paths(orders[i], SLOW_TOTAL, 4),
			  "last; ~body 0 calls 6 slept 0\n"
			  "worker; ~body 0 calls 4 slept 0; inner 0 calls 4 "
			  "slept 0\n"
			  "body; inner 0 calls 5 slept 36; leaf 1 calls 2 "
			  "slept 0\n"
			  "main; ~body 1 calls 6 slept 0; native 1 calls 4 "
			  "slept 0; inner 1 calls 2 slept 0\n");
}

void test_hot_path_says_where_a_call_slept(void)
{
	for (size_t i = 0; i < 6; i++)
		CHECK_STR(paths(orders[i], SLOW_SUSPENDED, 2),
			  "body; inner 0 calls 5 slept 36\n"
			  "inner\n");
}
