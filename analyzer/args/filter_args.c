/* filter_args.c - from the options to a part of a trace, and to the sentence at
 * the top of a report that says which part is shown.
 * SPDX-License-Identifier: MIT */
#include "analyzer/args/filter_args.h"

#include "analyzer/args/named.h"
#include "analyzer/args/time_argument.h"
#include "analyzer/base/err.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/out/out_number.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the user gave, by filter_arg. The options are the program's, not a
 * load's: all traces of a command line are filtered alike. */
static const char *args[FILTER_ARGS];

/* A row's type, and where its text goes. */
#define FILTER(n) .type = OPT_TEXT, .to = &args[FILTER_##n]

const struct opt filter_opts[] = {
	{ FILTER(UNDER), .name = "under", .arg = "FN",
	  .help = "only calls of FN (a name or pattern: see weft report "
	  "--help) and what happened below them; FN's outermost calls become "
	  "the roots" },
	{ FILTER(FOCUS), .name = "focus", .arg = "FN",
	  .help = "only stacks that contain FN; FN's callers are shown "
	  "without their own self time and calls" },
	{ .type = OPT_PATTERNS, .to = &args[FILTER_SKIP], .name = "skip",
	  .arg = "PATTERN|@FILE",
	  .help = "hide the frames that match: their self time goes to their "
	  "callers, their calls are not counted; @FILE: the patterns in FILE, "
	  "one a line; may be given several times" },
	{ FILTER(THREAD), .name = "thread", .arg = "TID|NAME",
	  .help = "only threads with this number or name" },
	{ FILTER(PROCESS), .name = "process", .arg = "PID|NAME",
	  .help = "only processes with this number or program name" },
	{ FILTER(COROUTINE), .name = "coroutine", .arg = "ID",
	  .help = "only this coroutine and those that it resumed; PID:ID if "
	  "several processes have one with this number" },
	{ FILTER(FROM), .name = "from", .arg = "T",
	  .help = "only what happened from T on: a time since the start ("
	  TIME_ARGUMENT_UNITS "), or ns since 1970. Only time inside the range "
	  "counts; a call is counted if it begins inside, and used for min, "
	  "max and percentiles if it ends inside" },
	{ FILTER(TO), .name = "to", .arg = "T",
	  .help = "only what happened before T" },
	{ FILTER(RECORDING), .name = "recording", .arg = "TITLE",
	  .help = "only what happened between weft_start and weft_stop with "
	  "this title; if there are several, TITLE#2 selects the second, and "
	  "TITLE the last" },
	{ FILTER(SINCE_MARK), .name = "since-mark", .arg = "NAME",
	  .help = "only what happened after the last mark with this name" },
	{ FILTER(UNTIL_MARK), .name = "until-mark", .arg = "NAME",
	  .help = "only what happened before the last mark with this name" },
	{ .type = OPT_END }
};

static_assert(sizeof(filter_opts) / sizeof(filter_opts[0]) ==
	      FILTER_ARGS + 1, "one row for each filter");

const char *filter_args_text(enum filter_arg arg)
{
	return args[arg];
}

bool filter_args_has(unsigned set)
{
	for (int i = 0; i < FILTER_ARGS; i++)
		if ((set & 1u << i) && args[i])
			return true;
	return false;
}

bool filter_args_needs_records(void)
{
	return filter_args_has(FILTER_RANGE | FILTER_SET(COROUTINE));
}

/* ---- what makes no sense ------------------------------------------------ */

/* A number without a sign, up to `end`; 0 if it is none. */
static uint64_t read_number(const char *text, const char *end)
{
	char *stop;
	uint64_t number;

	errno = 0;
	number = strtoull(text, &stop, 10);
	return errno == 0 && stop == end && *text >= '0' && *text <= '9' ?
	       number : 0;
}

int filter_args_coroutine(const char *option, const char *text, uint32_t *pid,
			  uint64_t *serial)
{
	const char *const colon = strchr(text, ':');
	const char *const id = colon ? colon + 1 : text;
	const uint64_t number = colon ? read_number(text, colon) : 0;

	*pid = (uint32_t)number;
	*serial = read_number(id, id + strlen(id));
	if (*serial != 0 && *pid == number && (!colon || number != 0))
		return 0;
	return err_add("--%s takes an id as weft coroutines shows it, or "
		       "PID:ID, not \"%s\"", option, text);
}

int filter_args_refuse(unsigned set, const char *why)
{
	for (int i = 0; i < FILTER_ARGS; i++)
		if ((set & 1u << i) && args[i])
			return err_add("--%s cannot be used here: %s",
				       filter_opts[i].name, why);
	return 0;
}

int filter_args_check(const struct filter_refusal *refused)
{
	uint64_t serial;
	uint32_t pid;

	for (; refused && refused->args; refused++)
		if (filter_args_refuse(refused->args, refused->why) != 0)
			return -1;
	return !args[FILTER_COROUTINE] ? 0 :
	       filter_args_coroutine("coroutine", args[FILTER_COROUTINE], &pid,
				     &serial);
}

bool filter_args_is_refused(const struct filter_refusal *refused,
			    const struct opt *row)
{
	unsigned set = 0;

	for (; refused && refused->args; refused++)
		set |= refused->args;
	for (int i = 0; i < FILTER_ARGS; i++)
		if (row == &filter_opts[i])
			return set & 1u << i;
	return false;
}

/* ---- marks -------------------------------------------------------------- */

/* A recording with a title lasts from a mark "weft.start TITLE" to the next
 * mark "weft.stop TITLE". */
enum mark_kind { SINCE, UNTIL, START, STOP };

/* A mark that a filter names; `kind` says how it is used. One mark of the trace
 * can stand here several times, once for each use. */
struct mark { ticks tick; enum mark_kind kind; };

struct filter_marks { struct mark *mark; size_t count, room; };

struct filter_marks *filter_args_marks_new(void)
{
	return mem_alloc(sizeof(struct filter_marks));
}

void filter_args_marks_free(struct filter_marks *m)
{
	mem_free_all(m->mark, m);
}

/* The argument is TITLE or TITLE#N. Returns the length of TITLE and sets *nth
 * to N, or 0. A title that itself ends in #N needs a number after it. */
static size_t read_title(size_t *nth)
{
	const char *const text = args[FILTER_RECORDING];
	const char *const hash = strrchr(text, '#');

	*nth = hash ? read_number(hash + 1, hash + strlen(hash)) : 0;
	return *nth ? (size_t)(hash - text) : strlen(text);
}

/* Is the mark's name `prefix` followed by the wanted title? */
static bool is_title(const char *name, const char *prefix)
{
	const size_t n = strlen(prefix);
	size_t nth, length;

	if (!args[FILTER_RECORDING] || strncmp(name, prefix, n) != 0)
		return false;
	length = read_title(&nth);
	return strncmp(name + n, args[FILTER_RECORDING], length) == 0 &&
	       !name[n + length];
}

/* A mark's name is compared whole: it is data, not a pattern. */
static bool is_named(const char *name, enum filter_arg arg)
{
	return args[arg] && strcmp(name, args[arg]) == 0;
}

void filter_args_see_mark(struct filter_marks *m, const char *name, ticks tick)
{
	const bool is[] = {
		[SINCE] = is_named(name, FILTER_SINCE_MARK),
		[UNTIL] = is_named(name, FILTER_UNTIL_MARK),
		[START] = is_title(name, "weft.start "),
		[STOP] = is_title(name, "weft.stop ")
	};

	for (int kind = SINCE; kind <= STOP; kind++)
		if (is[kind])
			*vec_add(&m->mark, &m->room, &m->count) =
				(struct mark){ tick, (enum mark_kind)kind };
}

/* By time, as find_recording and find_last need them. */
ORDER_BY(compare_marks, struct mark, UP(tick))

/* The start that is meant, and the stop that follows it (0: none). */
static int find_recording(const struct filter_marks *m, ticks *from, ticks *to)
{
	size_t nth, starts = 0, at = m->count;
	char text[OUT_NUMBER];

	read_title(&nth);
	for (size_t i = 0; i < m->count; i++)
		if (m->mark[i].kind == START && (++starts == nth || nth == 0))
			at = i;
	if (starts == 0)
		return err_add("no recording was started with the title \"%s\"",
			       args[FILTER_RECORDING]);
	if (at == m->count)
		return err_add("\"%s\": a recording with this title was "
			       "started only %s", args[FILTER_RECORDING],
			       out_number_many(text, starts, "times"));
	*from = m->mark[at].tick;
	for (*to = 0; at < m->count && *to == 0; at++)
		if (m->mark[at].kind == STOP)
			*to = m->mark[at].tick;
	return 0;
}

/* The last mark of this kind; *at stays as it is if the filter was not given.
 * Marks are sorted by time. 0, or -1 with the cause in the chain. */
static int find_last(const struct filter_marks *m, enum mark_kind kind,
		     enum filter_arg arg, ticks *at)
{
	for (size_t i = m->count; args[arg] && i > 0; i--)
		if (m->mark[i - 1].kind == kind) {
			*at = m->mark[i - 1].tick;
			return 0;
		}
	return !args[arg] ? 0 :
	       err_add("the trace has no mark \"%s\"; \"weft dump\" shows all "
		       "marks", args[arg]);
}

/* ---- single records ----------------------------------------------------- */

/* Cut the range [want->from, want->to) down to [from, to); to 0: no end. */
static void cut(struct replay_collect *want, ticks from, ticks to)
{
	want->from = MAX(from, want->from);
	if (to != 0 && to < want->to)
		want->to = to;
}

/* All ranges hold together: each filter by marks cuts off more. 0, or -1 with
 * the cause in the chain if a mark or recording is not there. */
static int cut_at_marks(struct filter_marks *m, struct replay_collect *want)
{
	ticks from = 0, to = 0, since = 0, until = 0;

	order_sort(m->mark, m->count, compare_marks);
	if ((args[FILTER_RECORDING] && find_recording(m, &from, &to) != 0) ||
	    find_last(m, SINCE, FILTER_SINCE_MARK, &since) != 0 ||
	    find_last(m, UNTIL, FILTER_UNTIL_MARK, &until) != 0)
		return -1;
	cut(want, from, to);
	cut(want, since, until);
	return 0;
}

/* Times since the start become ticks, in the clock of the whole trace. */
static int cut_at_times(const struct session *clock,
			struct replay_collect *want)
{
	ticks from = 0, to = 0;

	if ((args[FILTER_FROM] &&
	     time_argument_edge(clock, args[FILTER_FROM], "from",
				&from) != 0) ||
	    (args[FILTER_TO] &&
	     time_argument_edge(clock, args[FILTER_TO], "to", &to) != 0))
		return -1;
	cut(want, from, to);
	return 0;
}

int filter_args_collect(const struct session *clock, struct filter_marks *marks,
			struct replay_collect *want)
{
	if (args[FILTER_COROUTINE] &&
	    filter_args_coroutine("coroutine", args[FILTER_COROUTINE],
				  &want->pid, &want->serial) != 0)
		return -1;
	if (!filter_args_has(FILTER_RANGE))
		return 0;
	want->from = 0;
	want->to = UINT64_MAX;
	if (cut_at_marks(marks, want) != 0 || cut_at_times(clock, want) != 0)
		return -1;
	if (want->from < want->to)
		return 0;
	if (filter_args_has(FILTER_MARKS))
		return err_add("the selected time range is empty: check "
			       "--recording, --since-mark, --until-mark, "
			       "--from and --to");
	return err_add("--from %s is not before --to %s",
		       args[FILTER_FROM] ? args[FILTER_FROM] : "0",
		       args[FILTER_TO]);
}

/* ---- the tree ----------------------------------------------------------- */

/* Patterns that match nothing are refused: an empty table would look like an
 * answer. */
static bool has_func(struct session *s, const char *pattern)
{
	for (func_id f = 1; pattern && f <= func_count(s->funcs); f++)
		if (filter_match_func(s, f, pattern))
			return true;
	return false;
}

static bool has_thread(const struct session *s, const char *pattern)
{
	for (uint32_t i = 0; pattern && i < s->thread_count; i++)
		if (filter_match_thread(s, i, pattern))
			return true;
	return false;
}

static bool has_process(const struct session *s, const char *pattern)
{
	for (uint32_t i = 0; pattern && i < s->process_count; i++)
		if (filter_match_process(s, i, pattern))
			return true;
	return false;
}

/* --skip is not among those that must be found: it hides what is there, if it
 * is there. */
unsigned filter_args_apply(struct session *s, bool keep_vm,
			   struct filter_sums *sums)
{
	const struct filter filter = {
		.thread = args[FILTER_THREAD], .process = args[FILTER_PROCESS],
		.coroutine = !!args[FILTER_COROUTINE],
		.range = filter_args_has(FILTER_RANGE),
		.under = args[FILTER_UNDER], .focus = args[FILTER_FOCUS],
		.skip = args[FILTER_SKIP] };
	unsigned found = 0;

	if (has_func(s, filter.under))
		found |= FILTER_SET(UNDER);
	if (has_func(s, filter.focus))
		found |= FILTER_SET(FOCUS);
	if (has_thread(s, filter.thread))
		found |= FILTER_SET(THREAD);
	if (has_process(s, filter.process))
		found |= FILTER_SET(PROCESS);
	*sums = filter_apply(s, &filter, keep_vm ? FILTER_KEEP_VM :
					 FILTER_KEEP_SHAPE);
	return found;
}

int filter_args_require(struct session *s, unsigned found)
{
	char guess[GUESS_TEXT];
	static const enum filter_arg functions[] = { FILTER_UNDER,
						     FILTER_FOCUS };

	for (size_t i = 0; i < 2; i++) {
		const enum filter_arg arg = functions[i];

		if (args[arg] && !(found & 1u << arg))
			return err_add("no function that ran matches \"%s\" "
				       "(--%s)%s", args[arg],
				       filter_opts[arg].name,
				       named_guess(s, args[arg], NULL,
						   "\"*\" stands for any text",
						   guess));
	}
	if (args[FILTER_THREAD] && !(found & FILTER_SET(THREAD)))
		return err_add("no thread has the number or name \"%s\"; weft "
			       "info lists them", args[FILTER_THREAD]);
	if (args[FILTER_PROCESS] && !(found & FILTER_SET(PROCESS)))
		return err_add("no process has the number or program \"%s\"; "
			       "weft info lists them", args[FILTER_PROCESS]);
	return 0;
}

uint8_t *filter_args_threads(const struct session *s)
{
	return filter_threads(s, &(struct filter){
		.thread = args[FILTER_THREAD],
		.process = args[FILTER_PROCESS] });
}

/* ---- the sentence ------------------------------------------------------- */

void filter_args_describe(const struct session *s,
			  const struct filter_sums *sums, char *to, size_t size)
{
	static const char *const words[FILTER_ARGS] = {
		"under", "focus", "without", "thread", "process", "coroutine",
		"from", "to", "recording", "since the mark", "until the mark"
	};
	char time[OUT_NUMBER], whole[OUT_NUMBER], share[OUT_NUMBER];
	char calls[OUT_NUMBER], all[OUT_NUMBER];

	to[0] = '\0';
	for (int i = 0; i < FILTER_ARGS; i++)
		if (args[i])
			text_addf(to, size, "%s%s \"%.200s\"",
				  to[0] ? ", " : "", words[i], args[i]);
	text_addf(to, size, ": %s of %s traced (%s), %s of %s",
		  out_number_time(time, (double)session_ns(s, sums->self)),
		  out_number_time(whole,
				  (double)session_ns(s, sums->whole_self)),
		  out_number_share(share, sums->self, sums->whole_self),
		  out_number_count(calls, sums->calls),
		  out_number_many(all, sums->whole_calls, "calls"));
}
