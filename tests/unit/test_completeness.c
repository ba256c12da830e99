/* test_completeness.c - what is lost is said to be lost, and nothing else is.
 * links: analyzer
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/completeness.h"
#include "tests/test.h"

#include <string.h>

static char said[4096];

static void take(void *ctx, const char *sentence)
{
	(void)ctx;
	strncat(said, sentence, sizeof(said) - strlen(said) - 2);
	strcat(said, "\n");
}

/* A trace of no thread with these notes; NULL: without one. */
static size_t losses(const char *complete, const char *trouble,
		     const char *reason, const char *lost)
{
	struct session *const s = session_new(0);
	struct load load = { .session = s };
	struct note notes[4] = { { "end", "1" } };
	size_t n = 1, count;

	if (complete)
		notes[n++] = (struct note){ "complete", complete };
	if (trouble)
		notes[n++] = (struct note){ "trouble", trouble };
	if (reason)
		notes[n++] = (struct note){ reason, lost };
	s->notes = notes;
	s->note_count = n;
	said[0] = '\0';
	count = completeness_each(&load, take, NULL);
	strcat(said, "--\n");
	completeness_notes(&load, take, NULL);
	s->notes = NULL;
	session_free(s);
	return count;
}

void test_completeness_takes_trouble_for_a_note_where_all_was_delivered(void)
{
	CHECK_EQ(losses("yes", "LTTng is given up", NULL, NULL), 0);
	CHECK_STR(said, "--\nthe recorder says: LTTng is given up\n");
	CHECK_EQ(losses("no", "LTTng is given up", NULL, NULL), 1);
	CHECK_STR(said, "the recorder says: LTTng is given up\n--\n");
	CHECK_EQ(losses("no", NULL, NULL, NULL), 1);
	CHECK_STR(said, "the recorder says that it is not complete\n--\n");
	CHECK_EQ(losses("yes", NULL, NULL, NULL), 0);
	CHECK_STR(said, "--\n");
}

/* What is said of a recording with a budget of 5 %. */
static const char *of_budget(const char *share, const char *why_not)
{
	struct session *const s = session_new(0);
	struct load load = { .session = s };
	struct note notes[] = { { "budget.limit", "5%" },
		{ "budget.share", share },
		{ "samples.why-not", why_not } };

	s->notes = notes;
	s->note_count = why_not ? 3 : 2;
	said[0] = '\0';
	completeness_notes(&load, take, NULL);
	s->notes = NULL;
	session_free(s);
	return said;
}

void test_completeness_says_whether_a_budget_was_kept(void)
{
	CHECK(!strstr(of_budget("5.50%", NULL), "kept"));
	CHECK(strstr(of_budget("6.94%", NULL), "was not kept: at the end, "
		     "recording some calls and counting the others took "
		     "6.94% of"));
	CHECK(strstr(of_budget("6.94%", "--sample-rate 0"),
		     "was not kept, as far as that is known without samples: "
		     "at the end"));
	CHECK(!strstr(said, "left calls out"));
}

void test_completeness_says_that_an_earlier_budget_left_calls_out(void)
{
	struct session *const s = session_new(0);
	struct load load = { .session = s };
	struct note note = { "budget", "5%" };

	s->notes = &note;
	s->note_count = 1;
	said[0] = '\0';
	completeness_notes(&load, take, NULL);
	s->notes = NULL;
	session_free(s);
	CHECK(strstr(said, "by an earlier version of weft, which left calls"));
}

/* Samples are missing for another reason than that threads sleep, if the
 * recorder has lost about as many. */
void test_completeness_says_that_samples_were_lost(void)
{
	for (int is_net = 0; is_net < 2; is_net++)
		for (int most = 0; most < 2; most++) {
			struct session *const s = session_new(0);
			struct load load = { .session = s };
			struct note note = { "samples.lost",
					     most ? "1339" : "3" };

			s->tick_hz = 1000000000;
			s->net = (struct net){ .period = 1000000, .own = 200,
				.is_net = is_net ? NET_SAMPLED :
						   NET_CALIBRATED,
				.raw = 2000000000, .unsampled = 1400000000 };
			s->notes = &note;
			s->note_count = 1;
			said[0] = '\0';
			completeness_notes(&load, take, NULL);
			CHECK_EQ(strstr(said, "1,339 samples were lost") != 0,
				 most);
			CHECK_EQ(strstr(said, "lost") != 0, most);
			CHECK_EQ(strstr(said, "sleep") != 0, !most && !is_net);
			s->notes = NULL;
			session_free(s);
		}
}

void test_completeness_says_for_how_long_recording_was_off(void)
{
	struct session *const s = session_new(0);
	struct load load = { .session = s };
	struct note notes[] = { { "duty", "0.5s/1s of 1" },
				{ "off.ms", "1954" } };

	s->notes = notes;
	s->note_count = 2;
	said[0] = '\0';
	completeness_notes(&load, take, NULL);
	s->notes = NULL;
	session_free(s);
	CHECK(strstr(said, "recording was off for 1.954 s of the whole time"));
}

/* What is said of merged sessions' times. */
static const char *times(struct net net, bool is_raw)
{
	struct session *const s = session_new(0);
	struct load load = { .session = s, .is_raw = is_raw };

	s->net = net;
	said[0] = '\0';
	completeness_notes(&load, take, NULL);
	session_free(s);
	return said;
}

void test_completeness_says_how_times_of_each_session_were_made(void)
{
	const struct net calibrated = { .is_net = NET_CALIBRATED };
	const struct net few = { .is_net = NET_CALIBRATED, .period = 1000000,
				 .own = 9, .probe = 1 };
	const struct net raw = { .period = 1000000, .own = 9, .probe = 1 };
	struct net hardly = few, both = few;
	const struct net sampled = { .is_net = NET_SAMPLED, .period = 1000000,
				     .own = 900, .probe = 100 };

	hardly.unsampled = hardly.raw = 1000;
	both.is_net |= NET_SAMPLED;
	CHECK(!strstr(times(calibrated, false), "sessions"));
	CHECK(strstr(said, "there are no samples"));
	CHECK(strstr(times(calibrated, true), "of some sessions, self and "
		     "total are net, raw times less"));
	CHECK(strstr(said, "the times of other sessions are as recorded"));
	CHECK(strstr(times(few, true), "of some sessions, self and total are "
		     "net, raw times less"));
	CHECK(strstr(said, "the times of other sessions are as recorded"));
	CHECK(!strstr(said, "estimated from"));
	CHECK(strstr(times(few, false), "there are 10 samples only"));
	CHECK(!strstr(said, "sessions") && !strstr(said, "hold"));
	CHECK(strstr(times(hardly, false), "little of the CPU time was "
		     "sampled"));
	CHECK(strstr(times(both, false), "of some sessions, self and total "
		     "are net, raw times less"));
	CHECK(strstr(said, "in some sessions, probes took 10.0% of the run"));
	CHECK(strstr(said, "estimated from 10 samples"));
	CHECK(!strstr(said, "as recorded\n"));
	both.unsampled = 1, both.raw = 10;
	CHECK(strstr(times(both, false), "10.0% of their CPU time has no"));
	CHECK(strstr(times(raw, true), "times hold weft's own part, 10.0% by "
		     "10 samples: too few"));
	CHECK(!strstr(said, "sessions"));
	CHECK(!strstr(times(raw, false), "samples"));
	CHECK(strstr(times(sampled, true), "in some sessions, probes took"));
	CHECK(strstr(times(sampled, false), "estimated from 1,000 samples"));
	CHECK(!strstr(said, "sessions") && !strstr(said, "--reference"));
}

void test_completeness_names_the_reference_where_probes_take_much(void)
{
	const struct net much = { .is_net = NET_SAMPLED, .period = 1000000,
				  .own = 700, .probe = 300 };

	CHECK(strstr(times(much, false), "weft record --reference measures"));
}

void test_completeness_says_what_the_recorder_counted(void)
{
	CHECK_EQ(losses("no", NULL, "lost.overwritten", "1234"), 1);
	CHECK(strstr(said, "1,234 chunks overwritten by newer ones"));
	CHECK_EQ(losses("no", NULL, "lost.threads", "173"), 1);
	CHECK(strstr(said, "173 threads beyond those that can live"));
	CHECK_EQ(losses("no", NULL, "lost.processes", "1"), 1);
	CHECK_STR(said, "1 process that could not be recorded\n--\n");
	CHECK_EQ(losses("no", NULL, "lost.unheard", "1"), 1);
	CHECK_STR(said, "1 thread of which nothing is here: no buffer was ever "
		  "free\n--\n");
	CHECK_EQ(losses("no", NULL, "lost.switch", "1"), 1);
	CHECK_STR(said, "1 switch: stack switches that nobody announced\n"
		  "--\n");
	CHECK_EQ(losses("no", NULL, "records", "1"), 1);
	CHECK_STR(said, "1 record written by the recorder, but not here\n"
		  "--\n");
	CHECK_EQ(losses("yes", NULL, "lost.overwritten", "0"), 0);
}

/* What is said of a sampled state that noted 100 ms, and for 30 ms nothing. The
 * table has, in ms, that much of it, and that much that was not noted. */
static size_t states = 1;

static void of_noted(struct vm vm, unsigned is_net, ticks shown, ticks rest)
{
	struct session *const s = session_new(0);
	struct vm vms[] = { vm, vm, vm };
	struct process process = { .pid = 1 };
	struct load load = { .session = s };
	struct thread thread = { .noted = 100000000, .unnoted = 30000000 };
	const node_id root = cct_root(s->cct, 0);
	const node_id lua = cct_child(s->cct, root, func_special(s->funcs,
		"lua"), CCT_NOTED);
	const node_id lacks = cct_child(s->cct, root, func_special(s->funcs,
		"[Lua, not noted]"), CCT_NOTED);

	cct_get(s->cct, lua)->self = shown * 1000000;
	cct_get(s->cct, lacks)->self = rest * 1000000;
	s->tick_hz = 1000000000;
	s->threads = &thread;
	s->vms = vms;
	s->thread_count = 1;
	s->vm_count = states;
	s->processes = &process;
	s->process_count = 1;
	s->net.is_net = is_net;
	said[0] = '\0';
	completeness_notes(&load, take, NULL);
	s->threads = NULL;
	s->vms = NULL;
	s->processes = NULL;
	s->thread_count = s->vm_count = s->process_count = 0;
	session_free(s);
}

/* The same figure as in the table, if that has one. */
void test_completeness_says_how_much_was_not_noted(void)
{
	const struct vm lua = { .abi = VM_LUA54, .flags = VM_SAMPLED };

	of_noted(lua, 0, 100, 50);
	CHECK(strstr(said, "for 50.00 ms more Lua ran, by samples"));
	CHECK(!strstr(said, "30.00 ms"));
	of_noted(lua, 0, 100, 0);
	CHECK(strstr(said, "for 30.00 ms more Lua may have run"));
}

/* One of them has the profiler. */
void test_completeness_tells_of_other_luajits(void)
{
	const struct vm jit = { .abi = VM_LUAJIT, .flags = VM_SAMPLED };

	of_noted(jit, 0, 100, 50);
	CHECK(!strstr(said, "LuaJIT state"));
	states = 3;
	of_noted(jit, 0, 100, 50);
	states = 1;
	CHECK(strstr(said, "up to 2 LuaJIT states may have noted nothing"));
}

void test_completeness_says_what_ticks_cost(void)
{
	const struct vm jit = { .abi = VM_LUAJIT, .flags = VM_SAMPLED };
	const struct vm lua = { .abi = VM_LUA54, .flags = VM_SAMPLED };

	of_noted(jit, NET_REFERENCE, 75, 5);
	CHECK(strstr(said, "ticks cost LuaJIT 20.00 ms: it took 100.0 ms in "
			   "the recording and 80.00 ms in the reference"));
	of_noted(jit, NET_REFERENCE, 98, 0);
	CHECK(!strstr(said, "LuaJIT"));
	of_noted(jit, 0, 100, 0);
	CHECK(strstr(said, "LuaJIT's functions include what ticks cost"));
	of_noted(lua, 0, 100, 0);
	CHECK(!strstr(said, "LuaJIT"));
}

void test_completeness_says_where_a_gap_is(void)
{
	struct session *const s = session_new(0);
	struct process process = { .pid = 10 };
	struct thread thread = { .tid = 11, .name = "worker",
				 .first = 1000000 };
	struct gap gap = { .from = 3000000, .to = 3500000, .chunks = 2,
			   .records = 9 };

	s->processes = &process;
	s->threads = &thread;
	s->process_count = s->thread_count = 1;
	said[0] = '\0';
	completeness_gap(s, &gap, take, NULL);
	CHECK_STR(said, "thread 11 worker of process 10: 2 chunks and "
		  "9 records at +2.000 ms for 500.0 us\n");
	gap = (struct gap){ .to = 3000000, .chunks = 1 };
	said[0] = '\0';
	completeness_gap(s, &gap, take, NULL);
	CHECK_STR(said, "thread 11 worker of process 10: 1 chunk before "
		  "+2.000 ms\n");
	s->processes = NULL;
	s->threads = NULL;
	session_free(s);
}
