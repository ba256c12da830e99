/* test_snapshots.c - all stacks at a moment, as the records say them: over
 * threads, windows, gaps, handlers and frames left out.
 * SPDX-License-Identifier: MIT */
#include "analyzer/watch/snapshots/snapshots.h"
#include "tests/unit/told.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct session *session;
static struct snapshots *moments;

static void begin(const ticks *at, size_t count)
{
	session = session_new(0);
	moments = snapshots_new(at, count);
	replay = replay_new(session, &snapshots_sink, moments);
}

/* "MOMENT STATE T1|co9 main;~body@9;..." a line. */
static void tell(void *ctx, const struct snapshot_stack *s)
{
	static const char *const states[] = { "running", "run-wait", "blocked",
		"last", "off", "unknown", "suspended", "maybe", "new" };
	char line[200], left_out[40];

	(void)ctx;
	snprintf(line, sizeof(line), "%zu %s %s%" PRIu64, s->moment,
		 states[s->state], s->is_thread ? "T" : "co",
		 s->is_thread ? session->threads[s->thread].serial :
		 s->coroutine);
	add(line);
	for (size_t i = 0; i < s->count; i++) {
		const struct snapshot_frame *const f = &s->frames[i];
		const struct func *const func = func_get(session->funcs,
							 f->func);

		snprintf(left_out, sizeof(left_out), "[%u frames]", f->omitted);
		snprintf(line, sizeof(line), "%s%s%s%s", i == 0 ? " " : ";",
			 f->flags & STACK_BODY ? "~" : "",
			 f->omitted > 0 ? left_out :
			 f->flags & STACK_SAMPLED ? "[sampled]" :
			 f->func == 0 ? "[before]" : func->kind == FUNC_LUA ?
			 func->source + 1 : func->kind == FUNC_NATIVE ?
			 "native" : func->name,
			 f->flags & SNAPSHOT_ENTERS_LUA ? ">" : "");
		add(line);
		if (f->coroutine != 0) {
			snprintf(line, sizeof(line), "@%" PRIu64, f->coroutine);
			add(line);
		}
		if (f->flags & STACK_BEFORE && f->func != 0)
			add("?");
		if (f->level > 0)
			add("!");
	}
	add("\n");
}

static const char *end(void)
{
	replay_finish(replay);
	told[0] = '\0';
	snapshots_each(moments, session->funcs, tell, NULL);
	replay_free(replay);
	snapshots_free(moments);
	session_free(session);
	return told;
}

/* A coroutine made on thread 1 at 1, begun at 4, suspended at 10; it goes on on
 * thread 2 at 30, whose chunk may come first, and returns at 35. */
static void first_thread(void)
{
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 0);
	cb_create(&b, 9, 3, 1);
	cb_resume(&b, 9, 0, 0, 0, 3);
	cb_enter(&b, "body", 0);
	cb_enter(&b, "inner", 4);
	cb_suspend(&b, 9, SUSPEND_YIELD, 2);
	cb_leave(&b, "main", 5);
	b.header.flags |= CHUNK_LAST;
	give(20);
}

static void second_thread(void)
{
	cb_begin(&b, 1, 2, 0, 0);
	cb_enter(&b, "worker", 0);
	cb_resume(&b, 9, RESUME_STACK, 20, 2, 30);
	cb_frame(&b, "body", 6);
	cb_frame(&b, "inner", 2);
	cb_leave(&b, "inner", 4);
	cb_leave(&b, "body", 1);
	cb_suspend(&b, 9, SUSPEND_RETURN, 0);
	cb_leave(&b, "worker", 1);
	give(40);
}

static const char migrated[] =
	"0 running T1 main\n"
	"0 running T2 worker\n"
	"0 new co9\n"
	"1 running T1 main;~body@9;inner@9\n"
	"1 running T2 worker\n"
	"2 running T1 main\n"
	"2 running T2 worker\n"
	"2 suspended co9 ~body@9;inner@9\n"
	"3 running T2 worker\n"
	"3 suspended co9 ~body@9;inner@9\n"
	"4 running T2 worker;~body@9;inner@9\n"
	"5 running T2 worker;~body@9\n"
	"6 running T2 worker\n";

static const ticks seven[] = { 1, 8, 10, 29, 30, 34, 35 };

void test_snapshots_follow_a_coroutine_from_thread_to_thread(void)
{
	begin(seven, 7);
	first_thread();
	second_thread();
	CHECK_STR(end(), migrated);
}

/* Threads are numbered as they come; everything else is the same. */
void test_snapshots_need_no_order_of_streams(void)
{
	const char *found;

	begin(seven, 7);
	second_thread();
	first_thread();
	found = end();
	CHECK(strstr(found, "3 running T2 worker\n"
		     "3 suspended co9 ~body@9;inner@9\n"
		     "4 running T2 worker;~body@9;inner@9\n"
		     "5 running T2 worker;~body@9\n") != NULL);
	CHECK(strstr(found, "0 new co9\n") != NULL);
	CHECK(strstr(found, "2 suspended co9 ~body@9;inner@9\n") != NULL);
	CHECK_EQ(strlen(found), sizeof(migrated) - 1);
}

/* The window's first calls end at 20 and 25: they lay below all. */
void test_snapshots_know_calls_open_before_the_start(void)
{
	static const ticks at[] = { 5, 22, 27, 55 };

	begin(at, 4);
	cb_begin(&b, 1, 1, 0, 0);
	b.header.flags |= CHUNK_BASE_UNKNOWN | CHUNK_LAST;
	cb_enter(&b, "f", 3);
	cb_leave(&b, "f", 7);
	cb_old(&b, "inner", 10);
	cb_old(&b, "outer", 5);
	give(30);
	cb_begin(&b, 1, 1, 1, 50);
	b.header.flags |= CHUNK_BASE_UNKNOWN | CHUNK_LAST;
	cb_enter(&b, "f", 3);
	give(60);
	CHECK_STR(end(), "0 running T1 outer?;inner?;f\n"
			 "1 running T1 outer?\n"
			 "2 running T1\n"
			 "3 running T1 [before];f\n");
}

/* Between two windows, where a chunk is missing, before the first one that is
 * there, and after the last, as long as the process lives. */
void test_snapshots_say_what_is_not_known(void)
{
	static const ticks at[] = { 5, 15, 25, 35, 45, 60 };

	begin(at, 6);
	cb_begin(&b, 1, 1, 1, 10);
	cb_enter(&b, "main", 0);
	cb_resume(&b, 7, 0, 0, 0, 1);
	cb_enter(&b, "body", 0);
	cb_suspend(&b, 7, SUSPEND_YIELD, 1);
	give(20);
	cb_begin(&b, 1, 1, 3, 30);
	cb_segment(&b, 0);
	cb_open(&b, "main", 20);
	give(40);
	cb_begin(&b, 1, 2, 0, 0);
	give(50);
	CHECK_STR(end(), "0 unknown T1\n"
			 "0 running T2\n"
			 "1 running T1 main\n"
			 "1 running T2\n"
			 "1 maybe co7 ~body@7\n"
			 "2 unknown T1\n"
			 "2 running T2\n"
			 "2 maybe co7 ~body@7\n"
			 "3 running T1 main\n"
			 "3 running T2\n"
			 "3 maybe co7 ~body@7\n"
			 "4 last T1 main\n"
			 "4 running T2\n"
			 "4 maybe co7 ~body@7\n");
}

void test_snapshots_put_handlers_on_top(void)
{
	static const ticks at[] = { 14, 16, 20 };

	begin(at, 3);
	cb_begin(&b, 1, 1, 0, 14);
	b.header.level = 1;
	b.header.interrupted_record = 2;
	cb_enter(&b, "handler", 1);
	cb_leave(&b, "handler", 2);
	give(18);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "main", 1);
	cb_leaf(&b, "f", 9, 20);
	cb_leave(&b, "main", 5);
	give(40);
	CHECK_STR(end(), "0 running T1 main;f\n"
			 "1 running T1 main;f;handler!\n"
			 "2 running T1 main;f\n");
}

/* Frames left out of a deep stack are one; a call whose entry nobody saw is
 * marked; a tick that ends a chunk belongs to the next one. */
void test_snapshots_keep_omitted_frames(void)
{
	static const ticks at[] = { 100, 110, 111 };

	begin(at, 3);
	cb_begin(&b, 1, 1, 4, 100);
	cb_segment(&b, 0);
	cb_open(&b, "main", REC_AGE_UNKNOWN);
	cb_open(&b, NULL, 3);
	cb_open(&b, "f", 1);
	give(110);
	cb_begin(&b, 1, 1, 5, 110);
	cb_segment(&b, 0);
	cb_open(&b, "main", REC_AGE_UNKNOWN);
	cb_open(&b, NULL, 3);
	cb_open(&b, "f", 11);
	cb_leave(&b, "f", 0);
	cb_leave(&b, "g", 1);
	give(120);
	CHECK_STR(end(), "0 running T1 main?;[3 frames];f\n"
			 "1 running T1 main?;[3 frames]\n"
			 "2 running T1 main?;[2 frames]\n");
}

/* Only the native frame directly below Lua's. */
void test_snapshots_mark_what_entered_lua(void)
{
	static const ticks at[] = { 5 };
	uint32_t host;

	begin(at, 1);
	cb_begin(&b, 1, 1, 0, 0);
	cb_module(&b, 1, "build-id", "/bin/host");
	host = cb_native(&b, "host", 1, 16);
	cb_put(&b, REC_ENTER, host, 0);
	cb_put(&b, REC_ENTER, host, 0);
	cb_enter(&b, "script", 1);
	cb_put(&b, REC_ENTER, host, 0);
	cb_resume(&b, 3, 0, 0, 0, 0);
	cb_enter(&b, "body", 1);
	cb_put(&b, REC_ENTER, host, 0);
	give(10);
	CHECK_STR(end(), "0 running T1 native;native>;script;native>;~body@3;"
			 "native@3\n");
}

static void noted(enum noted state, const char *inner, uint64_t gap)
{
	cb_noted(&b, state, state == NOTED_CALLS ? 0 : 5, 0, 2, gap);
	cb_frame(&b, "outer", 0);
	cb_frame(&b, inner, 0);
}

/* Which functions of sampled Lua are open is known as long as a call is that
 * they made; else only if a tick follows that stands for the moment. */
void test_snapshots_show_sampled_lua(void)
{
	static const ticks at[] = { 4, 8, 12, 17, 28, 34 };

	begin(at, 6);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "run", 0);
	noted(NOTED_CALLS, "inner", 2);
	cb_enter(&b, "call", 1);
	cb_leave(&b, "call", 3);
	noted(NOTED_INTERPRETED, "other", 8);
	noted(NOTED_INTERPRETED, "inner", 10);
	noted(NOTED_CALLS, "inner", 0);
	cb_resume(&b, 7, 0, 0, 0, 1);
	noted(NOTED_CALLS, "deep", 2);
	cb_enter(&b, "call", 1);
	cb_suspend(&b, 7, SUSPEND_YIELD, 5);
	cb_leave(&b, "run", 4);
	give(40);
	CHECK_STR(end(), "0 running T1 run;outer;inner;call\n"
		  "1 running T1 run\n"
		  "2 running T1 run;[sampled];outer;other\n"
		  "3 running T1 run;[sampled];outer\n"
		  "4 running T1 run;outer;inner;~outer@7;deep@7;call@7\n"
		  "5 running T1 run\n"
		  "5 suspended co7 ~outer@7;deep@7;call@7\n");
}
