/* cmd_report.c - "weft report": rankings of functions, and of groups of them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/report_print.h"
#include "analyzer/model/group.h"
#include "analyzer/tables/rank.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

static size_t arg_top = 30;
static int arg_sort, arg_by;
static bool arg_csv, arg_by_thread;
static const char *arg_columns, *arg_only;

/* As enum rank_key. */
static const char *const sort_keys[] = {
	"self", "total", "wall", "suspended", "calls", "average", "min", "max",
	"cpu", "off-cpu", "total-cpu", "total-off-cpu", "p50", "p95", "p99",
	"name", NULL
};

/* As enum group_by. */
static const char *const groups[] = {
	"function", "module", "file", "language", "body", "vm", "thread",
	"process", "label", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_CHOICE, .letter = 'b', .name = "by", .arg = "WHAT",
	  .to = &arg_by, .choices = groups, .help = "a row for each" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys, .help = "what comes first" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_TEXT, .name = "columns", .arg = "LIST",
	  .to = &arg_columns, .help = "what the table shows: self, share, "
	  "traced, total, wall, suspended, cpu, off-cpu, total-cpu, "
	  "total-off-cpu, calls, average, min, p50, p95, p99, max, language, "
	  "module, file, name; or all; +LIST adds to what is usual" },
	{ .type = OPT_TEXT, .name = "only", .arg = "PATTERN",
	  .to = &arg_only, .help = "rows to show; the figures stay those of "
	  "all" },
	{ .type = OPT_FLAG, .name = "by-thread", .to = &arg_by_thread,
	  .help = "a table for each thread" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static void note(const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(arg_csv ? stderr : stdout, "%snote: %s\n",
		arg_csv ? "# " : "", text);
	mem_free(text);
}

static int wants_quantiles(const struct report *r)
{
	return arg_csv || report_print_has_quantiles(r) ||
	       (arg_sort >= RANK_P50 && arg_sort <= RANK_P99);
}

static int wants_cpu(void)
{
	return arg_sort >= RANK_CPU && arg_sort <= RANK_TOTAL_OFF;
}

static int asks_cpu(void)
{
	return wants_cpu() ||
	       (arg_columns && strstr(arg_columns, "cpu"));
}

/* How far off the figures below may be. */
static void print_notes(const struct report *r, const struct rank *rank)
{
	/* Merging puts ticks' steps into those of nanoseconds. */
	const int error = r->session->part_count > 0 ? 3 * HIST_ERROR :
			  HIST_ERROR;
	const ticks all = rank->self + rank->root_self;
	char share[OUT_NUMBER], text[200];

	if (!arg_csv && wants_quantiles(r) && rank->has_quantiles) {
		snprintf(text, sizeof(text), "p50, p95 and p99 are at most "
			 "%d.%02d%% off", error / 100, error % 100);
		note(text);
	}
	if (rank->unknown < all / 1000 ||
	    (rank->unknown == all && !asks_cpu()))
		return;
	if (rank->unknown == all)
		snprintf(text, sizeof(text), "the trace holds no context "
			 "switches: no times on and off the CPU");
	else
		snprintf(text, sizeof(text), "context switches are known for "
			 "%s of the time: cpu and off-cpu %s",
			 out_number_share(share, all - rank->unknown, all),
			 r->has_cpu ? "add up to that much of self" :
			 "are not shown");
	if (r->has_cpu || report_print_has_cpu(r) || arg_csv)
		note(text);
}

static void print_only(const struct report *r, const struct rank *rank)
{
	char self[OUT_NUMBER], whole[OUT_NUMBER], share[OUT_NUMBER];
	char text[600];
	ticks shown = 0;
	size_t rows = 0;

	for (size_t i = 0; i < rank->count; i++)
		if (report_print_is_shown(r, rank, &rank->rows[i])) {
			shown += rank->rows[i].self;
			rows++;
		}
	snprintf(text, sizeof(text), "only \"%.200s\": %zu of %zu rows, self "
		 "%s of %s (%s)", arg_only, rows, rank->count,
		 out_number_time(self, (double)session_ns(r->session, shown)),
		 out_number_time(whole, (double)session_ns(r->session,
							   rank->self)),
		 out_number_share(share, shown, rank->self));
	note(text);
}

static void print_thread(const struct session *s, uint32_t i)
{
	const struct thread *const t = &s->threads[i];
	const uint32_t pid = s->processes[t->process].pid;
	char who[GROUP_NAME], time[OUT_NUMBER];
	char *const name = out_escape_terminal(group_name_thread(s, i, who));

	printf("%sthread %s", i > 0 ? "\n" : "", name);
	if (s->process_count == 1 && pid != 0)
		printf(" of process %" PRIu32, pid);
	printf(": %s\n", out_number_time(time,
				(double)session_ns(s, t->traced)));
	mem_free(name);
}

static void show_threads(struct report *r)
{
	struct session *const s = r->session;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		struct rank *const rank = rank_by(s, &(struct rank_options){
			r->by, (enum rank_key)arg_sort, i });

		if (arg_csv) {
			report_print_csv(r, rank, i);
		} else {
			print_thread(s, i);
			report_print_table(r, rank);
		}
		rank_free(rank);
	}
}

static int can_sort(const struct report *r, const struct rank *rank)
{
	if (arg_sort >= RANK_P50 && arg_sort <= RANK_P99 &&
	    !rank->has_quantiles)
		return err_add("cannot sort by %s: a profile holds no "
			       "percentiles", sort_keys[arg_sort]);
	if (!wants_cpu() || r->has_cpu)
		return 0;
	return err_add("cannot sort by %s: the trace %s context switches; see "
		       "weft info", sort_keys[arg_sort],
		       rank->unknown == rank->self + rank->root_self ?
		       "holds no" : "knows too few");
}

static enum cmd_exit report(const struct load *load, struct report *r)
{
	struct rank *const rank = rank_by(load->session,
		&(struct rank_options){ r->by, (enum rank_key)arg_sort,
					RANK_ALL_THREADS });
	enum cmd_exit status = CMD_OK;

	r->session = load->session;
	r->has_cpu = report_print_is_known(rank);
	if (arg_csv)
		header_print_losses(load);
	else
		header_begin(stdout, load);
	if (can_sort(r, rank) != 0)
		status = CMD_UNREADABLE;
	print_notes(r, rank);
	if (arg_only)
		print_only(r, rank);
	if (arg_csv)
		report_print_csv_head(r, arg_by_thread);
	else
		putchar('\n');
	if (status != CMD_OK)
		;
	else if (arg_by_thread)
		show_threads(r);
	else if (arg_csv)
		report_print_csv(r, rank, RANK_ALL_THREADS);
	else
		report_print_table(r, rank);
	rank_free(rank);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	struct report r = { .by = (enum group_by)arg_by,
			    .title = groups[arg_by], .top = arg_top,
			    .only = arg_only };
	struct replay_collect want = { .vm = r.by == GROUP_VM };
	struct load load;
	enum cmd_exit status;

	if (report_print_choose(&r, arg_columns, sort_keys[arg_sort]) != 0)
		return CMD_USAGE;
	want.hist = wants_quantiles(&r);
	status = load_open_with(&load, &want, count, operands);
	if (status == CMD_OK)
		status = report(&load, &r);
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
	"functions, native and Lua ones together. total is the time between\n"
	"entry and exit, less the time its coroutine was suspended; self is\n"
	"total less what its callees took; wall is total and suspended. A\n"
	"function that calls itself counts its outermost call only. share is\n"
	"the share of self, traced that of all time that was traced.\n"
	"\n"
	"--by ranks groups of functions by the same rule: of calls of one\n"
	"group in one another the outermost counts. body is the outermost\n"
	"function of a coroutine, vm its Lua state, label what weft record\n"
	"--label said.\n"
	"\n"
	"cpu and off-cpu are the parts of self in which the thread ran and\n"
	"did not, exact to the switch, where the trace holds the kernel's\n"
	"context switches; total-cpu and total-off-cpu those of total.\n"
	"\n"
	"FN and PATTERN are names as shown, whole or up to parameters or\n"
	"\" <\"; * stands for any text, ? for one character, a|b for either.\n"
	"module=PATTERN, file=PATTERN, language=PATTERN mean what a function\n"
	"is from.\n"
	"\n"
	"On top stands what was recorded, what was lost, and which part of\n"
	"it is shown.",
	.opts = opts,
	.run = run,
};
