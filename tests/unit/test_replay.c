/* test_replay.c - what replay texts cannot say: very deep stacks, very many
 * threads, duplicates, notes, the recorder's own chunks, loss by reason.
 * SPDX-License-Identifier: MIT */
#include "analyzer/replay/replay.h"
#include "tests/unit/told.h"

#include <stdio.h>

static struct session *session;

static void begin(const struct replay_sink *sink, void *ctx)
{
	session = session_new(0);
	replay = replay_new(session, sink, ctx);
}

static void end(void)
{
	replay_finish(replay);
	CHECK(cct_valid(session->cct));
}

static void clean(void)
{
	replay_free(replay);
	session_free(session);
}

/* The stack a chunk gives: of more than 4,096 frames, the middle left out. */
static void open_deep(uint64_t depth, uint64_t tick)
{
	const uint64_t most = CHUNK_STACK_OUTER + CHUNK_STACK_INNER;

	for (uint64_t i = 0; i < depth; i++) {
		if (depth > most && i == CHUNK_STACK_OUTER) {
			cb_open(&b, NULL, depth - most);
			i = depth - CHUNK_STACK_INNER;
		}
		cb_open(&b, "f", tick - (i + 1));
	}
}

/* Recursion of 20,000 over contiguous chunks: down, then up again. skip: a
 * chunk in the middle is lost. */
static void recurse(uint64_t n, uint64_t per_chunk, uint64_t skip)
{
	uint64_t tick = 0, number = 0;

	for (uint64_t i = 0; i < 2 * n; ) {
		cb_begin(&b, 1, 1, number, tick);
		open_deep(i < n ? i : 2 * n - i, tick);
		for (uint64_t k = 0; k < per_chunk && i < 2 * n; k++, i++) {
			if (i < n)
				cb_enter(&b, "f", 1);
			else
				cb_leave(&b, "f", 1);
			tick++;
		}
		if (number++ != skip)
			give(tick);
	}
}

void test_replay_keeps_deep_stacks_whole_over_chunks(void)
{
	begin(NULL, NULL);
	recurse(20000, 5000, UINT64_MAX);
	end();
	CHECK_EQ(session->unnested, 0);
	CHECK_EQ(session->calls, 20000);
	CHECK_EQ(cct_count(session->cct), 20001);
	/* The outermost call took all the time but the first tick. */
	CHECK_EQ(cct_get(session->cct, 2)->max, 39999);
	clean();
}

void test_replay_goes_on_in_deep_stacks_after_loss(void)
{
	for (uint64_t skip = 0; skip < 8; skip++) {
		begin(NULL, NULL);
		recurse(20000, 5000, skip);
		end();
		CHECK_EQ(session->unnested, 0);
		CHECK_EQ(session->threads[0].missing_chunks, skip < 7);
		CHECK_EQ(session->threads[0].traced, 35000);
		clean();
	}
}

static void balance_enter(void *ctx, const struct replay_event *e)
{
	*(long *)ctx += e->func > 0;
}

static void balance_leave(void *ctx, const struct replay_event *e)
{
	*(long *)ctx -= e->func > 0;
}

void test_replay_pairs_events_of_frames_left_out(void)
{
	static const struct replay_sink sink = { .enter = balance_enter,
						 .leave = balance_leave };
	long balance = 0;

	begin(&sink, &balance);
	recurse(9000, 3000, 2);
	end();
	CHECK_EQ(balance, 0);
	CHECK_EQ(session->unnested, 0);
	clean();
}

void test_replay_ignores_what_came_already(void)
{
	begin(NULL, NULL);
	for (int i = 0; i < 3; i++) {
		cb_begin(&b, 1, 1, i == 1 ? 0 : (uint64_t)i, 0);
		cb_leaf(&b, "f", 1, 1);
		give(10);
	}
	end();
	CHECK_EQ(session->duplicate_chunks, 1);
	CHECK_EQ(session->calls, 2);
	CHECK_EQ(session->threads[0].missing_chunks, 1);
	clean();
}

void test_replay_tells_threads_and_processes_apart(void)
{
	begin(NULL, NULL);
	for (uint32_t p = 1; p <= 3; p++)
		for (uint32_t t = 1; t <= 50; t++) {
			cb_begin(&b, p, t, 0, 0);
			if (t == 50)
				b.header.recording++;
			cb_leaf(&b, "f", 1, 1);
			give(10);
		}
	end();
	CHECK_EQ(session->process_count, 6);
	CHECK_EQ(session->thread_count, 150);
	CHECK_EQ(session->calls, 150);
	clean();
}

void test_replay_reads_the_recorders_chunks(void)
{
	begin(NULL, NULL);
	cb_begin(&b, 0, 0, 0, 0);
	b.header.flags |= CHUNK_META;
	cb_pair(&b, ITEM_NOTE, "command", "prog a b");
	cb_pair(&b, ITEM_LABEL, "zone", "eu");
	give(0);
	CHECK_STR(session_note(session, "command"), "prog a b");
	CHECK_STR(session_note(session, "label.zone"), "eu");
	CHECK(!session_note(session, "end"));
	CHECK(session_complete(session));
	cb_begin(&b, 0, 0, 1, 0);
	b.header.flags |= CHUNK_META;
	cb_pair(&b, ITEM_NOTE, "lost.full", "3");
	give(0);
	end();
	CHECK(!session_complete(session));
	CHECK_EQ(session->thread_count, 0);
	CHECK_EQ(session->chunks, 0);
	clean();
}

void test_replay_counts_loss_by_reason(void)
{
	begin(NULL, NULL);
	for (uint64_t i = 0; i < 3; i++) {
		cb_begin(&b, 1, 1, i, i * 10);
		b.header.lost[LOST_FULL] = i == 0 ? 5 : 9;
		b.header.lost[LOST_NAMES] = i;
		cb_open(&b, "main", i * 10);
		cb_leaf(&b, "f", 1, 1);
		give(i * 10 + 10);
	}
	end();
	CHECK_EQ(session->threads[0].lost[LOST_FULL], 9);
	CHECK_EQ(session->threads[0].lost[LOST_NAMES], 2);
	CHECK_EQ(session->threads[0].gaps, 1);
	CHECK_EQ(session->unnested, 0);
	CHECK_EQ(session->threads[0].open, 1);
	CHECK(!session_complete(session));
	clean();
}

void test_replay_takes_the_clock_with_the_least_error(void)
{
	begin(NULL, NULL);
	for (uint64_t i = 0; i < 3; i++) {
		cb_begin(&b, 1, 1, i, 1000);
		b.header.tick_hz = 2000000000 + i;
		b.header.tick_hz_error = i == 1 ? 10 : 100;
		give(1000);
	}
	end();
	CHECK_EQ(session->tick_hz, 2000000001);
	CHECK_EQ(session_ns(session, 2000000001), 1000000000);
	CHECK_EQ(session_mono(session, 1000), 2000);
	CHECK_EQ(session_real(session, 1000), 3000);
	CHECK_EQ(session_mono(session, 0), 1500);
	clean();
}

void test_replay_bounds_the_tree(void)
{
	char name[16];

	session = session_new(50);
	replay = replay_new(session, NULL, NULL);
	cb_begin(&b, 1, 1, 0, 0);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		cb_enter(&b, name, 1);
	}
	for (int i = 200; i-- > 0; ) {
		snprintf(name, sizeof(name), "f%d", i);
		cb_leave(&b, name, 1);
	}
	give(400);
	end();
	CHECK_EQ(session->unnested, 0);
	CHECK_EQ(session->calls, 200);
	/* 151 of them and "(deeper)" are beyond the limit. */
	CHECK_EQ(cct_count(session->cct), 50 + 1 + 151);
	for (node_id id = 2; id <= cct_count(session->cct); id++)
		CHECK_EQ(cct_get(session->cct, id)->calls, id != 51);
	CHECK(cct_deeper(session->cct) > 0);
	CHECK(session_complete(session));
	clean();
}

/* The first pair is the time for which switches are known. What is outside of
 * it, or out of order, is not counted. */
void test_replay_knows_time_off_the_cpu_and_for_how_long(void)
{
	static const uint64_t pairs[][8] = {
		{ 10, 90, 20, 30, 40, 60 },
		{ 100, 150, 90, 110, 105, 120, 140, 200 },
	};
	static const enum item_type types[] = { ITEM_OFFCPU, ITEM_OFFCPU,
						ITEM_SWITCHES, ITEM_NOTHING };
	/* From 210 on. The second time goes beyond the end. */
	static const uint64_t numbers[] = { 5, 20, 10, 7, 0, UINT64_MAX,
					    1, 1, 1 };

	begin(NULL, NULL);
	for (uint64_t i = 0; i < 4; i++) {
		const size_t n = i == 0 ? 6 : 8;
		size_t at;

		cb_begin(&b, 1, 1, i, i * 100);
		at = cb_item(&b);
		for (size_t k = 0; i < 2 && k < n; k++)
			cb_item_word(&b, pairs[i][k]);
		if (types[i] == ITEM_SWITCHES) {
			cb_item_word(&b, 210);
			cb_item_word(&b, 290);
			cb_numbers(&b, numbers, 9);
		}
		cb_item_end(&b, at, types[i]);
		give(i * 100 + 100);
	}
	end();
	CHECK_EQ(session->threads[0].known, 80 + 50 + 80);
	CHECK_EQ(session->threads[0].offcpu, 10 + 20 + 20 + 10 + 30 + 38);
	clean();
}

/* Three chunks of a second, each on the CPU by its switches. By the thread's
 * CPU clock it slept in the second one; and, in another run, between the last
 * record of the first one and the clock pair of the second. */
void test_replay_trusts_the_cpu_clock_more_than_switches(void)
{
	static const uint64_t cpu[2][4] = {
		{ 1, 1000000001, 1000500001, 2000000001 },
		{ 1, 1000000001, 1500000001, 2500000001 },
	};

	for (int run = 0; run < 2; run++) {
		begin(NULL, NULL);
		for (uint64_t i = 0; i < 3; i++) {
			const uint64_t from = i * 1000000000;
			size_t at;

			cb_begin(&b, 1, 1, i, from);
			b.header.cpu_begin = cpu[run][i];
			b.header.cpu_end = cpu[run][i + 1];
			if (run == 1 && i == 1)
				b.header.pair_tick += 500000000;
			at = cb_item(&b);
			cb_item_word(&b, from);
			cb_item_word(&b, from + 1000000000);
			cb_item_end(&b, at, ITEM_OFFCPU);
			give(from + 1000000000);
		}
		end();
		CHECK_EQ(session->threads[0].known, 2000000000);
		CHECK_EQ(session->threads[0].offcpu, 0);
		clean();
	}
}

/* A chunk of a process that has ended has no end of the CPU clock: there, the
 * switches tell what they know, here of 60 of 100 ns, with 25 off the CPU. */
void test_replay_says_of_which_time_the_cpu_clock_is_not_known(void)
{
	for (int switches = 0; switches < 2; switches++) {
		begin(NULL, NULL);
		for (uint64_t i = 0; i < 2; i++) {
			cb_begin(&b, 1, 1, i, i * 100);
			b.header.cpu_begin = 1 + i * 70;
			b.header.cpu_end = i == 0 ? 71 : 0;
			if (i == 1 && switches) {
				const size_t at = cb_item(&b);

				cb_item_word(&b, 130);
				cb_item_word(&b, 190);
				cb_item_word(&b, 150);
				cb_item_word(&b, 175);
				cb_item_end(&b, at, ITEM_OFFCPU);
			}
			give(i * 100 + 100);
		}
		end();
		CHECK_EQ(session->threads[0].cpu_ns, switches ? 105 : 70);
		CHECK_EQ(session->threads[0].cpu_unknown, switches ? 40 : 100);
		clean();
	}
}

static void count_on(const char *f, uint64_t under, uint64_t calls,
		     uint64_t took)
{
	cb_item_word(&b, rec_put((enum rec_kind)COUNTED_CALL, cb_func(&b, f),
				 under));
	cb_item_word(&b, calls);
	cb_item_word(&b, took);
}

/* The chunk's stack leaves a frame out, for want of room, which its counted
 * calls name: then their time stays with it. Else it was never that frame's. */
void test_replay_lets_counted_calls_name_what_a_stack_leaves_out(void)
{
	for (int omits = 0; omits < 2; omits++) {
		size_t at;

		begin(NULL, NULL);
		cb_begin(&b, 1, 1, 5, 1000);
		cb_open(&b, "main", 900);
		if (omits)
			cb_open(&b, NULL, 1);
		cb_func(&b, "caller");
		cb_func(&b, "brief");
		at = cb_item(&b);
		count_on("main", 0, 0, 0);
		count_on("caller", 1, 0, 0);
		count_on("brief", 2, 3, 40);
		cb_item_end(&b, at, ITEM_COUNTED);
		give(1100);
		end();
		CHECK_EQ(session->unnested, !omits);
		CHECK_EQ(session->calls, 3);
		clean();
	}
}

/* Two numbers missing, then records that the thread counted itself, then the
 * first chunks of another thread. */
void test_replay_tells_which_times_are_missing(void)
{
	static const uint64_t number[] = { 0, 3, 4 }, lost[] = { 0, 0, 7 };

	begin(NULL, NULL);
	for (int i = 0; i < 3; i++) {
		cb_begin(&b, 1, 1, number[i], 100 + (uint64_t)i * 50);
		b.header.lost[LOST_FULL] = lost[i];
		b.header.written = i == 0 ? 0 : 500;
		give(100 + (uint64_t)i * 50 + 10 + (uint64_t)i);
	}
	cb_begin(&b, 1, 2, 5, 1000);
	give(1001);
	end();
	CHECK_EQ(session->gap_total, 3);
	CHECK_EQ(session->gap_count, 3);
	CHECK_EQ(session->gaps[0].from, 0);
	CHECK_EQ(session->gaps[0].to, 1000);
	CHECK_EQ(session->gaps[0].chunks, 5);
	CHECK_EQ(session->gaps[0].thread, 1);
	CHECK_EQ(session->gaps[1].from, 110);
	CHECK_EQ(session->gaps[1].to, 150);
	CHECK_EQ(session->gaps[1].chunks, 2);
	CHECK_EQ(session->gaps[1].records, 500);
	CHECK_EQ(session->threads[0].missing_records, 500);
	CHECK_EQ(session->gaps[2].from, 161);
	CHECK_EQ(session->gaps[2].to, 200);
	CHECK_EQ(session->gaps[2].records, 7);
	CHECK_EQ(session->threads[0].missing, 40 + 39);
	CHECK_EQ(session->threads[1].headless, 1);
	clean();
}

void test_replay_keeps_the_longest_gaps(void)
{
	begin(NULL, NULL);
	for (uint64_t i = 0; i < 100; i++) {
		cb_begin(&b, 1, 1, 2 * i, 1000 * i + (i * 37) % 100);
		give(1000 * i + 100);
	}
	end();
	CHECK_EQ(session->gap_total, 99);
	CHECK_EQ(session->gap_count, SESSION_GAPS);
	for (size_t i = 1; i < SESSION_GAPS; i++)
		CHECK(session->gaps[i].to - session->gaps[i].from <=
		      session->gaps[i - 1].to - session->gaps[i - 1].from);
	CHECK(session->gaps[SESSION_GAPS - 1].to -
	      session->gaps[SESSION_GAPS - 1].from > 960);
	clean();
}

static const char *named(func_id func)
{
	return func_get(session->funcs, func)->source + 1;
}

/* "native;lua;call calls self" of all nodes with calls, as they were found. */
static const char *paths(void)
{
	static char text[2000];
	size_t n = 0;

	for (node_id id = 1; id <= cct_count(session->cct); id++) {
		const struct cct_node *const is = cct_get(session->cct, id);
		char path[200] = "";

		for (node_id at = id; cct_get(session->cct, at)->func != 0;
		     at = cct_get(session->cct, at)->parent) {
			char all[200];

			snprintf(all, sizeof(all), "%s%s%s",
				 named(cct_get(session->cct, at)->func),
				 path[0] ? ";" : "", path);
			strcpy(path, all);
		}
		if (is->calls > 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n,
					      "%s %d %d\n", path,
					      (int)is->calls, (int)is->self);
	}
	return text;
}

static void calls(unsigned lua)
{
	cb_noted(&b, NOTED_CALLS, 0, 0, lua, 1);
	if (lua > 0)
		cb_frame(&b, "outer", 0);
	if (lua > 1)
		cb_frame(&b, "inner", 0);
}

/* Calls that sampled Lua makes stand below it; its own time stays that of the
 * call that runs it. What was said holds for the next call alone, and the same
 * may be said again in one chunk. */
void test_replay_hangs_calls_below_sampled_lua(void)
{
	begin(NULL, NULL);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "run", 0);
	calls(2);
	cb_enter(&b, "call", 1);
	cb_leaf(&b, "below", 1, 1);
	cb_leave(&b, "call", 1);
	cb_leaf(&b, "beside", 1, 1);
	calls(0);
	cb_leaf(&b, "call", 1, 5);
	calls(1);
	cb_time(&b, 10);
	cb_enter(&b, "call", 1);
	cb_leave(&b, "call", 1);
	calls(2); /* but it returns */
	cb_leave(&b, "run", 1);
	cb_enter(&b, "other", 0);
	calls(2); /* the next chunk goes on */
	give(b.tick);
	cb_begin(&b, 1, 1, 1, b.tick);
	cb_open(&b, "other", 1);
	cb_enter(&b, "call", 0);
	cb_leave(&b, "call", 1);
	calls(0); /* of nothing that this chunk has said */
	cb_leaf(&b, "call", 1, 2);
	give(b.tick);
	end();
	CHECK_EQ(session->unnested, 0);
	CHECK_STR(paths(), "run 1 19\n"
			   "run;outer;inner;call 2 7\n"
			   "run;outer;inner;call;below 1 1\n"
			   "run;beside 1 1\n"
			   "run;outer;call 1 1\n"
			   "other 1 3\n"
			   "other;outer;inner;call 1 1\n"
			   "other;call 1 2\n");
	clean();
}

/* Where frames came from a coroutine, the outermost one is its body. */
void test_replay_finds_bodies_of_sampled_coroutines(void)
{
	begin(NULL, NULL);
	cb_begin(&b, 1, 1, 0, 0);
	cb_enter(&b, "run", 0);
	calls(1);
	cb_resume(&b, 7, 0, 0, 0, 1);
	calls(2);
	cb_leaf(&b, "call", 1, 3);
	cb_suspend(&b, 7, SUSPEND_YIELD, 1);
	cb_resume(&b, 7, 0, 1, 0, 1);
	calls(0);
	cb_leaf(&b, "call", 1, 3);
	cb_suspend(&b, 7, SUSPEND_RETURN, 1);
	cb_leave(&b, "run", 1);
	give(b.tick);
	end();
	CHECK_EQ(session->unnested, 0);
	CHECK_STR(paths(), "run 1 10\n"
			   "run;outer;outer;inner;call 1 3\n"
			   "run;outer;inner;call 1 3\n");
	CHECK_EQ(session->coroutine_count, 1);
	CHECK_STR(named(session->coroutines[0].body), "outer");
	clean();
}
