/* test_explain.c - made-up sessions: what waits is told from what has no core,
 * and nothing is told of what took next to none of the time.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/explain/explain_seen.h"
#include "tests/test.h"
#include "tests/unit/sessions.h"

#include <math.h>
#include <stdlib.h>

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

/* Of 1, which is C, and 2, which is Lua: what Lua takes late may be garbage,
 * and is named only if it was kept early, too. */
void test_explain_names_lua_second_if_it_keeps(void)
{
	double grown[] = { 0, 600, 400 }, lua[] = { 0, 0, 400 };
	double early[] = { 0, 0, 0 }, late[] = { 0, 600, 400 };
	const struct explain_takers by = { grown, lua, early, late, 3, 2 };
	struct explain_heap heap = { .half = 1000, .end = 2000 };

	explain_choose_taker(&heap, &by);
	CHECK(heap.func == 1 && heap.second == 0);
	lua[2] = 0;
	explain_choose_taker(&heap, &by);
	CHECK(heap.func == 1 && heap.second == 2);
	lua[2] = 400;
	early[1] = 600;
	early[2] = 400;
	explain_choose_taker(&heap, &by);
	CHECK(heap.func == 1 && heap.second == 2 && heap.steady > 0);
}

/* What took a block that another function made larger has given it away. */
void test_explain_takes_no_function_for_lua_that_gave_away(void)
{
	double grown[] = { 0, -10, 0 }, lua[] = { 0, 0, 0 };
	double early[] = { 0, 0, 0 }, late[] = { 0, 600, 0 };
	const struct explain_takers by = { grown, lua, early, late, 3, 2 };
	struct explain_heap heap = { .half = 1000, .end = 2000 };

	explain_choose_taker(&heap, &by);
	CHECK(heap.func == 1 && !heap.is_lua);
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

/* A function of libc, in place of one that put() made. */
static void make_libc(func_id f, const char *name)
{
	const uint8_t id[20] = { 9 };

	*func_get(session->funcs, f) = *func_get(session->funcs,
		func_native(session->funcs, func_module(session->funcs,
		"/lib/libc.so.6", id, 20, 4096), 16));
	func_get(session->funcs, f)->name = name;
}

/* What sleeps because the program says so comes after what takes time. */
void test_explain_who_sleeps_comes_last(void)
{
	const char *const names[] = { "__nanosleep", "read" };

	for (size_t i = 0; i < 2; i++) {
		begin();
		put(put(0, "main", 1, 10, 0, 0), "burns", 100, 300, 0, 0);
		put(put(0, "timer", 1, 100, 0, 0), "naps", 100, 1, 900, 0);
		explain_find(&found, session, &seen);
		CHECK_EQ(found.finding[0].kind, EXPLAIN_WAIT);
		make_libc(found.finding[0].func, names[i]);
		explain_find(&found, session, &seen);
		CHECK_EQ(found.finding[0].kind, i == 0 ? EXPLAIN_HOT :
			 EXPLAIN_WAIT);
		session_free(session);
	}
}

/* One sleep of 600 ms among short ones: the function that asked for it is slow,
 * not the sleep. Any other function of libc is. */
void test_explain_no_sleep_is_a_slow_call(void)
{
	const char *const names[] = { "nanosleep", "read" };

	for (size_t i = 0; i < 2; i++) {
		node_id main, waits;
		uint64_t ms;

		begin();
		cct_collect_hist(session->cct);
		main = put(0, "main", 1, 500, 0, 0);
		waits = put(main, "waits", 100, 1, 698, 0);
		for (unsigned k = 0; k < 100; k++)
			cct_time(session->cct, waits, (k ? 1 : 600) * MS);
		make_libc(cct_get(session->cct, waits)->func, names[i]);
		CHECK_STR(find(EXPLAIN_SLOW, &ms), i == 0 ? "" : "read");
		session_free(session);
	}
}

/* C++'s library stands between libc and who waits. */
void test_explain_names_who_calls_a_library(void)
{
	size_t waits = 0;
	node_id by;

	begin();
	by = put(put(0, "main", 1, 10, 0, 0), "find", 100, 9, 0, 0);
	by = put(by, "std::mutex::lock()", 100, 1, 0, 0);
	put(by, "__gthread_mutex_lock(pthread_mutex_t*)", 100, 1, 900, 0);
	explain_find(&found, session, &seen);
	while (waits < found.count && found.finding[waits].kind != EXPLAIN_WAIT)
		waits++;
	REQUIRE(waits < found.count);
	CHECK_STR(func_get(session->funcs, found.finding[waits].other)->name,
		  "find");
	CHECK(found.finding[waits].is_most);
	session_free(session);
}

/* What was open before the recording is not known, like other code that is
 * not recorded. */
void test_explain_names_no_call_that_began_before(void)
{
	node_id before;
	uint64_t ms;

	begin();
	put(put(0, "main", 1, 10, 0, 0), "burns", 100, 300, 0, 0);
	before = cct_child(session->cct, cct_root(session->cct, 0),
			   func_special(session->funcs, "[open before start]"),
			   0);
	functions = 40; /* read is one function */
	put(before, "read", 100, 1, 600, 0);
	functions = 40;
	put(0, "read", 100, 1, 500, 0);
	CHECK_STR(find(EXPLAIN_WAIT, &ms), "read");
	CHECK_EQ(found.finding[0].other, 0);
	CHECK(found.finding[0].is_most);
	session_free(session);
}

/* Three callers, of which none has half. */
void test_explain_says_if_no_caller_has_most(void)
{
	const char *const names[] = { "a", "b", "c" };
	size_t waits = 0;

	begin();
	put(put(0, "main", 1, 10, 0, 0), "burns", 1, 900, 0, 0);
	for (uint64_t i = 0; i < 3; i++) {
		const node_id by = put(0, names[i], 1, 1, 0, 0);

		functions = 40; /* read is one function */
		put(by, "read", 100, 1, 300 + 10 * i, 0);
		functions = 10 + i;
	}
	explain_find(&found, session, &seen);
	while (waits < found.count && found.finding[waits].kind != EXPLAIN_WAIT)
		waits++;
	REQUIRE(waits < found.count);
	CHECK(!found.finding[waits].is_most);
	session_free(session);
}

/* nap does nothing but sleep, so it is work that sleeps. What sleeps twice a
 * call, or does something else, is no such function. */
void test_explain_names_who_calls_what_sleeps(void)
{
	for (int i = 0; i < 4; i++) {
		node_id work, nap;
		size_t waits = 0;

		begin();
		work = put(put(0, "main", 1, 10, 0, 0), "work", 50, 300, 0, 0);
		nap = put(work, "nap", i == 1 ? 50 : 100, i == 2 ? 200 : 1, 0,
			  0);
		if (i == 3)
			put(nap, "other", 100, 1, 0, 0);
		make_libc(cct_get(session->cct, put(nap, "sleeps", 100, 0, 900,
						    0))->func, "nanosleep");
		explain_find(&found, session, &seen);
		for (size_t k = 0; k < found.count; k++) {
			const struct explain_finding *const f =
				&found.finding[k];

			if (f->kind != EXPLAIN_WAIT)
				continue;
			waits++;
			CHECK_STR(func_get(session->funcs, f->other)->name,
				  i == 0 ? "work" : "nap");
			CHECK_STR(func_get(session->funcs, f->through)->name,
				  i == 0 ? "nap" : "");
		}
		CHECK_EQ(waits, 1);
		session_free(session);
	}
}

/* LuaJIT does not tell when clock returns: what it seems to take is its
 * caller's, or that of what called both. Without one it keeps it. */
void test_explain_gives_untold_time_to_the_caller(void)
{
	for (int i = 0; i < 3; i++) {
		node_id main, by, clock;
		uint64_t ms;

		begin();
		cct_collect_hist(session->cct);
		main = put(0, "main", 1, 100, 0, 0);
		by = i == 2 ? 0 : put(main, i ? "pcall" : "relax", 50, 1, 0, 0);
		clock = put(by, "clock", 100, 700, 0, 0);
		for (unsigned k = 0; k < 100; k++)
			cct_time(session->cct, clock, (k ? 2 : 502) * MS);
		func_set_untold_return(session->funcs,
				       cct_get(session->cct, clock)->func);
		if (i == 1)
			func_set_untold_return(session->funcs,
				cct_get(session->cct, by)->func);
		check(EXPLAIN_HOT, i == 2 ? "clock" : i ? "main" : "relax",
		      i == 2 ? 700 : i ? 801 : 701);
		CHECK_EQ(found.finding[0].untold / MS, i == 2 ? 0 : i ? 701 :
			 700);
		CHECK_STR(i ? "main" : func_get(session->funcs,
			  found.finding[0].other)->name, "main");
		CHECK_STR(find(EXPLAIN_SLOW, &ms), "");
		session_free(session);
	}
}

/* A coroutine sleeps as long as the thread that resumes it has no core: that is
 * no finding. */
void test_explain_tells_no_sleep_without_a_core(void)
{
	struct explain_sleep sleeps[] = {
		{ .count = 100, .sum = 600 * MS, .longest = 500 * MS },
		{ .count = 100, .sum = 600 * MS, .longest = 400 * MS } };
	const char *const names[] = { "fetch", "read", "" };

	begin();
	put(put(0, "main", 1, 100, 0, 0), "burns", 10, 900, 0, 0);
	seen.sleeps = sleeps;
	seen.sleep_count = 2;
	sleeps[0].where = sessions_func(session, 1, 1600, "fetch");
	sleeps[1].where = sessions_func(session, 1, 1616, "read");
	for (int i = 0; i < 3; i++) {
		sleeps[0].no_core = i > 0 ? 460 * MS : 0;
		sleeps[1].no_core = i > 1 ? 399 * MS : 0;
		check(EXPLAIN_SLEEP, names[i], i == 0 ? 500 : i == 1 ? 400 : 0);
	}
	seen = (struct explain_seen){ 0 };
	session_free(session);
}

/* Who has most of the time is known, though it is no finding. */
void test_explain_knows_the_hottest(void)
{
	node_id top;

	begin();
	top = put(0, "main", 1, 10, 0, 0);
	for (int i = 0; i < 8; i++)
		put(top, i == 3 ? "most" : "one", 100, i == 3 ? 20 : 10, 0, 0);
	explain_find(&found, session, &seen);
	CHECK_EQ(found.count, 0);
	CHECK_STR(func_get(session->funcs, found.top)->name, "most");
	CHECK(found.top_share == 0.2);
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

/* ---- a few slow calls --------------------------------------------------- */

static uint64_t dice;

/* Above 0, up to 1. */
static double chance(void)
{
	dice = dice * 6364136223846793005 + 1442695040888963407;
	return (double)((dice >> 11) + 1) / 9007199254740992.0;
}

/* How long a call takes, in ms, about 2. */
static double even(void)
{
	return 2;
}

static double exponential(void)
{
	return -2 * log(chance());
}

static double lognormal(void)
{
	return 2 * exp(sqrt(-2 * log(chance())) * cos(6.2831853 * chance()));
}

static double pareto(void)
{
	return pow(chance(), -1 / 1.5);
}

/* One in fifty misses a cache. */
static double misses(void)
{
	return chance() < 0.02 ? 50 + 100 * chance() : 1 + chance();
}

/* A machine that at times has no core for the thread. */
static double preempted(void)
{
	return 2 + (chance() < 0.01 ? 60 * chance() : chance());
}

/* A machine that at times does something else: the kernel does not say so. */
static double disturbed(void)
{
	return chance() < 0.0002 ? 30 + 15 * chance() : 2 + chance();
}

static int longer(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* 20,000 calls of serve, and so many slow ones, of which a part is that. */
static void served(double (*took)(void), unsigned slow, double slow_ms,
		   double off, double ready)
{
	enum { CALLS = 20000 };
	static double ms[CALLS + 20];
	struct explain_call call[EXPLAIN_LONGEST];
	node_id main, serve;
	double sum = 0;

	begin();
	cct_collect_hist(session->cct);
	main = put(0, "main", 1, 15000, 0, 0);
	serve = put(main, "serve", CALLS + slow, 0, 0, 0);
	put(main, "accept_one", CALLS, 100, 4000, 0);
	for (unsigned i = 0; i < CALLS + slow; i++) {
		ms[i] = i < slow ? slow_ms + (double)i : took();
		cct_time(session->cct, serve, (uint64_t)(ms[i] * MS));
		sum += ms[i];
	}
	cct_get(session->cct, serve)->self = (uint64_t)(sum * MS);
	qsort(ms, CALLS + slow, sizeof(*ms), longer);
	for (unsigned i = 0; i < EXPLAIN_LONGEST; i++) {
		const double part = i < slow ? ms[i] : 0;

		call[i] = (struct explain_call){
			(ticks)(ms[i] * MS), (ticks)(part * off * MS),
			(ticks)(part * ready * MS), (ticks)(part * MS), 0 };
	}
	explain_find(&found, session, &seen);
	if (CHECK(found.suspects <= 1) && found.suspects > 0)
		explain_judge(&found, &found.suspect[0], call,
			      EXPLAIN_LONGEST);
	explain_settle(&found);
}

/* How many slow calls it tells, 1 for one alone. */
static uint64_t told(void)
{
	for (size_t i = 0; i < found.count; i++)
		if (found.finding[i].kind == EXPLAIN_SLOW)
			return found.finding[i].few ?: 1;
	return 0;
}

/* Each of 3 takes less than 1 % of the time. */
void test_explain_tells_a_few_slow_calls(void)
{
	double (*const natural[])(void) = { even, exponential, preempted };

	for (int i = 0; i < 3; i++) {
		dice = 42;
		served(natural[i], 3, 300, 0, 0);
		CHECK_EQ(told(), 3);
		session_free(session);
	}
	dice = 42;
	served(disturbed, 20, 200, 0.3, 0.1);
	CHECK_EQ(told(), 20);
	for (size_t i = 0; i < found.count; i++)
		if (found.finding[i].kind == EXPLAIN_SLOW) {
			CHECK_EQ(found.finding[i].on / MS, 2933);
			CHECK_EQ((found.finding[i].blocked + 9) / MS, 838);
			CHECK_EQ(found.finding[i].ready / MS, 419);
		}
	session_free(session);
	served(even, 1, 700, 0, 0);
	CHECK_EQ(told(), 1);
	session_free(session);
	served(even, 1, 300, 0, 0); /* too short for what it all takes */
	CHECK_EQ(told(), 0);
	session_free(session);
	served(even, 3, 300, 0.9, 0); /* asleep */
	CHECK_EQ(told(), 3);
	session_free(session);
	served(even, 3, 300, 0.99, 0.99); /* without a core */
	CHECK_EQ(told(), 0);
	session_free(session);
}

/* It did 700 ms itself, and that makes it stand apart. It took more, which is
 * what is told, with parts that are all of it. */
void test_explain_tells_what_a_slow_call_took(void)
{
	const struct explain_finding *f = found.finding;

	dice = 42;
	served(even, 1, 1400, 0.5, 0.5);
	while (f < found.finding + found.count && f->kind != EXPLAIN_SLOW)
		f++;
	REQUIRE(f < found.finding + found.count);
	CHECK_EQ(f->few, 1);
	CHECK_EQ(f->time, 1400 * MS);
	CHECK_EQ(f->on + f->blocked + f->ready, f->time);
	CHECK_EQ(f->ready, 700 * MS);
	CHECK_EQ(f->suspended, 1400 * MS);
	CHECK_EQ(f->rank, 700 * MS);
	session_free(session);
}

/* However long the tail is. */
void test_explain_is_silent_where_calls_vary(void)
{
	double (*const natural[])(void) = { even, exponential, lognormal,
					    pareto, misses, preempted };
	unsigned invented = 0;

	dice = 7;
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 20; k++) {
			served(natural[i], 0, 0, 0, 0);
			invented += told() > 0;
			session_free(session);
		}
	CHECK_EQ(invented, 0);
}

/* What may be idleness below the function is no slow call; and of several
 * functions the innermost is told, in place of the slowest call alone. */
void test_explain_chooses_among_the_few(void)
{
	struct explain e = { .count = 2, .matters = 100, .suspects = 3 };

	e.finding[0] = (struct explain_finding){ .kind = EXPLAIN_HOT,
						 .rank = 500 };
	e.finding[1] = (struct explain_finding){ .kind = EXPLAIN_SLOW,
						 .func = 9, .rank = 400 };
	for (unsigned i = 0; i < 3; i++) {
		struct explain_call call[] = { { 300, 290, 0, 0, 0 },
					       { 302, 290, 0, 0, 0 },
					       { 310 - i, 290, 0, 0, 0 },
					       { 2, 0, 0, 0, 0 } };

		e.suspect[i] = (struct explain_suspect){
			.finding = { .kind = EXPLAIN_SLOW, .func = i + 1,
				     .typical = 1 },
			.most = 20, .long_sum = 912, .idle = i < 2 ? 0 : 900 };
		explain_judge(&e, &e.suspect[i], call, 4);
		CHECK_EQ(e.suspect[i].finding.few, i < 2 ? 3 : 0);
	}
	explain_settle(&e);
	CHECK_EQ(e.count, 2);
	CHECK_EQ(e.finding[1].func, 2);
	CHECK_EQ(e.finding[1].least, 300);
	e.count = 1;
	explain_settle(&e);
	CHECK_EQ(e.count, 2);
	CHECK_EQ(e.finding[1].did, 309);
	e.suspects = 0;
	e.finding[1].func = 9;
	explain_settle(&e);
	CHECK_EQ(e.finding[1].func, 9);
}

/* Of a short run's short calls little is known: that goes with them. */
void test_explain_has_the_error_of_what_is_hot(void)
{
	node_id id;

	begin();
	id = put(put(0, "main", 1, 1, 0, 0), "tiny", 1000000, 40, 0, 0);
	check(EXPLAIN_HOT, "tiny", 40);
	CHECK_EQ(found.finding[0].error, 0);
	cct_collect_samples(session->cct);
	cct_set_net(session->cct, true);
	cct_sampled_of(session->cct, id)->variance = 30.0 * MS * 30 * MS;
	check(EXPLAIN_HOT, "tiny", 40);
	CHECK_EQ(found.finding[0].error, 30 * MS);
	session_free(session);
}
