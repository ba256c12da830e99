/* test_threads.c - each thread has the call that made it, also if others had
 * its handle. SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/waits/threads.h"
#include "tests/unit/told.h"

static struct process process = { .pid = 1 };

static struct session *session_of(struct thread *threads, size_t count)
{
	struct session *const s = session_new(0);

	s->threads = threads;
	s->thread_count = count;
	s->processes = &process;
	s->process_count = 1;
	return s;
}

static void end(struct session *s)
{
	s->threads = NULL;
	s->processes = NULL;
	s->thread_count = s->process_count = 0;
	session_free(s);
}

static struct waits_end birth(ticks begin, stack_id stack, bool is_made,
			      bool is_detached)
{
	return (struct waits_end){ .of = { 0, WAIT_THREAD, 0x1000, 0 },
		.at = begin, .stack = stack, .is_detached = is_detached,
		.is_made = is_made };
}

/* Three threads had one handle: the first was joined, the second detached
 * itself, the third is left. A fourth recorded nothing. */
void test_threads_handles(void)
{
	struct thread threads[3] = {
		{ .handle = 0x1000, .first = 15, .last = 20 },
		{ .handle = 0x1000, .first = 35, .last = 40 },
		{ .handle = 0x1000, .first = 55, .last = 60 } };
	struct waits_end births[] = { birth(50, 3, true, false),
		birth(36, 9, false, true), birth(30, 2, true, false),
		birth(10, 1, true, false), birth(70, 4, true, false) };
	struct waits_span join = { .of = { 0, WAIT_JOIN, 0x1000, 0 },
		.begin = 16, .end = 22 };
	struct waits_times times[3] = { { .is_ended = true },
		{ .is_ended = true }, { .is_ended = true } };
	struct waits w = { .ends = births, .end_count = 5,
		.spans = &join, .span_count = 1,
		.times = times, .time_count = 3 };
	struct session *const s = session_of(threads, 3);
	struct threads_row *rows;
	size_t n;
	ticks at;

	waits_sort(&w);
	rows = threads_list(s, &w, &n);
	CHECK(n == 4);
	CHECK(rows[0].made_by == 1 && rows[0].fate == THREADS_JOINED);
	CHECK(!rows[0].owed && rows[0].from == 10 && rows[0].to == 20);
	CHECK(rows[1].made_by == 2 && rows[1].fate == THREADS_DETACHED);
	CHECK(!rows[1].owed);
	CHECK(rows[2].made_by == 3 && rows[2].fate == THREADS_ENDED);
	CHECK(rows[2].owed);
	CHECK(rows[3].made_by == 4 && rows[3].thread == THREADS_NONE);
	CHECK(rows[3].owed && rows[3].fate == THREADS_UNKNOWN);
	CHECK(threads_most(rows, n, &at) == 1 && at == 10);
	mem_free(rows);
	end(s);
}

/* One lives on, in a wait that never ended: that goes on to the end of the last
 * thread. */
void test_threads_live(void)
{
	struct thread threads[2] = { { .first = 0, .last = 100 },
				     { .first = 10, .last = 20 } };
	struct waits_span open = { .of = { 0, WAIT_MUTEX, 0x2000, 0 },
		.begin = 15, .end = 20, .thread = 1, .is_open = true };
	struct waits w = { .spans = &open, .span_count = 1 };
	struct session *const s = session_of(threads, 2);
	struct threads_row *rows;
	size_t n;
	ticks at;

	rows = threads_list(s, &w, &n);
	CHECK(n == 2);
	CHECK(rows[1].fate == THREADS_LIVE && rows[1].open == &open);
	CHECK(rows[1].to == 100 && rows[1].times.blocked[WAITS_LOCK] == 80);
	CHECK(threads_most(rows, n, &at) == 2 && at == 10);
	mem_free(rows);
	end(s);
}

/* A thread waits for a lock for a second. Its switches are of parts of that, or
 * say that it ran all the time, which its CPU clock denies; or there are none,
 * and the trace has some of others, or not. */
void test_threads_blocked_where_switches_are_not_known(void)
{
	enum { SECOND = 1000000000 };
	static const struct {
		uint64_t known[2][2];
		bool has_cpu;
		ticks blocked;
	} is[] = {
		{ { { 0, SECOND } }, true, SECOND },
		{ { { 0, 200 }, { 300, 700 } }, true, SECOND - 600 },
		{ { { 0 } }, true, SECOND },
		{ { { 0 } }, false, SECOND },
	};

	for (size_t i = 0; i < sizeof(is) / sizeof(*is); i++) {
		struct session *const s = session_new(0);
		struct waits w;

		if (is[i].has_cpu)
			cct_collect_cpu(s->cct);
		waits_init(&w, s);
		replay = replay_new(s, &waits_times_sink, &w);
		cb_begin(&b, 1, 1, 0, 0);
		b.header.cpu_begin = 1;
		b.header.cpu_end = 1001;
		for (int k = 0; k < 2 && is[i].known[k][1] > 0; k++)
			cb_switches(&b, is[i].known[k][0], is[i].known[k][1],
				    NULL, 0);
		cb_enter(&b, "lock", 0);
		cb_wait(&b, WAIT_MUTEX, 0x1000, 0, 0);
		cb_leave(&b, "lock", SECOND);
		give(SECOND);
		replay_finish(replay);
		replay_free(replay);
		CHECK_EQ(w.times[0].blocked[WAITS_LOCK], is[i].blocked);
		waits_fini(&w);
		session_free(s);
	}
}
