/* cmd_report.c - "weft report": rankings of functions, and of groups of them.
 * Its columns are the rows at the end of tables/flat.c. This file decides which
 * rows, columns and notes are shown, and computes no figure of a row.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/table.h"
#include "analyzer/load/header.h"
#include "analyzer/model/group.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/filter.h"
#include "analyzer/tables/flat.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

/* Rows that are shown unless --top says otherwise. */
enum { USUAL_TOP = 30 };

/* The options. SIZE_MAX: not given; arg_by: an enum group_by; arg_sort NULL: by
 * self. */
static size_t arg_top = SIZE_MAX;
static int arg_by;
static bool arg_csv, arg_by_thread;
static const struct metric *arg_sort;
static const char *arg_columns, *arg_only;

/* Values of --by, which also name the column of the groups. */
static const char *const groups[] = {
	[GROUP_FUNCTION] = "function", [GROUP_MODULE] = "module",
	[GROUP_FILE] = "file", [GROUP_LANGUAGE] = "language",
	[GROUP_BODY] = "body", [GROUP_VM] = "vm", [GROUP_THREAD] = "thread",
	[GROUP_PROCESS] = "process", [GROUP_LABEL] = "label", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 'b', .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = groups, .help = "a row for each" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all (default: 30; with "
	  "--csv, all)" },
	{ .type = OPT_TEXT, .name = "only", .arg = "PATTERN",
	  .to = &arg_only, .help = "show only the rows that match; their "
	  "figures do not change" },
	{ .type = OPT_FLAG, .name = "by-thread", .to = &arg_by_thread,
	  .help = "a separate table for each thread (a row for each: --by "
	  "thread)" },
	TABLE_OPTS(flat_view, arg_sort, arg_columns, arg_csv),
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* Is --sort a metric with one of these flags (enum metric_flag)? */
static bool is_sorted_by(unsigned flags)
{
	return arg_sort && (arg_sort->flags & flags);
}

/* ---- notes -------------------------------------------------------------- */

/* A note above the table; in CSV a comment on stderr, so that stdout holds rows
 * alone. The sentence may be untrusted. */
static void note(const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(arg_csv ? stderr : stdout, "%snote: %s\n",
		arg_csv ? "# " : "", text);
	mem_free(text);
}

/* Percentiles are read from histograms, whose steps are HIST_ERROR wide. */
static void print_quantile_note(const struct session *s)
{
	/* Merging puts the steps of ticks into steps of nanoseconds. */
	const int error = s->part_count > 0 ? 3 * HIST_ERROR : HIST_ERROR;
	char text[100];

	snprintf(text, sizeof(text), "p50, p95 and p99 are at most %d.%02d%% "
		 "off", error / 100, error % 100);
	note(text);
}

/* Where switches are known for a part of the time only, the times on and off
 * the CPU do not add up to self. Where none are known, only who asks is
 * told. */
static void print_switches_note(const struct flat *all, bool is_asked_for)
{
	const ticks time = all->self + all->root_self;
	char share[OUT_NUMBER], text[200];

	if (!session_has_times(all->session) || all->unknown < time / 1000 ||
	    (all->unknown == time && !is_asked_for))
		return;
	if (all->unknown == time)
		snprintf(text, sizeof(text), "the trace holds no context "
			 "switches: no times on and off the CPU");
	else
		snprintf(text, sizeof(text), "context switches are known for "
			 "%s of the time: cpu and off-cpu %s",
			 out_number_share(share, time - all->unknown, time),
			 all->has_switches ? "add up to that much of self" :
			 "are not shown");
	note(text);
}

/* How far off the figures below may be. In CSV the percentiles have no note. */
static void print_notes(const struct flat *all, const struct metric_columns *c)
{
	const bool is_asked_for = is_sorted_by(METRIC_SWITCHES) ||
		(arg_columns && strstr(arg_columns, "cpu"));

	if (!arg_csv && all->has_quantiles &&
	    (metric_has(c, METRIC_QUANTILE) || is_sorted_by(METRIC_QUANTILE)))
		print_quantile_note(all->session);
	if (all->has_switches || metric_has(c, METRIC_SWITCHES))
		print_switches_note(all, is_asked_for);
}

/* ---- rows --------------------------------------------------------------- */

/* --only names functions as filters do, and groups by their name or its last
 * part. */
static bool is_shown(const struct flat *t, const struct flat_row *row)
{
	const char *const name = flat_name(t, row);

	if (!arg_only)
		return true;
	if (row->f.func != 0)
		return filter_match_func(t->session, row->f.func, arg_only);
	return filter_match_text(name, arg_only) ||
	       filter_match_text(text_base_name(name), arg_only);
}

/* How much of all the rows --only shows. Shares in the table stay parts of the
 * whole, so this line is where the sum of the shown ones is found. */
static void print_only(const struct flat *t)
{
	char self[OUT_NUMBER], whole[OUT_NUMBER], share[OUT_NUMBER];
	char text[600];
	ticks shown = 0;
	size_t rows = 0;

	for (size_t i = 0; i < t->count; i++)
		if (is_shown(t, &t->rows[i])) {
			shown += t->rows[i].f.self;
			rows++;
		}
	snprintf(text, sizeof(text), "only \"%.200s\": %zu of %zu rows, self "
		 "%s of %s (%s)", arg_only, rows, t->count,
		 out_number_time(self, (double)session_ns(t->session, shown)),
		 out_number_time(whole, (double)session_ns(t->session,
							   t->self)),
		 out_number_share(share, shown, t->self));
	note(text);
}

/* What the rows beyond --top add up to. */
static void print_rest(const struct flat *t, size_t rows, ticks self)
{
	char count[OUT_NUMBER], time[OUT_NUMBER], share[OUT_NUMBER];

	if (!session_has_times(t->session)) {
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(count, rows, "rows"));
		return;
	}
	printf("... and %s: self %s, %s (--top 0 shows all)\n",
	       out_number_many(count, rows,
			       arg_by == GROUP_FUNCTION ? "functions" : "rows"),
	       out_number_time(time, (double)session_ns(t->session, self)),
	       out_number_share(share, self, t->self));
}

/* The rows of one flat table, up to --top of those that --only leaves; the rest
 * becomes a line below them. In CSV, all threads have one head: the caller has
 * begun the table, and there is no rest to tell. */
static void print_rows(struct table *table, const struct flat *t)
{
	const size_t top = table_top(arg_top, USUAL_TOP, arg_csv);
	size_t shown = 0, left = 0;
	ticks rest = 0;

	table->source.table = t;
	if (!arg_csv)
		table_begin(table);
	for (size_t i = 0; i < t->count; i++) {
		if (!is_shown(t, &t->rows[i]))
			continue;
		if (shown < top) {
			table_row(table, &t->rows[i]);
			shown++;
		} else {
			rest += t->rows[i].f.self;
			left++;
		}
	}
	if (!arg_csv)
		table_end(table);
	if (left > 0 && !arg_csv)
		print_rest(t, left, rest);
}

/* The heading of a thread's table. */
static void print_thread(const struct session *s, uint32_t i)
{
	const struct thread *const t = &s->threads[i];
	const uint32_t pid = s->processes[t->process].pid;
	char room[GROUP_NAME], time[OUT_NUMBER];
	char *const name = out_escape_terminal(group_name_thread(s, i, room));

	printf("%sthread %s", i > 0 ? "\n" : "", name);
	if (s->process_count == 1 && pid != 0)
		printf(" of process %" PRIu32, pid);
	printf(": %s\n", out_number_time(time,
				(double)session_ns(s, t->traced)));
	mem_free(name);
}

/* The sort key; NULL: the usual one, which calls that were only counted do not
 * have. */
static const struct metric *sort_of(const struct session *s)
{
	return arg_sort || session_has_times(s) ? arg_sort :
	       metric_find(&flat_view, "calls");
}

/* A table for each thread. Whether columns of switches are shown is decided
 * once for all threads, so that the tables have the same columns. */
static void print_threads(struct table *table, const struct flat *all)
{
	struct session *const s = all->session;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct flat *const t = flat_new(s, &(struct flat_options){
			(enum group_by)arg_by, sort_of(s), i });

		t->has_switches = all->has_switches;
		if (!arg_csv)
			print_thread(s, i);
		print_rows(table, t);
		flat_free(t);
	}
}

/* ---- the command -------------------------------------------------------- */

/* Refuse to sort by what the trace or profile does not hold: the order would
 * mean nothing. 0, or -1 with the cause in the chain. */
static int check_sort(const struct flat *all)
{
	if (arg_sort && metric_is_timed(arg_sort) &&
	    !session_has_times(all->session))
		return err_add("cannot sort by %s: calls were only counted",
			       arg_sort->name);
	if (is_sorted_by(METRIC_QUANTILE) && !all->has_quantiles)
		return err_add("cannot sort by %s: a profile holds no "
			       "percentiles", arg_sort->name);
	if (!is_sorted_by(METRIC_SWITCHES) || all->has_switches)
		return 0;
	return err_add("cannot sort by %s: the trace %s context switches; see "
		       "weft info", arg_sort->name,
		       all->unknown == all->self + all->root_self ?
		       "holds no" : "holds too few");
}

/* The header, the notes and then the tables. The flat table of all threads is
 * made even for --by-thread: only the whole tells which times are known well
 * enough to be shown. */
static enum cmd_exit report(const struct load *load, struct table *table)
{
	struct flat *const all = flat_new(load->session,
		&(struct flat_options){ (enum group_by)arg_by,
					sort_of(load->session),
					CCT_ALL_THREADS });
	enum cmd_exit status = CMD_OK;

	/* The columns were chosen before the trace was read; the session is
	 * known only now. */
	table->source.session = load->session;
	if (arg_csv)
		header_print_losses(load);
	else
		header_begin(stdout, load);
	if (check_sort(all) != 0)
		status = CMD_UNREADABLE;
	print_notes(all, &table->columns);
	if (arg_only)
		print_only(all);
	if (arg_csv)
		table_begin(table);
	else
		putchar('\n');
	/* In CSV the columns stay, with empty fields: what a script reads must
	 * not depend on the trace. */
	if (!arg_csv && !all->has_switches)
		metric_remove(&table->columns, METRIC_SWITCHES);
	if (status == CMD_OK && arg_by_thread)
		print_threads(table, all);
	else if (status == CMD_OK)
		print_rows(table, all);
	flat_free(all);
	return status;
}

/* Only functions and bodies have a language and a source; only --by-thread has
 * threads. 0, or -1 with the cause in the chain. */
static int choose_columns(struct table *table)
{
	/* The row of a body is the function with which the coroutine begins. */
	const bool has_funcs = arg_by == GROUP_FUNCTION || arg_by == GROUP_BODY;
	const struct metric_choice choice = {
		.names = arg_columns, .sort = arg_sort, .csv = arg_csv,
		.lacks = (has_funcs ? 0u : METRIC_OF_FUNC) |
			 (arg_by_thread ? 0u : METRIC_OF_THREAD) };

	if (metric_choose(&table->columns, &flat_view, &choice) != 0)
		return -1;
	metric_rename(&table->columns, "name", groups[arg_by], groups[arg_by]);
	return 0;
}

/* What replay collects follows from the columns and the sort key: histograms
 * and Lua states take time and memory, so they are collected on demand. That is
 * why the columns are chosen before the trace is opened. */
static enum cmd_exit run(int count, char **operands)
{
	struct table table = { .csv = arg_csv, .has_bounds = true };
	struct replay_collect want = { .vm = arg_by == GROUP_VM };
	struct load load;
	enum cmd_exit status;

	if (choose_columns(&table) != 0)
		return CMD_USAGE;
	want.hist = metric_has(&table.columns, METRIC_QUANTILE) ||
		    is_sorted_by(METRIC_QUANTILE);
	load_want_net(true);
	status = load_open_with(&load, &want, count, operands);
	if (status == CMD_OK)
		status = report(&load, &table);
	if (status == CMD_OK)
		status = header_need_calls(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_report = {
	.name = "report",
	.args = "TRACE...",
	.summary = "rank functions by the time they take",
	.about =
	"Reads traces or profiles (several are merged) and lists their\n"
	"functions, native and Lua ones together. A function that calls\n"
	"itself has the total of its outermost call.\n"
	"\n"
	"--by ranks groups of functions. The same rule applies: if calls of a\n"
	"group are nested, the group has the total of the outermost. body is\n"
	"the outermost function of a coroutine, vm its Lua state, and label a\n"
	"KEY=VALUE that weft record --label put into the trace.\n"
	"\n"
	"Times on and off the CPU are exact to the context switch. They are\n"
	"shown where the trace holds the kernel's switches.\n"
	"\n"
	"FN and PATTERN match a name as it is shown: the whole name, or the\n"
	"part before its parameters or before \" <\". * stands for any text,\n"
	"? for one character, a|b for a or b. module=PATTERN, file=PATTERN\n"
	"and language=PATTERN match the function's module, file or language.\n"
	"\n"
	"The header says what was recorded, what was lost, and which part of\n"
	"it is shown.",
	.opts = opts,
	.run = run,
};
