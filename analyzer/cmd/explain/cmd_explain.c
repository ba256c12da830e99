/* cmd_explain.c - "weft explain": what is worth a look in a trace, in
 * sentences. findings/ decides what that is; this file has the words, and
 * the command that shows more.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/cmd/explain/explain_seen.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/waits/waits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool arg_json;

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "json", .to = &arg_json,
	  .help = "for programs: an array of findings, times in ns" },
	{ .type = OPT_END }
};

static const char *const kinds[EXPLAIN_KINDS] = {
	[EXPLAIN_HOT] = "hot", [EXPLAIN_SLOW] = "slow",
	[EXPLAIN_OFTEN] = "often", [EXPLAIN_SLEEP] = "sleep",
	[EXPLAIN_WAIT] = "wait", [EXPLAIN_LOCK] = "lock",
	[EXPLAIN_EVENT] = "event",
	[EXPLAIN_HEAP] = "heap", [EXPLAIN_JOIN] = "join",
	[EXPLAIN_COLLECTOR] = "collector"
};

/* ---- the words ---------------------------------------------------------- */

/* Names and figures that a sentence may have. */
enum { NAMES = 6 };

/* What a sentence needs; texts made for it are kept until it is printed. */
struct teller {
	struct session *session;
	const struct explain *found;
	const struct explain_seen *seen;
	const struct explain_told *told;
	const char *traces;      /* reading_words of the operands */
	const char *options;     /* load_words, */
	const char *net_options; /* and those of commands with net times */
	bool is_profile;         /* there are no single calls */
	bool is_late;            /* calls were open before the start */
	char room[NAMES][OUT_NUMBER];
	size_t used;
	char *names[NAMES];      /* the newest of those of sentences */
	size_t named;
};

static const char *name_of(const struct teller *t, func_id func)
{
	return func ? func_get(t->session->funcs, func)->name : t->is_late ?
	       "calls that began before the recording, or code that is not "
	       "recorded" : "code that is not recorded";
}

/* The same for a sentence, until some others were asked for. */
static const char *brief_of(struct teller *t, const char *name)
{
	char **const to = &t->names[t->named++ % NAMES];

	mem_free(*to);
	return *to = cells_name(name);
}

static const char *said(struct teller *t, func_id func)
{
	return brief_of(t, name_of(t, func));
}

static const char *time_of(struct teller *t, ticks time)
{
	return out_number_time(t->room[t->used++ % NAMES],
			       (double)session_ns(t->session, time));
}

static const char *count_of(struct teller *t, uint64_t count, const char *what)
{
	return out_number_many(t->room[t->used++ % NAMES], count, what);
}

static const char *share_of(struct teller *t, double share)
{
	return out_number_share(t->room[t->used++ % NAMES],
				(uint64_t)(share * 10000 + 0.5), 10000);
}

/* The time of a finding, with its error where that is more than a twentieth. */
static const char *own_of(struct teller *t, const struct explain_finding *f)
{
	char *const to = t->room[t->used++ % NAMES];
	const char *const time = time_of(t, f->time);

	if (f->error <= f->time / 20)
		return time;
	snprintf(to, sizeof(t->room[0]), "%s \302\261 %s", time,
		 time_of(t, f->error));
	return to;
}

/* How much its main caller has. */
static const char *part_of(const struct explain_finding *f)
{
	return f->is_most ? "Most" : "The largest part";
}

/* How often a function that Lua noted was called is not known, nor is it of
 * the garbage collector. Of what lies below a thread, no caller is known. */
static char *tell_uncounted(struct teller *t, const struct explain_finding *f)
{
	char *const says = mem_print("%s takes %s of the time%s itself: %s.",
		said(t, f->func), share_of(t, f->share),
		t->found->has_switches ? " on the CPU" : "", own_of(t, f));
	char *more;

	if (f->other == 0)
		return says;
	more = mem_print("%s %s of that is for %s.", says, part_of(f),
			 said(t, f->other));
	mem_free(says);
	return more;
}

/* A part of the time may be its own, or not. */
static char *tell_untold(struct teller *t, const struct explain_finding *f)
{
	return mem_print("%s takes %s of the time%s, itself or in C functions "
			 "that it calls: %s in %s, %s each. %s of that is for "
			 "%s. LuaJIT does not tell when these functions "
			 "return: weft record --lua sampled tells who has the "
			 "time.", said(t, f->func), share_of(t, f->share),
			 t->found->has_switches ? " on the CPU" : "",
			 own_of(t, f), count_of(t, f->calls, "calls"),
			 time_of(t, f->calls ? f->time / f->calls : 0),
			 part_of(f), said(t, f->other));
}

static char *tell_hot(struct teller *t, const struct explain_finding *f)
{
	const struct func *const of = func_get(t->session->funcs, f->func);

	if (f->untold > f->time / 20)
		return tell_untold(t, f);

	/* A budget may have sampled it at times. */
	if (f->calls == 0 || (of->kind == FUNC_LUA && of->noted))
		return tell_uncounted(t, f);
	return mem_print("%s takes %s of the time%s itself: %s in %s, %s each. "
			 "%s of that is for %s.", said(t, f->func),
			 share_of(t, f->share), t->found->has_switches ?
			 " on the CPU" : "", own_of(t, f),
			 count_of(t, f->calls, "calls"),
			 time_of(t, f->calls ? f->time / f->calls : 0),
			 part_of(f), said(t, f->other));
}

/* What slow calls did, if that is known. The caller frees the text. */
static char *parts_of(struct teller *t, const struct explain_finding *f)
{
	const ticks part[] = { f->on, f->blocked, f->ready };
	const char *const words[] = { "on the CPU for", "blocked for",
				     "without a core for" };
	char *all = mem_copy("");
	bool is_first = true;

	for (size_t i = 0; t->found->has_switches && i < 3; i++) {
		char room[OUT_NUMBER], *const before = all;

		if (part[i] < (f->on + f->blocked + f->ready) / 100 ||
		    part[i] == 0)
			continue;
		all = mem_print("%s%s %s %s", before, !is_first ? "," :
				f->few > 1 ? " Together they were" : " It was",
				words[i], out_number_time(room,
				(double)session_ns(t->session, part[i])));
		is_first = false;
		mem_free(before);
	}
	return all;
}

/* How many calls, and how long: of several, without what does not count. */
static char *tell_slowest(struct teller *t, const struct explain_finding *f)
{
	const bool counts = f->is_idle ? f->blocked + f->ready == 0 :
			    f->ready == 0;

	if (f->few < 2)
		return mem_print("One call of %s took %s.", said(t, f->func),
				 time_of(t, f->time));
	return mem_print("%s of %s took %s or more%s, the longest %s.",
			 count_of(t, f->few, "calls"), said(t, f->func),
			 time_of(t, f->least), counts ? "" : f->is_idle ?
			 " on the CPU" : " without waits for a core",
			 time_of(t, f->did));
}

static char *tell_slow(struct teller *t, const struct explain_finding *f)
{
	char collected[80] = "", suspended[80] = "";
	char *const slowest = tell_slowest(t, f), *const parts = parts_of(t, f);
	char *text;

	if (f->collecting > 0)
		snprintf(collected, sizeof(collected), " Lua collected garbage "
			 "for %s of that.", time_of(t, f->collecting));
	if (f->suspended > f->time / 100)
		snprintf(suspended, sizeof(suspended), " Beside that, %s "
			 "suspended for %s.", f->few > 1 ? "they were" :
			 "it was", time_of(t, f->suspended));
	text = mem_print("%s%s%s%s%s Half of its %s took %s or less.", slowest,
			 collected, parts, parts[0] ? "." : "", suspended,
			 count_of(t, f->calls, "calls"),
			 time_of(t, f->typical));
	mem_free_all(slowest, parts);
	return text;
}

static char *tell_often(struct teller *t, const struct explain_finding *f)
{
	return mem_print("%s is called about %s for each call of %s: %s, %s of "
			 "all calls.", said(t, f->func),
			 count_of(t, f->calls / f->other_calls, "times"),
			 said(t, f->other), count_of(t, f->calls, "calls"),
			 share_of(t, f->share));
}

static char *tell_sleep(struct teller *t, const struct explain_finding *f)
{
	const char *const longest = time_of(t, f->time);
	const ticks since = cells_since_start(t->session, f->at);
	char no_core[80] = "", others[80] = "";

	if (f->ready > f->time / 100)
		snprintf(no_core, sizeof(no_core), " Its thread had no core "
			 "for %s of that.", time_of(t, f->ready));
	if (f->calls > 1)
		snprintf(others, sizeof(others), " Coroutines sleep for %s on "
			 "average otherwise.", time_of(t, f->typical));
	return mem_print("Coroutine %" PRIu64 " of %s slept for %s in %s, "
			 "until %s after the start.%s%s", f->coroutine,
			 said(t, f->other), longest, said(t, f->func),
			 time_of(t, since), no_core, others);
}

static char *tell_wait(struct teller *t, const struct explain_finding *f)
{
	const struct thread *const thread = f->thread == CCT_ALL_THREADS ?
		NULL : &t->session->threads[f->thread];
	char side[120] = "";

	if (thread)
		snprintf(side, sizeof(side), " Thread %" PRIu32 " (%.40s) has "
			 "%s of that.", thread->tid, thread->name,
			 share_of(t, f->share));
	if (func_is_special(t->session->funcs, f->func, FUNC_OTHER_WAIT))
		return mem_print("Threads sleep for %s in no call that is "
				 "recorded as one that waits. %s of that is "
				 "in %s.%s", time_of(t, f->time), part_of(f),
				 said(t, f->other), side);
	return mem_print("%s waits for %s in %s, and runs for %s. %s of that "
			 "is for %s%s%s.%s", said(t, f->func),
			 time_of(t, f->time), count_of(t, f->calls, "calls"),
			 time_of(t, f->typical), part_of(f),
			 said(t, f->other),
			 f->through ? ", through " : "",
			 f->through ? said(t, f->through) : "", side);
}

/* An object that no module holds, or has no symbol, is known by its address. */
static const char *object_name(struct teller *t, func_id place,
			       uint64_t address, char room[24])
{
	const struct func *const f = place == 0 ? NULL :
				     func_get(t->session->funcs, place);

	snprintf(room, 24, "at 0x%" PRIx64, address);
	return f && f->kind == FUNC_NATIVE ? brief_of(t, f->name) : room;
}

static const struct explain_told *told_of(const struct teller *t,
					  const struct explain_finding *f)
{
	return &t->told[f->lock == &t->seen->event];
}

/* For what holders wait themselves. The caller frees the text. */
static char *chain_text(struct teller *t, const struct explain_told *told)
{
	char *all = mem_copy(""), room[24];

	for (size_t i = 1; i < told->chain_length; i++) {
		char *const before = all;

		all = mem_print("%s%s waited for %s%s because of %s",
			before[0] ? before :
			" In the longest wait, the thread of ",
			before[0] ? ", whose thread" :
			said(t, told->chain[0].holder),
			told->chain[i].place == 0 ? "the one " : "",
			object_name(t, told->chain[i].place,
				    told->chain[i].address, room),
			said(t, told->chain[i].holder));
		mem_free(before);
	}
	return all;
}

static char *tell_lock(struct teller *t, const struct explain_finding *f)
{
	const bool is_event = f->lock == &t->seen->event;
	char *const chain = chain_text(t, told_of(t, f));
	char room[24], *why = mem_copy(""), *text;

	if (f->other) {
		mem_free(why);
		why = mem_print(is_event ? " %s of that is until %s lets them "
				"go on." : " %s of that is because of %s, "
				"which has it meanwhile.",
				time_of(t, f->typical), said(t, f->other));
	}
	text = mem_print("Threads wait for %s in %s for the %s %s, up to "
			 "%" PRIu64 " at a time.%s%s%s", time_of(t, f->time),
			 count_of(t, f->calls, "calls"), is_event ?
			 waits_kind_name(f->lock->kind) : "lock",
			 object_name(t, f->lock->place, f->lock->address, room),
			 f->lock->most, why, chain, chain[0] ? "." : "");
	mem_free_all(why, chain);
	return text;
}

static char *tell_join(struct teller *t, const struct explain_finding *f)
{
	return mem_print("%s of %s %s ended, and nobody joined or detached %s "
			 "until the end of the recording: that long, the "
			 "memory of such a thread's stack is kept.",
			 count_of(t, f->calls, "threads"), said(t, f->func),
			 f->calls == 1 ? "has" : "have",
			 f->calls == 1 ? "it" : "them");
}

/* Where Lua is sampled, the function that runs it may be all that is known. */
static char *tell_heap(struct teller *t, const struct explain_finding *f)
{
	const struct explain_heap *const h = f->heap;
	const struct session *const s = t->session;
	const double all = fmin(h->end, 1e18);
	const double more = fmin(explain_heap_growth(h), 1e18);
	const bool is_blurred = h->is_lua && cells_samples_lua(s) &&
		func_get(s->funcs, f->func)->kind != FUNC_LUA;
	char grown[OUT_NUMBER], end[OUT_NUMBER], second[1200] = "";

	if (h->second)
		snprintf(second, sizeof(second), "; %.1000s took %s",
			 said(t, h->second), share_of(t, h->second_share));
	return mem_print("Memory in use grows: by %s in the second half of the "
			 "time, to %s. %s took %s of %s%s.%s",
			 out_number_bytes(grown, (uint64_t)fmax(more, 0)),
			 out_number_bytes(end, (uint64_t)all),
			 said(t, f->func), share_of(t, f->share),
			 h->stays > 0 ? "what stays in use" : "that", second,
			 is_blurred ? " Lua that it runs took it: weft record "
			 "--lua exact names the Lua function." : "");
}

static char *sentence_of(struct teller *t, const struct explain_finding *f)
{
	char *(*const tell[EXPLAIN_KINDS])(struct teller *,
					   const struct explain_finding *) = {
		[EXPLAIN_HOT] = tell_hot, [EXPLAIN_SLOW] = tell_slow,
		[EXPLAIN_OFTEN] = tell_often, [EXPLAIN_SLEEP] = tell_sleep,
		[EXPLAIN_WAIT] = tell_wait, [EXPLAIN_LOCK] = tell_lock,
		[EXPLAIN_EVENT] = tell_lock,
		[EXPLAIN_HEAP] = tell_heap, [EXPLAIN_JOIN] = tell_join,
		[EXPLAIN_COLLECTOR] = tell_uncounted
	};

	t->used = 0;
	return tell[f->kind](t, f);
}

/* Does the command take the filters that were given? */
static bool takes_filters(const struct cmd *cmd)
{
	const struct filter_refusal *r = cmd->refused;

	while (r && r->args && !filter_args_has(r->args))
		r++;
	return !r || !r->args;
}

/* The filters that were given, for another command: " --from 1s". The caller
 * frees the text. */
static char *filters(void)
{
	char *all = mem_copy("");

	for (int i = 0; i < FILTER_ARGS; i++) {
		const char *const given =
			filter_args_text((enum filter_arg)i);
		char *const before = all, *word;

		if (!given)
			continue;
		word = out_escape_shell(given);
		all = mem_print("%s --%s %s", before, filter_opts[i].name,
				word);
		mem_free_all(before, word);
	}
	return all;
}

/* Several processes may have a coroutine of that number: then with the process
 * id. The caller frees the text. */
static char *coroutine_of(const struct teller *t,
			  const struct explain_finding *f)
{
	const struct session *const s = t->session;

	return s->process_count < 2 || f->process >= s->process_count ?
	       mem_print("%" PRIu64, f->coroutine) :
	       mem_print("%" PRIu32 ":%" PRIu64, s->processes[f->process].pid,
			 f->coroutine);
}

/* The order of weft slow that has them first. */
static const char *sort_of(const struct explain_finding *f)
{
	return f->few == 0 ? "" : f->blocked > f->on && !f->is_idle ?
	       " --sort blocked" : " --sort cpu";
}

/* The command that shows more, as a person pastes it. */
static char *command_of(const struct teller *t, const struct explain_finding *f)
{
	char *const name = cells_pattern(name_of(t, f->func));
	char *const part = filters();
	char *const coroutine = coroutine_of(t, f);
	const bool is_slow = f->kind == EXPLAIN_SLOW && !t->is_profile &&
			     takes_filters(&cmd_slow);
	char *const text =
		f->kind == EXPLAIN_SLEEP ?
		mem_print("weft path --id %s %s%s", coroutine, t->options,
			  t->traces) :
		f->kind == EXPLAIN_JOIN ?
		mem_print("weft threads --group %s%s", t->options,
			  t->traces) :
		f->lock ?
		mem_print("weft locks --object 0x%" PRIx64 " %s%s",
			  f->lock->address, t->options, t->traces) :
		f->kind == EXPLAIN_HEAP ?
		mem_print("weft heap --from %" PRIu64 "ms --to %" PRIu64
			  "ms %s%s",
			  session_ns(t->session, f->heap->since) / 1000000,
			  session_ns(t->session, f->heap->until) / 1000000,
			  t->options, t->traces) :
		f->kind == EXPLAIN_WAIT && !filter_args_text(FILTER_FOCUS) ?
		mem_print("weft tree --waiting --focus %s%s %s%s", name, part,
			  t->net_options, t->traces) :
		is_slow ?
		mem_print("weft slow%s %s%s %s%s", sort_of(f), name, part,
			  t->options, t->traces) :
		mem_print("weft callers %s%s %s%s", name, part, t->net_options,
			  t->traces);

	mem_free_all(name, part, coroutine);
	return text;
}

/* ---- text and JSON ------------------------------------------------------ */

/* Both are whole stacks; the latter may be the former. */
static void print_holder(const struct explain_told *told)
{
	if (told->held_by)
		out_print(stdout, "   by:        %s\n", told->held_by);
	if (told->meanwhile)
		out_print(stdout, "   meanwhile: %s\n", told->meanwhile);
}

/* Why waiting is not known. */
static void print_no_switches(const struct session *s)
{
	uint64_t time, unknown;
	char share[OUT_NUMBER];

	(void)cct_knows_switches(s->cct, &time, &unknown);
	if (unknown == time)
		puts("\nRunning and waiting are not told apart: there are no "
		     "context switches.");
	else
		printf("\nRunning and waiting are not told apart: context "
		       "switches are known for only %s of the time.\n",
		       out_number_share(share, time - unknown, time));
}

/* Why growing memory is no finding. */
static void print_memory(const struct teller *t)
{
	const struct explain_heap *const h = &t->seen->heap;
	const double more = explain_heap_growth(h);
	char bytes[OUT_NUMBER], error[OUT_NUMBER];

	if (h->unseen)
		out_print(stdout, "\nnote: %s\n", h->unseen);
	for (size_t i = 0; i < t->found->count; i++)
		if (t->found->finding[i].kind == EXPLAIN_HEAP)
			return;
	if (h->error > 0 && more >= 100e3 && more < 3 * h->error)
		printf("\nnote: memory in use grows perhaps, by %s \302\261 %s "
		       "in the second half of the time: weft record --heap=4k "
		       "notes more blocks, --heap=exact all\n",
		       out_number_bytes(bytes, (uint64_t)fmin(more, 1e18)),
		       out_number_bytes(error, (uint64_t)fmin(h->error,
							      1e18)));
}

static void print_text(struct teller *t)
{
	for (size_t i = 0; i < t->found->count; i++) {
		const struct explain_finding *const f = &t->found->finding[i];
		char *const sentence = sentence_of(t, f);
		char *const command = command_of(t, f);

		if (i > 0)
			putchar('\n');
		out_print(stdout, "%zu. %s\n", i + 1, sentence);
		if (f->lock)
			print_holder(told_of(t, f));
		out_print(stdout, "   $ %s\n", command);
		mem_free_all(sentence, command);
	}
	if (t->found->count == 0 && !session_has_times(t->session))
		puts("calls were only counted, and samples are too few: there "
		     "are no times in which something could stand out");
	else if (t->found->count == 0)
		puts("nothing stands out: no function, call, coroutine or wait "
		     "has a large part of the time");
	if (t->found->count == 0 && t->found->top_share > 0)
		out_print(stdout, "most of the time%s is that of %s: %s\n",
			  t->found->has_switches ? " on the CPU" : "",
			  said(t, t->found->top),
			  share_of(t, t->found->top_share));
	print_memory(t);
	if (!t->found->has_switches && session_has_times(t->session))
		print_no_switches(t->session);
}

static void json_text(const char *key, const char *text)
{
	printf(",\n  \"%s\": ", key);
	out_json_text(stdout, text);
}

static void json_time(struct teller *t, const char *key, ticks time)
{
	printf(",\n  \"%s\": %" PRIu64, key, session_ns(t->session, time));
}

static void json_holder(const struct explain_lock *lock,
			const struct explain_told *told)
{
	printf(",\n  \"object\": \"0x%" PRIx64 "\"", lock->address);
	if (told->held_by)
		json_text("by", told->held_by);
	if (told->meanwhile)
		json_text("meanwhile", told->meanwhile);
}

static void json_heap(const struct teller *t, const struct explain_heap *h)
{
	printf(",\n  \"grown_bytes\": %.0f", explain_heap_growth(h));
	if (h->second)
		json_text("second", name_of(t, h->second));
}

static void json_slow(struct teller *t, const struct explain_finding *f)
{
	if (f->error)
		json_time(t, "error_ns", f->error);
	if (f->few > 1) {
		printf(",\n  \"slow_calls\": %" PRIu64, f->few);
		json_time(t, "least_ns", f->least);
	}
	if (f->collecting)
		json_time(t, "collecting_ns", f->collecting);
	if (f->suspended)
		json_time(t, "suspended_ns", f->suspended);
	if (f->kind == EXPLAIN_SLEEP && f->ready)
		json_time(t, "run_wait_ns", f->ready);
	if (f->kind == EXPLAIN_SLOW && t->found->has_switches &&
	    f->on + f->blocked + f->ready > 0) {
		json_time(t, "cpu_ns", f->on);
		json_time(t, "blocked_ns", f->blocked);
		json_time(t, "run_wait_ns", f->ready);
	}
}

static void print_json(struct teller *t)
{
	putchar('[');
	for (size_t i = 0; i < t->found->count; i++) {
		const struct explain_finding *const f = &t->found->finding[i];
		char *const sentence = sentence_of(t, f);
		char *const command = command_of(t, f);

		printf("%s{\n  \"kind\": \"%s\"", i > 0 ? ", " : "",
		       kinds[f->kind]);
		json_text("function", name_of(t, f->func));
		if (f->other)
			json_text("other", name_of(t, f->other));
		if (f->through)
			json_text("through", name_of(t, f->through));
		printf(",\n  \"calls\": %" PRIu64, f->calls);
		if (f->other_calls)
			printf(",\n  \"other_calls\": %" PRIu64,
			       f->other_calls);
		json_time(t, "time_ns", f->time);
		json_time(t, "typical_ns", f->typical);
		json_slow(t, f);
		if (f->coroutine)
			printf(",\n  \"coroutine\": %" PRIu64, f->coroutine);
		if (f->lock)
			json_holder(f->lock, told_of(t, f));
		if (f->heap)
			json_heap(t, f->heap);
		if (f->thread != CCT_ALL_THREADS)
			printf(",\n  \"tid\": %" PRIu32,
			       t->session->threads[f->thread].tid);
		printf(",\n  \"share\": %.4f", f->share);
		json_text("sentence", sentence);
		json_text("command", command);
		fputs("\n}", stdout);
		mem_free_all(sentence, command);
	}
	puts("]");
}

/* ---- the command -------------------------------------------------------- */

static bool has_open_before(const struct session *s)
{
	for (func_id f = 1; f <= func_count(s->funcs); f++)
		if (func_is_special(s->funcs, f, "[open before start]"))
			return true;
	return false;
}

static enum cmd_exit explain(struct load *load, const char *traces)
{
	char *(*const shorten)(const char *) = arg_json ? NULL : cells_name;
	struct explain_told told[2] = { { .shorten = shorten },
					{ .shorten = shorten } };
	struct explain_seen seen;
	struct explain found;
	struct teller t = { .session = load->session, .found = &found,
			    .seen = &seen, .told = told, .traces = traces,
			    .is_profile = load->is_profile,
			    .is_late = has_open_before(load->session) };
	char *const options = load_words(false);
	char *const net_options = load_words(true);
	int status = explain_see(load, &seen, told);

	t.options = options;
	t.net_options = net_options;
	if (status == 0) {
		explain_find(&found, load->session, &seen);
		status = explain_see_slow(load, &found);
	}
	if (status == 0) {
		if (arg_json) {
			header_print_losses(load);
			print_json(&t);
		} else {
			reading_print_header(load);
			print_text(&t);
		}
	}
	explain_unsee(&seen, told);
	for (size_t i = 0; i < NAMES; i++)
		mem_free(t.names[i]);
	mem_free_all(options, net_options);
	return status == 0 ? CMD_OK : CMD_UNREADABLE;
}

static int explain_prepare(struct reading *r)
{
	r->want.hist = true;
	return 0;
}

static enum cmd_exit explain_print(struct reading *r)
{
	enum cmd_exit status = header_need_calls(&r->load);
	char *const traces = r->count > 0 ?
		reading_words(r->count, (const char *const *)r->operands) :
		reading_words(1, &r->load.path);

	if (status == CMD_OK)
		status = explain(&r->load, traces);
	mem_free(traces);
	return status;
}

const struct cmd cmd_explain = {
	.name = "explain",
	.args = "TRACE...",
	.summary = "say what is worth a look, in a few sentences",
	.about =
	"Reads traces or profiles (several are merged) and says what stands\n"
	"out, each with its figures and the command that shows more:\n"
	"\n"
	"a function that takes much of the time on the CPU itself; a Lua\n"
	"state that collects garbage for long, and for whom; a call that took\n"
	"much longer than the others of its function; a function that is\n"
	"called very often for each call of its caller; a coroutine that\n"
	"slept for long, and in which function; a function that is blocked\n"
	"for long, and whether one thread has most of that; if the trace was\n"
	"recorded with --waits, a lock that threads wait for, who has it, and\n"
	"what that one does meanwhile; and threads that nobody joins; with\n"
	"--heap, memory in use that grows, and who took it. What took longest\n"
	"comes first.\n"
	"\n"
	"If nothing stands out, it says that. docs/report-reading.md says how\n"
	"much is much.",
	.opts = opts,
	.has_net = true,
	.prepare = explain_prepare,
	.print = explain_print,
};
