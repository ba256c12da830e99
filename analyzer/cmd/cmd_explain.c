/* cmd_explain.c - "weft explain": what is worth a look in a trace, in
 * sentences. tables/explain decides what that is; this file has the words, and
 * the command that shows more.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/findings/explain.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"
#include "analyzer/watch/heap.h"
#include "analyzer/watch/locks.h"
#include "analyzer/watch/sleeps.h"

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
	[EXPLAIN_HEAP] = "heap"
};

/* ---- the words ---------------------------------------------------------- */

/* What a sentence needs; texts made for it are kept until it is printed. */
struct teller {
	struct session *session;
	const struct explain *found;
	const char *traces;      /* the operands, quoted */
	bool is_profile;         /* there are no single calls */
	char room[6][OUT_NUMBER];
	size_t used;
};

static const char *name_of(const struct teller *t, func_id func)
{
	return func ? func_get(t->session->funcs, func)->name : "[thread]";
}

static const char *time_of(struct teller *t, ticks time)
{
	return out_number_time(t->room[t->used++ % 6],
			       (double)session_ns(t->session, time));
}

static const char *count_of(struct teller *t, uint64_t count, const char *what)
{
	return out_number_many(t->room[t->used++ % 6], count, what);
}

static const char *share_of(struct teller *t, double share)
{
	return out_number_share(t->room[t->used++ % 6],
				(uint64_t)(share * 10000 + 0.5), 10000);
}

static char *tell_hot(struct teller *t, const struct explain_finding *f)
{
	return mem_print("%s takes %s of the time%s itself: %s in %s, %s each. "
			 "Most of that is for %s.", name_of(t, f->func),
			 share_of(t, f->share), t->found->has_switches ?
			 " on the CPU" : "", time_of(t, f->time),
			 count_of(t, f->calls, "calls"),
			 time_of(t, f->calls ? f->time / f->calls : 0),
			 name_of(t, f->other));
}

static char *tell_slow(struct teller *t, const struct explain_finding *f)
{
	return mem_print("One call of %s took %s. Half of its %s took %s or "
			 "less.", name_of(t, f->func), time_of(t, f->time),
			 count_of(t, f->calls, "calls"),
			 time_of(t, f->typical));
}

static char *tell_often(struct teller *t, const struct explain_finding *f)
{
	return mem_print("%s is called about %s for each call of %s: %s, %s of "
			 "all calls.", name_of(t, f->func),
			 count_of(t, f->calls / f->other_calls, "times"),
			 name_of(t, f->other), count_of(t, f->calls, "calls"),
			 share_of(t, f->share));
}

static char *tell_sleep(struct teller *t, const struct explain_finding *f)
{
	const char *const longest = time_of(t, f->time);
	const ticks since = cells_since_start(t->session, f->at);

	if (f->calls < 2)
		return mem_print("Coroutine %" PRIu64 " of %s slept for %s in "
				 "%s, until %s after the start.", f->coroutine,
				 name_of(t, f->other), longest,
				 name_of(t, f->func), time_of(t, since));
	return mem_print("Coroutine %" PRIu64 " of %s slept for %s in %s, "
			 "until %s after the start. Coroutines sleep for %s on "
			 "average otherwise.", f->coroutine,
			 name_of(t, f->other), longest, name_of(t, f->func),
			 time_of(t, since), time_of(t, f->typical));
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
	return mem_print("%s waits for %s in %s, and runs for %s. Most of that "
			 "is for %s.%s", name_of(t, f->func),
			 time_of(t, f->time), count_of(t, f->calls, "calls"),
			 time_of(t, f->typical), name_of(t, f->other), side);
}

/* A lock that no module holds, or has no symbol, is known by its address. */
static char *tell_lock(struct teller *t, const struct explain_finding *f)
{
	const struct func *const place = f->lock->place == 0 ? NULL :
		func_get(t->session->funcs, f->lock->place);
	char address[24], *why = NULL, *text;

	snprintf(address, sizeof(address), "at 0x%" PRIx64, f->lock->address);
	if (f->other)
		why = mem_print(" %s of that is because of %s, which has it "
				"meanwhile.", time_of(t, f->typical),
				name_of(t, f->other));
	text = mem_print("Threads wait for %s in %s for the lock %s, up to "
			 "%" PRIu64 " at a time.%s", time_of(t, f->time),
			 count_of(t, f->calls, "calls"),
			 place && place->kind == FUNC_NATIVE ? place->name :
			 address, f->lock->most, why ? why : "");
	mem_free(why);
	return text;
}

static char *tell_heap(struct teller *t, const struct explain_finding *f)
{
	const struct explain_heap *const h = f->heap;
	const double all = fmin(h->end, 1e18), more = fmin(all - h->half, 1e18);
	char grown[OUT_NUMBER], end[OUT_NUMBER];

	return mem_print("Memory in use grows: by %s in the second half of the "
			 "time, to %s. %s took %s of that.",
			 out_number_bytes(grown, (uint64_t)fmax(more, 0)),
			 out_number_bytes(end, (uint64_t)all),
			 name_of(t, f->func), share_of(t, f->share));
}

static char *sentence_of(struct teller *t, const struct explain_finding *f)
{
	char *(*const tell[EXPLAIN_KINDS])(struct teller *,
					   const struct explain_finding *) = {
		[EXPLAIN_HOT] = tell_hot, [EXPLAIN_SLOW] = tell_slow,
		[EXPLAIN_OFTEN] = tell_often, [EXPLAIN_SLEEP] = tell_sleep,
		[EXPLAIN_WAIT] = tell_wait, [EXPLAIN_LOCK] = tell_lock,
		[EXPLAIN_HEAP] = tell_heap
	};

	t->used = 0;
	return tell[f->kind](t, f);
}

/* One word of a shell; the caller frees it. */
static char *quote(const char *text)
{
	char *const word = mem_alloc(4 * strlen(text) + 3);
	size_t n = 0;

	if (text[0] != '\0' && text[0] != '-' &&
	    text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
			"UVWXYZ0123456789_./:,+=@-")] == '\0')
		return memcpy(word, text, strlen(text) + 1);
	word[n++] = '\'';
	for (; *text != '\0'; text++)
		if (*text == '\'')
			n += (size_t)sprintf(word + n, "'\\''");
		else
			word[n++] = *text;
	word[n++] = '\'';
	word[n] = '\0';
	return word;
}

/* The pattern of a name, as a word of a shell. "?" stands for what has a
 * meaning in a pattern or in front of an operand, and for what does no good to
 * a terminal. The caller frees it. */
static char *pattern_of(const char *name)
{
	char *const pattern = mem_copy(name), *word;
	const bool has_key = strchr(name, '=') != NULL;

	for (size_t i = 0, size; pattern[i] != '\0'; i += size) {
		uint32_t code;

		size = text_utf8(pattern + i, &code);
		if (code == TEXT_NO_CODE || text_is_hostile(code) ||
		    code == '|' || (i == 0 && (code == '-' || has_key)))
			memset(pattern + i, '?', size);
	}
	word = quote(pattern);
	mem_free(pattern);
	return word;
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
		word = quote(given);
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

/* The command that shows more, as a person pastes it. */
static char *command_of(const struct teller *t, const struct explain_finding *f)
{
	char *const name = pattern_of(name_of(t, f->func));
	char *const part = filters();
	char *const coroutine = coroutine_of(t, f);
	const bool is_slow = f->kind == EXPLAIN_SLOW && !t->is_profile &&
			     takes_filters(&cmd_slow);
	char *const text =
		f->kind == EXPLAIN_SLEEP ?
		mem_print("weft coroutines --history %s %s", coroutine,
			  t->traces) :
		f->kind == EXPLAIN_LOCK ?
		mem_print("weft locks --object 0x%" PRIx64 " %s",
			  f->lock->address, t->traces) :
		f->kind == EXPLAIN_HEAP ?
		mem_print("weft heap --from %" PRIu64 "ms %s",
			  session_ns(t->session, f->heap->since) / 1000000,
			  t->traces) :
		f->kind == EXPLAIN_WAIT && !filter_args_text(FILTER_FOCUS) ?
		mem_print("weft tree --waiting --focus %s%s %s", name, part,
			  t->traces) :
		mem_print("weft %s %s%s %s", is_slow ? "slow" : "callers", name,
			  part, t->traces);

	mem_free_all(name, part, coroutine);
	return text;
}

/* The operands, as words of a shell. The caller frees the text. */
static char *join(int count, char **operands)
{
	char *all = mem_copy("");

	for (int i = 0; i < count; i++) {
		char *const word = quote(operands[i]), *const before = all;

		all = mem_print("%s%s%s", before, i > 0 ? " " : "", word);
		mem_free_all(before, word);
	}
	return all;
}

/* ---- text and JSON ------------------------------------------------------ */

static void print_text(struct teller *t)
{
	for (size_t i = 0; i < t->found->count; i++) {
		const struct explain_finding *const f = &t->found->finding[i];
		char *const sentence = sentence_of(t, f);
		char *const command = command_of(t, f);

		if (i > 0)
			putchar('\n');
		out_print(stdout, "%zu. %s\n", i + 1, sentence);
		out_print(stdout, "   $ %s\n", command);
		mem_free_all(sentence, command);
	}
	if (t->found->count == 0)
		puts("nothing stands out: no function, call, coroutine or wait "
		     "has a large part of the time");
	if (!t->found->has_switches && session_has_times(t->session))
		puts("\nRunning and waiting are not told apart: there are no "
		     "context switches.");
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
		printf(",\n  \"calls\": %" PRIu64, f->calls);
		if (f->other_calls)
			printf(",\n  \"other_calls\": %" PRIu64,
			       f->other_calls);
		json_time(t, "time_ns", f->time);
		json_time(t, "typical_ns", f->typical);
		if (f->coroutine)
			printf(",\n  \"coroutine\": %" PRIu64, f->coroutine);
		if (f->lock)
			printf(",\n  \"object\": \"0x%" PRIx64 "\"",
			       f->lock->address);
		if (f->heap)
			printf(",\n  \"grown_bytes\": %.0f",
			       f->heap->end - f->heap->half);
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

/* Sleeps take another reading, of traces that have coroutines; a profile does
 * not hold them. The caller frees the list. 0, or -1. */
static int find_sleeps(struct load *load, struct explain_sleep **list,
		       size_t *count, ticks *second)
{
	struct sleeps sleeps;

	*list = NULL;
	*count = 0;
	*second = 0;
	if (load->is_profile || load->is_part ||
	    load->session->coroutine_count == 0)
		return 0;
	sleeps_init(&sleeps, load->session);
	if (load_again(load, &sleeps_sink, &sleeps) != 0) {
		sleeps_fini(&sleeps);
		return -1;
	}
	*list = mem_alloc((sleeps.count + 1) * sizeof(**list));
	for (size_t i = 0; i < sleeps.count; i++) {
		const struct sleep *const s = &sleeps.list[i];

		(*list)[(*count)++] = (struct explain_sleep){
			s->where, s->body, s->count, s->sum, s->longest, s->at,
			s->coroutine, s->process };
	}
	*second = sleeps.second;
	sleeps_fini(&sleeps);
	return 0;
}

/* What called a function of libc. */
static func_id caller_of(const struct waits *w, stack_id stack)
{
	const stack_id below = stack ? stack_table_get(w->stacks, stack)->below
			     : 0;

	return below ? stack_table_get(w->stacks, below)->func : 0;
}

static void take_lock(struct explain_lock *lock, const struct waits *w,
		      const struct locks_object *o)
{
	size_t count;
	struct locks_stack *const stacks = locks_stacks(w, o, &count);

	*lock = (struct explain_lock){
		.func = stack_table_get(w->stacks, o->first)->func,
		.place = o->place, .address = o->of.address,
		.waits = o->waits, .most = o->most, .waiting = o->waiting };
	for (size_t i = 0; i < count; i++) {
		if (stacks[i].role != LOCKS_HOLDS ||
		    stacks[i].waiting <= lock->because)
			continue;
		lock->because = stacks[i].waiting;
		lock->holder = caller_of(w, stacks[i].stack);
	}
	mem_free(stacks);
}

/* Waits for locks take another reading, of traces that have them. 0, or -1. */
static int find_lock(struct load *load, struct explain_lock *lock)
{
	struct locks_object *list;
	struct waits w;
	size_t count;

	*lock = (struct explain_lock){ 0 };
	if (load->is_profile || load->is_part ||
	    !session_note(load->session, "waits"))
		return 0;
	waits_init(&w, load->session);
	if (load_again(load, &waits_sink, &w) != 0) {
		waits_fini(&w);
		return -1;
	}
	waits_sort(&w);
	list = locks_list(&w, &count);
	for (size_t i = 0; i < count && lock->func == 0; i++)
		if (list[i].of.kind == WAIT_MUTEX ||
		    list[i].of.kind == WAIT_READ)
			take_lock(lock, &w, &list[i]);
	mem_free(list);
	waits_fini(&w);
	return 0;
}

/* The innermost function that is no place in code without hooks; 0: none. */
static func_id taker_of(const struct session *s, const struct heap *h,
			stack_id stack)
{
	while (stack != 0) {
		const struct stack_frame *const f = stack_table_get(h->stacks,
								    stack);

		if (!(f->flags & STACK_OMITTED) &&
		    !strstr(func_get(s->funcs, f->func)->name, "+0x"))
			return f->func;
		stack = f->below;
	}
	return 0;
}

/* Who took most of the growth. */
static void take_growth(struct explain_heap *to, const struct session *s,
			const struct heap *h, const struct heap_table *t)
{
	const size_t funcs = func_count(s->funcs) + 1;
	double *const grown = mem_alloc(funcs * sizeof(*grown));

	for (size_t i = 0; i < t->count; i++)
		grown[taker_of(s, h, t->rows[i].stack)] +=
			t->rows[i].in_use.bytes - t->rows[i].before.bytes;
	for (func_id f = 1; f < funcs; f++) {
		if (grown[f] <= to->grown)
			continue;
		to->func = f;
		to->grown = grown[f];
	}
	mem_free(grown);
	to->half = t->all.before.bytes;
	to->end = t->all.in_use.bytes;
	/* Blocks that were there before have the same weight at both times. */
	to->error = to->end <= to->half ? 0 :
		sqrt(t->all.in_use.variance * (1 - to->half / to->end));
}

static ticks last_tick(const struct session *s)
{
	ticks last = session_first_tick(s);

	for (size_t i = 0; i < s->thread_count; i++)
		last = MAX(s->threads[i].last, last);
	return last;
}

/* Memory, likewise. */
static int find_heap(struct load *load, struct explain_heap *to)
{
	struct session *const s = load->session;
	const ticks first = session_first_tick(s), last = last_tick(s);
	const ticks end = last - (last - first) / 20;
	struct heap_table t;
	uint8_t *threads;
	struct heap h;

	*to = (struct explain_heap){ .since = (last - first) / 2 };
	if (load->is_profile || load->is_part || !session_note(s, "heap"))
		return 0;
	heap_init(&h, s);
	if (load_again(load, &heap_sink, &h) != 0) {
		heap_fini(&h);
		return -1;
	}
	threads = filter_args_threads(s);
	heap_sum_up(&h, threads, first + to->since, end, &t);
	take_growth(to, s, &h, &t);
	mem_free(t.rows);
	heap_sum_up(&h, threads, first + to->since / 2 * 3, end, &t);
	to->later = t.all.before.bytes;
	mem_free(t.rows);
	mem_free(threads);
	heap_fini(&h);
	return 0;
}

static enum cmd_exit explain(struct load *load, const char *traces)
{
	struct explain_lock lock;
	struct explain_heap heap;
	struct explain found;
	struct teller t = { .session = load->session, .found = &found,
			    .traces = traces,
			    .is_profile = load->is_profile };
	struct explain_sleep *sleeps;
	ticks second;
	size_t count;

	if (find_lock(load, &lock) != 0 || find_heap(load, &heap) != 0 ||
	    find_sleeps(load, &sleeps, &count, &second) != 0)
		return CMD_UNREADABLE;
	explain_find(&found, load->session, sleeps, count, second, &lock,
		     &heap);
	mem_free(sleeps);
	if (arg_json) {
		header_print_losses(load);
		print_json(&t);
	} else {
		reading_print_header(load);
		print_text(&t);
	}
	return CMD_OK;
}

static int explain_prepare(struct reading *r)
{
	r->want.hist = true;
	return 0;
}

static enum cmd_exit explain_print(struct reading *r)
{
	enum cmd_exit status = header_need_calls(&r->load);
	char *const traces = r->count > 0 ? join(r->count, r->operands) :
			     quote(r->load.path);

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
	"a function that takes much of the time on the CPU itself; a call\n"
	"that took much longer than the others of its function; a function\n"
	"that is called very often for each call of its caller; a coroutine\n"
	"that slept for long, and in which function; a function that is\n"
	"blocked for long, and whether one thread has most of that; if the\n"
	"trace was recorded with --waits, a lock that threads wait for, and\n"
	"because of which function; with --heap, memory in use that grows,\n"
	"and who took it. What took longest comes first.\n"
	"\n"
	"If nothing stands out, it says that. docs/report-reading.md says how\n"
	"much is much.",
	.opts = opts,
	.has_net = true,
	.prepare = explain_prepare,
	.print = explain_print,
};
