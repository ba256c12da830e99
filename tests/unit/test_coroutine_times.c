/* test_coroutine_times.c - the own times of coroutines; coroutines by body.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/coroutines.h"
#include "analyzer/watch/coroutine_times.h"
#include "analyzer/watch/waits/sleeps.h"
#include "analyzer/base/mem.h"
#include "tests/unit/told.h"

static struct session *session;

static void first_thread(void)
{
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 0);
	cb_create(&b, 9, 3, 1);
	cb_resume(&b, 9, 0, 0, 0, 3);
	cb_enter(&b, "body", 0);
	cb_suspend(&b, 9, SUSPEND_YIELD, 6);
	cb_leave(&b, "main", 5);
	give(20);
}

/* Resumed by coroutine 8. */
static void second_thread(void)
{
	cb_begin(&b, 1, 2, 0, 0);
	cb_enter(&b, "worker", 0);
	cb_resume(&b, 8, 0, 0, 0, 20);
	cb_enter(&b, "other", 0);
	cb_resume(&b, 9, RESUME_STACK, 20, 1, 10);
	cb_frame(&b, "body", 6);
	cb_leave(&b, "body", 5);
	cb_suspend(&b, 9, SUSPEND_RETURN, 0);
	give(40);
}

/* Coroutine 9 sleeps for 10 ticks and for 40; of these its thread is off the
 * CPU from 20 on for 38, and had no core for 35. */
static void sleeping_thread(void)
{
	static const uint64_t off[] = { 20, 3, 35 };
	size_t at;

	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 0);
	cb_create(&b, 9, 3, 1);
	cb_resume(&b, 9, 0, 0, 0, 0);
	cb_enter(&b, "body", 0);
	cb_suspend(&b, 9, SUSPEND_YIELD, 4);
	cb_resume(&b, 9, RESUME_STACK, 10, 1, 10);
	cb_frame(&b, "body", 14);
	cb_suspend(&b, 9, SUSPEND_YIELD, 3);
	cb_resume(&b, 9, RESUME_STACK, 40, 1, 40);
	cb_frame(&b, "body", 57);
	cb_leave(&b, "body", 2);
	cb_suspend(&b, 9, SUSPEND_RETURN, 0);
	at = cb_item(&b);
	cb_item_word(&b, 0);
	cb_item_word(&b, 80);
	cb_numbers(&b, off, 3);
	cb_item_end(&b, at, ITEM_SWITCHES);
	give(80);
}

/* The sleep of 40 ticks is one of 5 but for the core. */
void test_sleeps_leave_out_time_without_a_core(void)
{
	struct session *again;
	struct sleeps s;

	session = session_new(0);
	replay = replay_new(session, NULL, NULL);
	sleeping_thread();
	replay_finish(replay);
	replay_free(replay);
	sleeps_init(&s, session);
	again = session_new(0);
	replay = replay_new(again, &sleeps_sink, &s);
	func_table_free(again->funcs);
	again->funcs = session->funcs;
	sleeping_thread();
	replay_finish(replay);
	replay_free(replay);
	again->funcs = NULL;
	session_free(again);
	REQUIRE(s.count == 1);
	CHECK_EQ(s.list[0].count, 2);
	CHECK_EQ(s.list[0].sum, 50);
	CHECK_EQ(s.list[0].longest, 10);
	CHECK_EQ(s.list[0].no_core, 0);
	CHECK_EQ(s.second, 0);
	sleeps_fini(&s);
	session_free(session);
}

/* Active 1 to 100: nearest rank. */
void test_bodies_are_distributed_exactly(void)
{
	struct coroutine_group *rows;
	size_t count;

	session = session_new(0);
	session->coroutines = mem_alloc(101 * sizeof(*session->coroutines));
	session->coroutine_count = 101;
	for (size_t i = 0; i < 100; i++)
		session->coroutines[i] = (struct coroutine){
			.body = 7, .active = (i * 37) % 100 + 1,
			.resumes = 2 };
	rows = coroutine_groups(session, &count);
	REQUIRE(count == 2);
	CHECK(rows[0].body == 7 && rows[0].count == 100);
	CHECK_EQ(rows[0].active.sum, 5050);
	CHECK_EQ(rows[0].active.p50, 50);
	CHECK_EQ(rows[0].active.p95, 95);
	CHECK_EQ(rows[0].active.p99, 99);
	CHECK_EQ(rows[0].active.max, 100);
	CHECK_EQ(rows[0].resumes.sum, 200);
	CHECK(rows[1].body == 0 && rows[1].count == 1);
	mem_free(rows);
	session_free(session);
}

/* Body 9 runs Lua alone; its resumer is active meanwhile, but not itself. */
void test_bodies_know_own_times(void)
{
	struct coroutine_times t;
	struct session *again;

	session = session_new(0);
	replay = replay_new(session, NULL, NULL);
	first_thread();
	second_thread();
	replay_finish(replay);
	replay_free(replay);
	coroutine_times_init(&t, session);
	again = session_new(0);
	replay = replay_new(again, &coroutine_times_sink, &t);
	func_table_free(again->funcs);
	again->funcs = session->funcs;
	first_thread();
	second_thread();
	replay_finish(replay);
	replay_free(replay);
	again->funcs = NULL;
	session_free(again);
	REQUIRE(session->coroutine_count == 2);
	CHECK_EQ(session->coroutines[0].serial, 9);
	CHECK_EQ(t.own[0].lua, 11);
	CHECK_EQ(t.own[0].native, 0);
	CHECK_EQ(session->coroutines[1].active, 20);
	CHECK_EQ(t.own[1].lua, 15);
	coroutine_times_fini(&t);
	session_free(session);
}
