/* cmd_report.c - "weft report": rankings of functions, and of groups of them.
 * Its columns are the rows at the end of tables/flat.c. This file decides which
 * rows, columns and notes are shown, and computes no figure of a row.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/shared/ranking.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/header.h"
#include "analyzer/model/group.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/filter.h"
#include "analyzer/tables/flat.h"

#include <inttypes.h>

/* Rows that are shown unless --top says otherwise. */
enum { USUAL_TOP = 30 };

/* The options. arg_by: an enum group_by. */
static int arg_by;
static const char *arg_only;

/* Values of --by, which also name the column of the groups. */
static const char *const groups[] = {
	[GROUP_FUNCTION] = "function", [GROUP_MODULE] = "module",
	[GROUP_FILE] = "file", [GROUP_LANGUAGE] = "language",
	[GROUP_BODY] = "body", [GROUP_VM] = "vm", [GROUP_THREAD] = "thread",
	[GROUP_PROCESS] = "process", [GROUP_LABEL] = "label", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = groups, .help = "a row for each" },
	TABLE_TOP("rows to show", 30),
	{ .type = OPT_TEXT, .name = "only", .arg = "PATTERN",
	  .to = &arg_only, .help = "show only the rows that match; their "
	  "figures do not change" },
	TABLE_OF_EACH("a table"),
	{ .type = OPT_MORE, .more = ranking_opts },
	TABLE_OPTS_FIRST(flat_views[METRIC_BY_TIME],
			 "cpu if context switches are known, else self"),
	{ .type = OPT_END }
};

/* Is --sort a metric with one of these flags (enum metric_flag)? */
static bool is_sorted_by(unsigned flags)
{
	return table_args.sort && (table_args.sort->flags & flags);
}

/* ---- notes -------------------------------------------------------------- */

/* Percentiles are read from histograms, whose steps are HIST_ERROR wide. */
static void print_quantile_note(const struct session *s)
{
	/* Merging puts the steps of ticks into steps of nanoseconds. */
	const int error = s->part_count > 0 ? 3 * HIST_ERROR : HIST_ERROR;

	table_note("note: p50, p95 and p99 are at most %d.%02d%% off",
		   error / 100, error % 100);
}

/* One row for Lua states that are not told from each other. */
static void print_vm_note(const struct flat *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(flat_name(all, &all->rows[i]), GROUP_ANY_VM) == 0)
			table_note("note: %s may hold several Lua states: "
				   "where a process has more than one, only "
				   "coroutines are known to be of one",
				   GROUP_ANY_VM);
}

/* How far off the figures below may be. In CSV the percentiles have no note. */
static void print_notes(const struct flat *all, const struct metric_columns *c,
			const struct ranking *ranking)
{
	if (!table_args.csv && all->has_quantiles &&
	    (metric_has(c, METRIC_QUANTILE) || is_sorted_by(METRIC_QUANTILE)))
		print_quantile_note(all->session);
	if (arg_by == GROUP_VM)
		print_vm_note(all);
	ranking_note(ranking, all->session);
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

/* A row's time in what rows are ranked by. */
static ticks time_of(const struct flat_row *row, const struct metric *by)
{
	struct metric_value v;

	metric_get(by, NULL, row, &v);
	return v.count;
}

/* How much of all the rows --only shows. Shares in the table stay parts of the
 * whole, so this line is where the sum of the shown ones is found. */
static void print_only(const struct flat *t, const struct metric *by)
{
	char self[OUT_NUMBER], whole[OUT_NUMBER], share[OUT_NUMBER];
	char all_rows[OUT_NUMBER];
	const ticks all = flat_whole(t, by);
	ticks shown = 0;
	size_t rows = 0;

	for (size_t i = 0; i < t->count; i++)
		if (is_shown(t, &t->rows[i])) {
			shown += time_of(&t->rows[i], by);
			rows++;
		}
	table_note("note: only \"%.200s\": %zu of %s, %s %s of %s (%s)",
		   arg_only, rows, out_number_many(all_rows, t->count, "rows"),
		   by->name,
		   out_number_time(self, (double)session_ns(t->session, shown)),
		   out_number_time(whole, (double)session_ns(t->session, all)),
		   out_number_share(share, shown, all));
}

/* What the rows beyond --top add up to. */
static void print_rest(const struct flat *t, const struct metric *by,
		       size_t rows, ticks left)
{
	const ticks whole = flat_whole(t, by);
	char count[OUT_NUMBER], time[OUT_NUMBER], share[OUT_NUMBER];

	if (!session_has_times(t->session)) {
		table_print_rest(rows, "rows");
		return;
	}
	printf("... and %s: %s %s, %s (--top 0 shows all)\n",
	       out_number_many(count, rows,
			       arg_by == GROUP_FUNCTION ? "functions" : "rows"),
	       by->name,
	       out_number_time(time, (double)session_ns(t->session, left)),
	       out_number_share(share, left, whole));
}

/* The rows of one flat table, up to --top of those that --only leaves; the rest
 * becomes a line below them. In CSV, all threads have one head: the caller has
 * begun the table, and there is no rest to tell. */
static void print_rows(struct table *table, const struct flat *t,
		       const struct ranking *ranking)
{
	const size_t top = table_top(USUAL_TOP);
	size_t shown = 0, left = 0;
	ticks rest = 0;

	table->source.table = t;
	if (!table->csv)
		table_begin(table);
	for (size_t i = 0; i < t->count; i++) {
		if (!is_shown(t, &t->rows[i]))
			continue;
		if (shown < top) {
			table_row(table, &t->rows[i]);
			shown++;
		} else {
			rest += time_of(&t->rows[i], ranking->first);
			left++;
		}
	}
	if (!table->csv)
		table_end(table);
	if (left > 0 && !table->csv)
		print_rest(t, ranking->first, left, rest);
}

/* The heading of a thread's table. */
static void print_thread(const struct session *s, uint32_t i)
{
	const struct thread *const t = &s->threads[i];
	const uint32_t pid = s->processes[t->process].pid;
	char room[GROUP_NAME], time[OUT_NUMBER];

	if (i > 0)
		putchar('\n');
	out_print(stdout, "thread %s", group_name_thread(s, i, room));
	if (s->process_count == 1 && pid != 0)
		printf(" of process %" PRIu32, pid);
	printf(": %s\n", out_number_time(time,
				(double)session_ns(s, t->traced)));
}

/* A table for each thread, all with the same columns. */
static void print_threads(struct table *table, const struct flat *all,
			  const struct ranking *ranking)
{
	struct session *const s = all->session;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct flat *const t = flat_new(s, &(struct flat_options){
			.by = (enum group_by)arg_by, .sort = ranking->sort,
			.thread = i });

		if (!table->csv)
			print_thread(s, i);
		print_rows(table, t, ranking);
		flat_free(t);
	}
}

/* ---- the command -------------------------------------------------------- */

/* Refuse to sort by what the trace or profile does not hold: the order would
 * mean nothing. 0, or -1 with the cause in the chain. */
static int check_sort(const struct flat *all, const struct ranking *ranking)
{
	const struct metric *const sort = table_args.sort;

	if (sort && metric_is_timed(sort) && !session_has_times(all->session))
		return err_add("cannot sort by %s: calls were only counted",
			       sort->name);
	if (is_sorted_by(METRIC_QUANTILE) && !all->has_quantiles)
		return err_add("cannot sort by %s: a profile holds no "
			       "percentiles", sort->name);
	return ranking_check(ranking);
}

/* Only functions and bodies have a language and a source; only --tables has
 * threads. 0, or -1 with the cause in the chain. */
static int choose_columns(struct table *table, enum metric_ranking by)
{
	/* The row of a body is the function with which the coroutine begins. */
	const bool has_funcs = arg_by == GROUP_FUNCTION || arg_by == GROUP_BODY;
	const struct metric_choice choice = {
		.names = table_args.columns, .sort = table_args.sort,
		.csv = table->csv,
		.lacks = (has_funcs ? 0u : METRIC_OF_FUNC) |
			 (table_args_are_many() ? 0u : METRIC_OF_THREAD) };

	if (metric_choose(&table->columns, &flat_views[by], &choice) != 0)
		return -1;
	metric_rename(&table->columns, "name", groups[arg_by], groups[arg_by]);
	return 0;
}

/* The header and the notes, before the tables. */
static void print_head(const struct load *load, struct table *table,
		       const struct flat *all, const struct ranking *ranking)
{
	reading_begin_header(load);
	print_notes(all, &table->columns, ranking);
	if (arg_only)
		print_only(all, ranking->first);
	if (table->csv)
		table_begin(table);
	else
		putchar('\n');
	/* In CSV the columns stay, with empty fields: what a script reads must
	 * not depend on the trace. */
	if (!table->csv && !all->has_switches)
		metric_remove(&table->columns, METRIC_SWITCHES);
}

/* The usual columns depend on what is known, so they are chosen again now that
 * the trace is read. The flat table of all threads is made even for
 * --tables, for the notes. */
static enum cmd_exit report_print(struct reading *r)
{
	struct session *const s = r->load.session;
	struct table *const table = &r->table;
	struct ranking ranking;
	struct flat *all;
	enum cmd_exit status = CMD_OK;

	if (ranking_choose(&ranking, s, flat_views, table_args.sort) != 0 ||
	    choose_columns(table, ranking.by) != 0)
		return CMD_USAGE;
	all = flat_new(s, &(struct flat_options){
		.by = (enum group_by)arg_by, .sort = ranking.sort,
		.thread = CCT_ALL_THREADS });
	table->source = (struct metric_source){ s, NULL, all->has_switches };
	print_head(&r->load, table, all, &ranking);
	if (check_sort(all, &ranking) != 0)
		status = CMD_UNREADABLE;
	else if (table_args_are_many())
		print_threads(table, all, &ranking);
	else
		print_rows(table, all, &ranking);
	flat_free(all);
	return status == CMD_OK ? header_need_calls(&r->load) : status;
}

/* What replay collects follows from the columns and the sort key: histograms
 * and Lua states take time and memory, so they are collected on demand. That is
 * why the columns are chosen before the trace is opened. */
static int report_prepare(struct reading *r)
{
	r->table.has_bounds = true;
	if (choose_columns(&r->table, METRIC_BY_TIME) != 0)
		return -1;
	r->want.vm = arg_by == GROUP_VM;
	r->want.hist = metric_has(&r->table.columns, METRIC_QUANTILE) ||
		       is_sorted_by(METRIC_QUANTILE);
	return 0;
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
	"Where the trace holds the kernel's context switches, functions are\n"
	"ranked by time on the CPU. Beside it is the time off the CPU, in\n"
	"which they waited. --sort self ranks by the sum of both, --waiting\n"
	"by time off the CPU.\n"
	"\n"
	"FN and PATTERN match a name as it is shown: the whole name, or the\n"
	"part before its parameters or before \" <\". * stands for any text,\n"
	"? for one character, a|b for a or b. module=PATTERN, file=PATTERN\n"
	"and language=PATTERN match the function's module, file or language.\n"
	"\n"
	"The header says what was recorded, what was lost, and which part of\n"
	"it is shown.",
	.opts = opts,
	.has_net = true,
	.prepare = report_prepare,
	.print = report_print,
};
