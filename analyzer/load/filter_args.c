/* filter_args.c - from options to a part of a trace, and the sentence that says on
 * top of a report which part it shows.
 * SPDX-License-Identifier: MIT */
#include "analyzer/load/filter_args.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/load/time_argument.h"
#include "analyzer/tables/filter.h"
#include "analyzer/out/out_number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *arg_thread, *arg_coroutine, *arg_from, *arg_to;
static const char *arg_under, *arg_focus, *arg_skip;

const struct opt choose_opts[] = {
	{ .type = OPT_TEXT, .name = "under", .arg = "FN", .to = &arg_under,
	  .help = "only what happened in calls of FN and below them; FN's "
	  "outermost calls stand at the top" },
	{ .type = OPT_TEXT, .name = "focus", .arg = "FN", .to = &arg_focus,
	  .help = "only stacks in which FN is open; FN's callers are shown, "
	  "without their own self and calls" },
	{ .type = OPT_TEXT, .name = "skip", .arg = "PATTERN", .to = &arg_skip,
	  .help = "frames that match are not shown: their self time is their "
	  "caller's, their calls are not counted" },
	{ .type = OPT_TEXT, .name = "thread", .arg = "TID", .to = &arg_thread,
	  .help = "only threads of this number or name" },
	{ .type = OPT_TEXT, .name = "coroutine", .arg = "ID",
	  .to = &arg_coroutine, .help = "only this coroutine and what it "
	  "resumed; PID:ID where several processes have one" },
	{ .type = OPT_TEXT, .name = "from", .arg = "T", .to = &arg_from,
	  .help = "only what happened from T on: a time since the start ("
	  WHEN_UNITS "), or ns since 1970; times are cut there, a call is "
	  "counted where it begins, its length (min, max, percentiles) "
	  "where it ends" },
	{ .type = OPT_TEXT, .name = "to", .arg = "T", .to = &arg_to,
	  .help = "only what happened before T" },
	{ .type = OPT_MORE, .more = marks_opts },
	{ .type = OPT_END }
};

int choose_has_range(void)
{
	return arg_from || arg_to || marks_are_asked_for();
}

int choose_needs_records(void)
{
	return arg_coroutine || choose_has_range();
}

int choose_is_on(void)
{
	return choose_needs_records() || arg_thread ||
	       arg_under || arg_focus || arg_skip != NULL;
}

static int read_coroutine(struct replay_collect *want)
{
	const char *text = arg_coroutine;
	char *end = NULL;
	uint64_t first, second = 0;

	errno = 0;
	first = strtoull(text, &end, 10);
	if (text[0] >= '0' && text[0] <= '9' && *end == ':' &&
	    end[1] >= '0' && end[1] <= '9') {
		want->pid = (uint32_t)first;
		second = strtoull(end + 1, &end, 10);
		first = second;
	}
	if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    first == 0 || (second && want->pid == 0))
		return err_add("--coroutine wants an id such as weft "
			       "coroutines shows, or PID:ID, not \"%s\"", text);
	want->serial = first;
	return 0;
}

int choose_collect(const struct session *s, const struct marks *marks,
		   struct replay_collect *want)
{
	uint64_t ns;

	if (arg_coroutine && read_coroutine(want) != 0)
		return -1;
	if (!choose_has_range())
		return 0;
	want->from = want->to = 0;
	if (marks_are_asked_for() &&
	    marks_range(marks, &want->from, &want->to) != 0)
		return -1;
	if (want->to == 0)
		want->to = UINT64_MAX;
	if (arg_from) {
		if (when_moment(s, arg_from, "from", &ns) != 0)
			return -1;
		if (when_tick(s, ns) > want->from)
			want->from = when_tick(s, ns);
	}
	if (arg_to) {
		if (when_moment(s, arg_to, "to", &ns) != 0)
			return -1;
		if (when_tick(s, ns) < want->to)
			want->to = when_tick(s, ns);
	}
	if (want->from >= want->to)
		return marks_are_asked_for() ?
			err_add("nothing lies in that time") :
			err_add("--from %s is not before --to %s",
				!arg_from ? "0" : arg_from, arg_to);
	return 0;
}

static int need_func(struct session *s, const char *pattern,
		     const char *option)
{
	for (func_id f = 1; pattern && f <= func_count(s->funcs); f++)
		if (filter_match_func(s, f, pattern))
			return 0;
	return !pattern ? 0 :
	       err_add("no function that ran is named \"%s\", as --%s asks; "
		       "\"*\" stands for any text", pattern, option);
}

static int need_thread(const struct session *s)
{
	for (uint32_t i = 0; arg_thread && i < s->thread_count; i++)
		if (filter_match_thread(s, i, arg_thread))
			return 0;
	return !arg_thread ? 0 :
	       err_add("no thread has the number or name \"%s\"; weft info "
		       "lists them", arg_thread);
}

int choose_apply(struct session *s, int keep_vm, struct filter_sums *sums)
{
	const struct filter select = {
		.thread = arg_thread, .coroutine = arg_coroutine != NULL,
		.range = choose_has_range(), .under = arg_under,
		.focus = arg_focus, .skip = arg_skip };

	if (need_func(s, arg_under, "under") != 0 ||
	    need_func(s, arg_focus, "focus") != 0 || need_thread(s) != 0)
		return -1;
	*sums = filter_apply(s, &select, keep_vm);
	return 0;
}

static void say(char *to, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(char *to, size_t size, const char *format, ...)
{
	const size_t used = strlen(to);
	va_list args;

	if (used + 1 >= size)
		return;
	va_start(args, format);
	vsnprintf(to + used, size - used, format, args);
	va_end(args);
}

static void say_choice(char *to, size_t size, const char *what,
		       const char *arg)
{
	if (arg)
		say(to, size, "%s%s \"%.200s\"", to[0] == '\0' ? "" : ", ",
		    what, arg);
}

void choose_tell(const struct session *s, const struct filter_sums *sums,
		 char *to, size_t size)
{
	char time[OUT_NUMBER], whole[OUT_NUMBER], share[OUT_NUMBER];
	char calls[OUT_NUMBER], all[OUT_NUMBER];

	to[0] = '\0';
	say_choice(to, size, "thread", arg_thread);
	say_choice(to, size, "coroutine", arg_coroutine);
	say_choice(to, size, "under", arg_under);
	say_choice(to, size, "focus", arg_focus);
	say_choice(to, size, "without", arg_skip);
	say_choice(to, size, "from", arg_from);
	say_choice(to, size, "to", arg_to);
	say_choice(to, size, "recording", marks_recording());
	say_choice(to, size, "since the mark", marks_since());
	say_choice(to, size, "until the mark", marks_until());
	say(to, size, ": %s of %s traced (%s), %s of %s",
	    out_number_time(time, (double)session_ns(s, sums->self)),
	    out_number_time(whole, (double)session_ns(s, sums->whole_self)),
	    out_number_share(share, sums->self, sums->whole_self),
	    out_number_count(calls, sums->calls),
	    out_number_many(all, sums->whole_calls, "calls"));
}
