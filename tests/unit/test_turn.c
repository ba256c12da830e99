/* test_turn.c - the thread that the turn is lent to works while it is lent,
 * and at no other time.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/base/turn.h"
#include "tracer/recorder/process/process_watch.h"

#include <stdatomic.h>
#include <unistd.h>

enum { ROUNDS = 20000 };

static long shared;                /* touched only with the turn */
static atomic_long calls;

/* There is often more to do. */
static bool work(void *ctx)
{
	*(long *)ctx += 1;
	return atomic_fetch_add(&calls, 1) % 4 != 0;
}

void test_turn_is_one_thread_s_at_a_time(void)
{
	long own = 0;

	turn_lend();
	turn_take();
	turn_start(work, &shared);
	for (int i = 0; i < ROUNDS || atomic_load(&calls) < 3; i++) {
		shared++;
		own++;
		turn_lend();
		turn_take();
	}
	const long before = atomic_load(&calls);

	for (int i = 0; i < ROUNDS; i++)
		shared++;
	CHECK_EQ(atomic_load(&calls), before);
	turn_end();
	/* The first round of work may come at the end. */
	CHECK_EQ(shared, own + ROUNDS + atomic_load(&calls));
	turn_lend();
	turn_take();
}

/* Who looks into /proc lends it. */
void test_turn_is_lent_while_proc_is_read(void)
{
	atomic_store(&calls, 0);
	turn_start(work, &shared);
	while (atomic_load(&calls) < 3)
		CHECK(process_exists(getpid()));
	turn_end();
}
