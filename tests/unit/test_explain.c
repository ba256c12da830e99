/* test_explain.c - made-up sessions: what waits is told from what has no core,
 * and nothing is told of what took next to none of the time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/findings/explain.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#define MS UINT64_C(1000000)

static struct session *session;
static struct explain found;
static uint64_t functions;

static void begin(void)
{
	session = sessions_new(UINT64_C(1000000000), "main");
	cct_collect_cpu(session->cct);
	functions = 0;
}

/* A function below a node, ms: on the CPU, asleep, without a core. Thread 0 is
 * the root of node 0. */
static node_id put(node_id parent, const char *name, uint64_t calls,
		   uint64_t on, uint64_t asleep, uint64_t no_core)
{
	const node_id root = cct_root(session->cct, 0);
	const func_id f = sessions_func(session, 1, ++functions * 16, name);
	const node_id id = sessions_calls(session, parent ? parent : root, f,
					  calls, (on + asleep + no_core) * MS);

	cct_put_cpu(session->cct, id, (struct cct_cpu){
		.off = (asleep + no_core) * MS, .ready = no_core * MS });
	return id;
}

static struct explain_seen seen;

/* The function and the time of the only finding of a kind; "" and 0. */
static const char *find(enum explain_kind kind, uint64_t *ms)
{
	const char *name = "";

	*ms = 0;
	explain_find(&found, session, &seen);
	for (size_t i = 0; i < found.count; i++) {
		if (found.finding[i].kind != kind)
			continue;
		name = func_get(session->funcs, found.finding[i].func)->name;
		*ms = found.finding[i].time / MS;
	}
	return name;
}

static void check(enum explain_kind kind, const char *name, uint64_t time)
{
	uint64_t ms;

	CHECK_STR(find(kind, &ms), name);
	CHECK_EQ(ms, time);
}

void test_explain_gives_the_slot_to_who_waits(void)
{
	node_id main;

	begin();
	main = put(0, "main", 1, 100, 0, 5000);
	put(main, "burns", 1000, 400, 0, 9000);
	put(main, "reads", 1000, 10, 300, 6000);
	check(EXPLAIN_WAIT, "reads", 300);
	CHECK_STR(func_get(session->funcs, found.finding[1].other)->name,
		  "main");
	session_free(session);
	begin();
	put(put(0, "main", 1, 100, 0, 5000), "burns", 1000, 4, 0, 9000);
	check(EXPLAIN_WAIT, "", 0);
	session_free(session);
}

/* Its time on the CPU is not what matters. */
void test_explain_needs_no_ten_calls_for_two_seconds(void)
{
	node_id main;

	begin();
	main = put(0, "main", 1, 1, 0, 0);
	put(put(main, "quick", 5, 1, 0, 0), "system", 5, 9, 30, 0);
	put(put(main, "slow", 1, 1, 0, 0), "sleep", 1, 1, 2000, 0);
	check(EXPLAIN_WAIT, "sleep", 2000);
	check(EXPLAIN_HOT, "", 0);
	session_free(session);
}

/* Who waits for workers waits for what they do. */
void test_explain_does_not_blame_who_joins(void)
{
	node_id worker;

	begin();
	put(0, "joins", 1, 1, 2000, 0);
	worker = cct_root(session->cct, 1);
	put(worker, "burns", 1, 1500, 0, 0);
	put(worker, "naps", 2, 1, 490, 0);
	check(EXPLAIN_WAIT, "naps", 490);
	session_free(session);
	begin();
	put(0, "joins", 1, 1, 2000, 0);
	put(cct_root(session->cct, 1), "burns", 1, 1000, 0, 990);
	check(EXPLAIN_WAIT, "", 0);
	session_free(session);
}

void test_explain_tells_the_longest_first(void)
{
	node_id main;

	for (int k = 0; k < 2; k++) {
		begin();
		main = put(0, "main", 1, 10, 0, 0);
		put(main, "burns", 100, k ? 900 : 300, 0, 0);
		put(main, "naps", 100, 1, k ? 300 : 900, 0);
		explain_find(&found, session, &seen);
		if (CHECK_EQ(found.count, 2))
			CHECK_EQ(found.finding[k].kind, EXPLAIN_WAIT);
		session_free(session);
	}
}

/* Memory grows if it does so all the time, by what is no chance. */
void test_explain_memory_grows(void)
{
	const struct {
		double half, later, end, error;
		bool grows;
	} cases[] = {
		{ 1e6, 1.5e6, 2e6, 0, true },
		{ 1e6, 1.5e6, 2e6, 4e5, false },
		{ 1e6, 1e6, 2e6, 0, false },
		{ 1e6, 2e6, 2e6, 0, false },
		{ 1e6, 1.02e6, 1.05e6, 0, false },
		{ 10, 5e4, 9e4, 0, false },
	};
	uint64_t ms;
	func_id func;

	begin();
	func = cct_get(session->cct, put(0, "main", 1, 10, 0, 0))->func;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		seen.heap = (struct explain_heap){ .half = cases[i].half,
			.later = cases[i].later, .end = cases[i].end,
			.error = cases[i].error, .func = func, .grown = 1e6 };
		CHECK_STR(find(EXPLAIN_HEAP, &ms), cases[i].grows ? "main" :
			  "");
	}
	seen = (struct explain_seen){ 0 };
	session_free(session);
}

/* That threads are never joined is a fault, whatever else takes long; and what
 * they wait for is told as an event only where it is no lock. */
void test_explain_threads_and_what_they_wait_for(void)
{
	const func_id lock = sessions_func(session = sessions_new(
		UINT64_C(1000000000), "main"), 1, 160, "lock");
	uint64_t ms;

	cct_collect_cpu(session->cct);
	functions = 20;
	put(put(0, "main", 1, 100, 0, 0), "burns", 10, 900, 0, 0);
	seen.maker = lock;
	seen.unjoined = 3;
	seen.event = (struct explain_lock){ .func = lock, .waits = 5,
					    .waiting = 500 * MS };
	CHECK_STR(find(EXPLAIN_JOIN, &ms), "lock");
	CHECK_EQ(found.finding[0].kind, EXPLAIN_JOIN);
	CHECK_EQ(found.finding[0].calls, 3);
	check(EXPLAIN_EVENT, "lock", 500);
	CHECK_EQ(found.finding[2].kind, EXPLAIN_EVENT);
	seen.lock = seen.event;
	seen.lock.waiting = 300 * MS;
	check(EXPLAIN_LOCK, "lock", 300);
	CHECK_EQ(found.finding[3].kind, EXPLAIN_EVENT);
	seen.event.waiting = 9000 * MS;
	check(EXPLAIN_EVENT, "lock", 9000);
	CHECK_EQ(found.finding[1].kind, EXPLAIN_EVENT);
	seen.event.func = 0;
	put(0, "naps", 10, 1, 700, 0);
	check(EXPLAIN_WAIT, "naps", 700);
	CHECK_EQ(found.finding[1].kind, EXPLAIN_HOT);
	CHECK_EQ(found.finding[2].kind, EXPLAIN_LOCK);
	seen = (struct explain_seen){ 0 };
	check(EXPLAIN_JOIN, "", 0);
	session_free(session);
}

/* What is recorded of libc is what waits. */
void test_explain_knows_waits_without_switches(void)
{
	const uint8_t id[20] = { 9 };
	func_id f;
	node_id root;
	uint64_t ms;

	session = sessions_new(UINT64_C(1000000000), "main");
	root = cct_root(session->cct, 0);
	f = func_native(session->funcs, func_module(session->funcs,
			"/lib/libc.so.6", id, 20, 4096), 16);
	func_get(session->funcs, f)->name = arena_copy(session->text, "read",
						       4);
	sessions_calls(session, root, f, 12, 300 * MS);
	f = sessions_func(session, 1, 32, "parse");
	sessions_calls(session, root, f, 12, 200 * MS);
	check(EXPLAIN_HOT, "parse", 200);
	CHECK_STR(find(EXPLAIN_WAIT, &ms), "read");
	CHECK_EQ(ms, 300);
	CHECK(!found.has_switches);
	session_free(session);
}

/* Who waits all the time is idle: a lock, of which less is worth being told,
 * comes before that. A thread that waits and works is not. */
void test_explain_a_lock_comes_before_who_is_idle(void)
{
	for (uint64_t does = 1; does <= 801; does += 800) {
		begin();
		put(put(0, "main", 1, does, 0, 0), "reads", 1000, 1, 9000, 0);
		seen.lock = (struct explain_lock){ .waits = 5,
			.func = sessions_func(session, 1, 1600, "lock"),
			.waiting = 120 * MS };
		check(EXPLAIN_LOCK, "lock", 120);
		check(EXPLAIN_WAIT, "reads", 9000);
		CHECK_EQ(found.finding[0].kind, does == 1 ? EXPLAIN_LOCK :
			 EXPLAIN_WAIT);
		seen = (struct explain_seen){ 0 };
		session_free(session);
	}
}
