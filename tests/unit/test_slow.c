/* test_slow.c - single calls: their times over suspensions and threads in
 * either order, their stacks, which are kept.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/watch/slow/slow.h"
#include "tests/unit/told.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct session *session;
static struct slow *slow;

/* Every function is wanted. */
static void begin(size_t top)
{
	static uint8_t wanted[100];
	const struct slow_options options = {
		.wanted = wanted, .funcs = sizeof(wanted), .top = top };

	memset(wanted, 1, sizeof(wanted));
	session = session_new(0);
	slow = slow_new(&options);
	replay = replay_new(session, &slow_sink, slow);
}

static void add_stack(const struct stack_table *t, stack_id id)
{
	const struct stack_frame f = *stack_table_get(t, id);

	if (f.below != 0) {
		add_stack(t, f.below);
		add(";");
	}
	add(f.flags & STACK_BODY ? "~" : "");
	add(f.func == 0 ? "[before]" :
	    func_get(session->funcs, f.func)->source + 1);
}

/* "STACK on THREAD in COROUTINE BEGIN TOTAL SELF SUSPENDED END[ partial]
 * [ collecting TICKS]" */
static const char *end(void)
{
	static const char *const ends[] = { "returned", "unwound", "died",
		"cut", "open" };
	const struct slow_found *f;
	char line[200];

	replay_finish(replay);
	slow_finish(slow);
	f = slow_found(slow);
	told[0] = '\0';
	for (size_t i = 0; i < f->count; i++) {
		const struct slow_call *const c = &f->calls[i];

		add_stack(f->stacks, c->stack);
		snprintf(line, sizeof(line), " T%u in %" PRIu64 " %" PRIu64
			 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s%s\n",
			 session->threads[c->thread].serial, c->coroutine,
			 c->begin, c->total, c->self, c->suspended,
			 ends[c->end], c->is_partial ? " partial" : "");
		add(line);
		if (c->parts.collecting == 0)
			continue;
		told[strlen(told) - 1] = '\0';
		snprintf(line, sizeof(line), " collecting %" PRIu64 "\n",
			 c->parts.collecting);
		add(line);
	}
	snprintf(line, sizeof(line), "%" PRIu64 " ended, %" PRIu64
		 " open, %" PRIu64 " unknown\n", f->ended, f->open,
		 f->unknown);
	add(line);
	replay_free(replay);
	slow_free(slow);
	session_free(session);
	return told;
}

void test_slow_sums_a_call_over_threads_in_any_order(void)
{
	static const uint32_t order[6][3] = {
		{ 1, 2, 3 }, { 1, 3, 2 }, { 2, 1, 3 },
		{ 2, 3, 1 }, { 3, 1, 2 }, { 3, 2, 1 } };

	for (size_t i = 0; i < 6; i++) {
		begin(0);
		for (size_t k = 0; k < 3; k++)
			thread(order[i][k]);
		CHECK_STR(end(),
			  "last T3 in 0 0 57 51 0 returned\n"
			  "worker T2 in 0 0 40 36 0 returned\n"
			  "main;~body T1 in 9 4 16 7 36 returned\n"
			  "main T1 in 0 0 15 9 0 returned\n"
			  "main;~body;native;inner T1 in 9 8 7 5 36 "
			  "returned\n"
			  "main;~body;native T1 in 9 6 4 2 0 unwound\n"
			  "worker;~body;inner;leaf T2 in 9 31 2 2 0 "
			  "returned\n"
			  "7 ended, 0 open, 0 unknown\n");
	}
}

/* The least total goes first; of equal ones the later. */
void test_slow_keeps_the_slowest(void)
{
	begin(2);
	cb_begin(&b, 1, 1, 0, 0);
	for (uint64_t i = 0; i < 50; i++)
		cb_leaf(&b, "f", 1, i * 7 % 50);
	cb_leaf(&b, "f", 1, 49);
	give(2000);
	CHECK_STR(end(), "f T1 in 0 155 49 49 0 returned\n"
			 "f T1 in 0 1276 49 49 0 returned\n"
			 "51 ended, 0 open, 0 unknown\n");
}

/* What did not end, what lost a part, what nobody saw begin. */
void test_slow_says_what_is_not_whole(void)
{
	begin(0);
	cb_begin(&b, 1, 1, 3, 100);
	cb_segment(&b, 0);
	cb_open(&b, "main", REC_AGE_UNKNOWN);
	cb_open(&b, "f", 30);
	cb_leave(&b, "f", 5);
	cb_resume(&b, 7, 0, 0, 0, 1);
	cb_enter(&b, "body", 0);
	cb_suspend(&b, 7, SUSPEND_YIELD, 2);
	cb_enter(&b, "g", 1);
	give(120);
	CHECK_STR(end(), "main;f T1 in 0 70 35 5 0 returned partial\n"
			 "main;g T1 in 0 109 11 11 0 open\n"
			 "main;~body T1 in 7 106 2 2 0 open\n"
			 "1 ended, 2 open, 1 unknown\n");
}

/* The suspend is in a chunk that is lost: the call counts, once. */
void test_slow_counts_a_call_whose_suspend_is_lost(void)
{
	begin(0);
	cb_begin(&b, 1, 2, 0, 0);
	cb_resume(&b, 9, RESUME_STACK, 20, 2, 30);
	cb_frame(&b, "body", 6);
	cb_frame(&b, "inner", 2);
	cb_leave(&b, "inner", 4);
	give(40);
	CHECK_STR(end(), "~body T2 in 9 4 16 6 20 open partial\n"
			 "~body;inner T2 in 9 8 6 4 20 returned partial\n"
			 "1 ended, 1 open, 0 unknown\n");
}

/* The suspend knows nothing of a call that was in the resume: it began on the
 * thread of the resume, as far as is known. */
void test_slow_gives_up_where_the_call_went_on(void)
{
	begin(0);
	cb_begin(&b, 1, 1, 0, 0);
	cb_leaf(&b, "first", 0, 1);
	give(2);
	cb_begin(&b, 1, 2, 0, 0);
	cb_resume(&b, 9, RESUME_STACK, 20, 2, 30);
	cb_frame(&b, "body", 6);
	cb_frame(&b, "inner", 2);
	give(32);
	cb_begin(&b, 1, 2, 1, 32);
	cb_segment(&b, 0);
	cb_segment(&b, 9);
	cb_open(&b, "body", 8);
	cb_open(&b, "inner", 4);
	cb_leave(&b, "inner", 4);
	give(40);
	cb_begin(&b, 1, 3, 0, 0);
	cb_resume(&b, 9, 0, 0, 0, 4);
	cb_enter(&b, "body", 0);
	cb_suspend(&b, 9, SUSPEND_YIELD, 6);
	give(20);
	/* A chunk is replayed when the next one of its thread comes. */
	cb_begin(&b, 1, 3, 1, 20);
	give(21);
	CHECK_STR(end(), "~body T3 in 9 4 16 10 20 open\n"
			 "~body;inner T2 in 9 8 8 6 20 returned partial\n"
			 "first T1 in 0 0 1 1 0 returned\n"
			 "2 ended, 1 open, 0 unknown\n");
}

/* A native body died at the yield; its coroutine goes on elsewhere, empty. */
void test_slow_ends_what_a_yield_cut_in_either_order(void)
{
	for (int first = 1; first <= 2; first++) {
		begin(0);
		for (int n = first; n != 0; n = n == first ? 3 - first : 0) {
			cb_begin(&b, 1, (uint32_t)n, 0, 0);
			cb_enter(&b, n == 1 ? "main" : "worker", 0);
			cb_resume(&b, 9, n == 1 ? 0 : RESUME_STACK,
				  n == 1 ? 0 : 20, 0, n == 1 ? 4 : 30);
			cb_enter(&b, n == 1 ? "native" : "body", 2);
			cb_suspend(&b, 9, SUSPEND_YIELD, 4);
			give(n == 1 ? 20 : 60);
		}
		CHECK_STR(end(), "worker T2 in 0 0 60 56 0 open\n"
				 "main T1 in 0 0 20 16 0 open\n"
				 "main;~native T1 in 9 6 4 4 0 unwound\n"
				 "worker;~body T2 in 9 32 4 4 0 open\n"
				 "1 ended, 3 open, 0 unknown\n");
	}
}

/* A coroutine comes and goes on two threads, all at one tick: its last suspend
 * is taken for the one before its first resume. */
void test_slow_joins_no_call_with_itself(void)
{
	begin(0);
	cb_begin(&b, 1, 1, 0, 0);
	cb_time(&b, 10);
	for (int i = 0; i < 2; i++) {
		cb_resume(&b, 9, RESUME_STACK, 0, 1, 0);
		cb_frame(&b, "body", 3);
		cb_suspend(&b, 9, SUSPEND_YIELD, 0);
	}
	give(20);
	cb_begin(&b, 1, 2, 0, 0);
	cb_resume(&b, 9, RESUME_STACK, 0, 1, 10);
	cb_frame(&b, "body", 3);
	cb_suspend(&b, 9, SUSPEND_YIELD, 0);
	cb_resume(&b, 9, 0, 5, 0, 5);
	cb_leave(&b, "body", 1);
	cb_suspend(&b, 9, SUSPEND_RETURN, 0);
	cb_resume(&b, 8, RESUME_STACK, 2, 1, 1);
	cb_frame(&b, "other", 5);
	cb_leave(&b, "other", 1);
	cb_suspend(&b, 8, SUSPEND_RETURN, 0);
	give(20);
	CHECK_STR(end(), "~other T2 in 8 10 6 1 2 returned partial\n"
			 "~body T2 in 9 7 4 1 5 returned partial\n"
			 "2 ended, 0 open, 0 unknown\n");
}

/* For a person, what a library calls of itself is left out. */
void test_slow_the_line_of_a_stack_is_the_programs(void)
{
	static const char *const names[] = { "std::run()", "std::go()", "work",
		"std::sort(int*)", "std::f()", "std::g()", "less", "std::a()",
		"std::b()", "lock" };
	struct func_table *const funcs = func_table_new();
	struct stack_table *const t = stack_table_new();
	stack_id id = 0;
	char *text;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		id = stack_table_push(t, id, func_special(funcs, names[i]), 0);
	text = stack_table_line(t, funcs, id, NULL);
	CHECK_STR(text, "... > work > std::sort(int*) > ... > less > std::a() "
			"> ... > lock");
	mem_free(text);
	id = stack_table_push(t, stack_table_push(t, id, 2, STACK_OMITTED),
			      func_special(funcs, "std::c()"), 0);
	text = stack_table_line(t, funcs, stack_table_own(t, funcs, id),
				NULL);
	CHECK_STR(strstr(text, "lock"), "lock > [2 frames]");
	mem_free(text);
	stack_table_free(t);
	func_table_free(funcs);
}

static char *two_letters(const char *name)
{
	return mem_print("%.2s", name);
}

/* For a person, long names are shortened. */
void test_slow_the_line_of_a_stack_has_short_names(void)
{
	struct func_table *const funcs = func_table_new();
	struct stack_table *const t = stack_table_new();
	const stack_id id = stack_table_push(t, stack_table_push(t, 0,
		func_special(funcs, "main"), 0), func_special(funcs, "work"),
		0);
	char *const text = stack_table_line(t, funcs, id, two_letters);

	CHECK_STR(text, "ma > wo");
	mem_free(text);
	stack_table_free(t);
	func_table_free(funcs);
}

/* Of a stack that is deeper than its text. */
void test_slow_the_text_of_a_deep_stack_is_short(void)
{
	struct func_table *const funcs = func_table_new();
	struct stack_table *const t = stack_table_new();
	const func_id f = func_special(funcs, "f");
	stack_id id = stack_table_push(t, 0, func_special(funcs, "main"), 0);
	char *text, *at;
	size_t n = 0;

	for (int i = 0; i < 300; i++)
		id = stack_table_push(t, id, f, 0);
	CHECK_EQ(stack_table_depth(t, id), 301);
	text = stack_table_text(t, funcs, id, ";");
	CHECK(strncmp(text, "[45 frames];f;f", 15) == 0);
	for (at = text; (at = strchr(at, ';')); at++)
		n++;
	CHECK_EQ(n, 256);
	mem_free(text);
	stack_table_free(t);
	func_table_free(funcs);
}

/* What the collector took is a part of all calls that are open then, and no
 * more than these took. */
void test_slow_says_how_long_garbage_was_collected(void)
{
	begin(0);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 0);
	cb_enter(&b, "call", 10);
	cb_noted(&b, NOTED_COLLECTOR, 6, 0, 1, 8);
	cb_frame(&b, "lua", 3);
	cb_noted(&b, NOTED_COMPILED, 5, 0, 1, 5);
	cb_frame(&b, "lua", 3);
	cb_leave(&b, "call", 2);
	cb_enter(&b, "short", 5);
	cb_noted(&b, NOTED_COLLECTOR, 20, 0, 1, 2);
	cb_frame(&b, "lua", 3);
	cb_leave(&b, "short", 1);
	cb_leave(&b, "main", 10);
	give(60);
	CHECK_STR(end(), "main T1 in 0 0 43 25 0 returned collecting 26\n"
			 "main;call T1 in 0 10 15 15 0 returned collecting 6\n"
			 "main;short T1 in 0 30 3 3 0 returned collecting 3\n"
			 "3 ended, 0 open, 0 unknown\n");
}

/* The thread sleeps from 10 to 40, and nobody knows what it does from 50 on: a
 * call there is in doubt, and ranks by what is known. */
void test_slow_says_of_which_calls_no_switches_are_known(void)
{
	static const struct {
		ticks total, off, unknown;
		bool is_known;
	} is[] = {
		{ 87, 30, 37, false }, { 44, 30, 0, true },
		{ 30, 0, 30, false }, { 3, 0, 0, true },
	};
	static const uint64_t asleep[] = { 10, 30, 0 };
	const struct slow_found *f;

	begin(0);
	cb_begin(&b, 1, 1, 0, 0);
	cb_switches(&b, 0, 50, asleep, 3);
	cb_enter(&b, "main", 0);
	cb_enter(&b, "sleeps", 1);
	cb_leave(&b, "sleeps", 44);
	cb_leaf(&b, "runs", 1, 3);
	cb_enter(&b, "lost", 5);
	cb_leave(&b, "lost", 30);
	cb_leave(&b, "main", 3);
	give(87);
	replay_finish(replay);
	slow_finish(slow);
	f = slow_found(slow);
	for (size_t i = 0; i < 4; i++) {
		const struct slow_call *const c = &f->calls[i];

		CHECK_EQ(c->total, is[i].total);
		CHECK_EQ(c->parts.off, is[i].off);
		CHECK_EQ(c->parts.unknown, is[i].unknown);
		CHECK_EQ(slow_knows_switches(c), is[i].is_known);
	}
	replay_free(replay);
	slow_free(slow);
	session_free(session);
}

/* The body of a coroutine of sampled Lua has noted that it made the call. */
void test_slow_takes_no_call_of_sampled_lua_for_a_body(void)
{
	begin(0);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 0);
	cb_resume(&b, 9, 0, 0, 0, 4);
	cb_noted(&b, NOTED_CALLS, 0, 0, 1, 1);
	cb_frame(&b, "lua", 0);
	cb_enter(&b, "native", 1);
	cb_leave(&b, "native", 20);
	cb_suspend(&b, 9, SUSPEND_YIELD, 2);
	cb_leave(&b, "main", 5);
	give(60);
	CHECK_STR(end(), "main T1 in 0 0 33 13 0 returned\n"
			 "main;~lua;native T1 in 9 6 20 20 0 returned\n"
			 "2 ended, 0 open, 0 unknown\n");
}
