/* cmd_merge.c - "weft merge": many sessions as one profile, or a table of each
 * function's calls and times over them. The sums are made by the folder merge;
 * this file sorts and prints them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/table.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are shown unless --top says otherwise. */
enum { USUAL_TOP = 30 };

/* ---- the columns -------------------------------------------------------- */

/* Over the sessions in which the function ran, not over all. */
static METRIC_GETTER(get_over_sessions)
{
	const struct statistics *const f = (const void *)((const char *)row +
							  m->at);

	v->real = strstr(m->name, "mean") ? statistics_mean(f, f->sessions) :
		  statistics_deviation(f, f->sessions);
	v->is_none = m->unit == METRIC_MEAN && v->real == 0;
}

/* The five columns of a figure: its sum has the figure's name. On a narrow
 * terminal the extremes go before the deviation. */
#define AT(field) METRIC_AT(struct func_statistics, field)
#define FIGURE(figure, key, unit, mean_unit) \
	{ #figure, unit, METRIC_SORTS, NULL, key, \
	  "sum over the sessions", AT(figure.sum) }, \
	{ #figure "-mean", mean_unit, 0, "mean", key "_mean", "its mean", \
	  .at = offsetof(struct func_statistics, figure), \
	  .get = get_over_sessions, .decimals = 1 }, \
	{ #figure "-min", unit, 0, "min", key "_min", "least in a session", \
	  AT(figure.min), .drop = 3 }, \
	{ #figure "-max", unit, 0, "max", key "_max", "most in a session", \
	  AT(figure.max), .drop = 3 }, \
	{ #figure "-deviation", mean_unit, 0, "+-", key "_deviation", \
	  "standard deviation", \
	  .at = offsetof(struct func_statistics, figure), \
	  .get = get_over_sessions, .drop = 2, .decimals = 1 }
#define FIGURES(figure) "," figure "," figure "-mean," figure "-min," \
	figure "-max," figure "-deviation"
#define TABLE(figure) "sessions" FIGURES("calls") FIGURES(figure) \
	",language,name"

static const struct metric metrics[] = {
	{ "sessions", METRIC_COUNT, 0, NULL, NULL,
	  "in how many it ran", AT(calls.sessions) },
	FIGURE(self, "self_ns", METRIC_TIME, METRIC_MEAN),
	FIGURE(total, "total_ns", METRIC_TIME, METRIC_MEAN),
	FIGURE(suspended, "suspended_ns", METRIC_TIME, METRIC_MEAN),
	FIGURE(calls, "calls", METRIC_COUNT, METRIC_REAL),
	METRIC_PLACE(struct func_statistics, func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function", AT(func),
	  metric_function, .shrink = 24, .help = "the function" },
	{ .name = NULL }
};

/* The times of four figures would be twenty columns: the table has those that
 * its rows are sorted by; if they are sorted by calls, self times. CSV has
 * all. */
static struct metric_view view = {
	metrics, TABLE("self"), "name,language,module,file,line,sessions"
	FIGURES("calls") FIGURES("self") FIGURES("total") FIGURES("suspended")
};

/* ---- the options -------------------------------------------------------- */

/* arg_output NULL: print a table. SIZE_MAX: not given; arg_sort NULL: by
 * self. */
static const char *arg_output, *arg_columns;
static size_t arg_top = SIZE_MAX;
static const struct metric *arg_sort;
static bool arg_csv;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "write the sum as a profile instead of "
	  "printing a table; - is standard output" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all (default: 30; with "
	  "--csv, all)" },
	TABLE_OPTS(view, arg_sort, arg_columns, arg_csv),
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
	{ .type = OPT_END }
};

/* Choose the columns. 0, or -1 with the cause in the chain. */
static int choose_columns(struct table *t)
{
	if (arg_output && (arg_sort || arg_columns || arg_csv ||
			   arg_top != SIZE_MAX))
		return err_add("--output writes a profile, which has all "
			       "functions and figures: leave out --top, "
			       "--sort, --columns and --csv");
	if (arg_sort && strcmp(arg_sort->name, "total") == 0)
		view.table = TABLE("total");
	if (arg_sort && strcmp(arg_sort->name, "suspended") == 0)
		view.table = TABLE("suspended");
	return table_choose(t, &view, arg_columns, arg_sort);
}

/* ---- the command -------------------------------------------------------- */

/* Functions that are equal stay in the order of the session. */
static int compare(const void *a, const void *b)
{
	const struct func_statistics *const x = *(const void *const *)a;
	const struct func_statistics *const y = *(const void *const *)b;
	const int order = metric_compare(arg_sort ? arg_sort :
					 metric_sorting(metrics, 0), NULL, x,
					 y);

	return order != 0 ? order : (x->func > y->func) - (x->func < y->func);
}

/* A figure's mean is called so behind the figure; elsewhere the title says
 * which mean it is. */
static void name_those_apart(struct metric_columns *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct metric *const m = c->column[i].metric;
		const size_t n = strcspn(m->name, "-");

		if (m->title && m->name[n] &&
		    (i == 0 || strncmp(c->column[i - 1].metric->name, m->name,
				       n) != 0))
			c->column[i].title = m->name;
	}
}

/* The table or the CSV. Pointers are sorted, as the statistics belong to the
 * session. */
static void print(const struct load *load, struct table *t)
{
	struct session *const s = load->session;
	const size_t count = s->statistics_count;
	const size_t top = table_top(arg_top, USUAL_TOP, arg_csv);
	const struct func_statistics **const rows =
		mem_alloc((count + 1) * sizeof(*rows));

	t->source.session = s;
	name_those_apart(&t->columns);
	for (size_t i = 0; i < count; i++)
		rows[i] = &s->statistics[i];
	qsort(rows, count, sizeof(*rows), compare);
	if (arg_csv)
		header_print_losses(load);
	else
		header_print(stdout, load);
	if (!arg_csv)
		puts("figures of the sessions in which a function ran: sum, "
		     "mean, min, max, deviation");
	table_begin(t);
	for (size_t i = 0; i < count && i < top; i++)
		table_row(t, rows[i]);
	table_end(t);
	if (!arg_csv && count > top)
		table_print_rest(count - top, "functions");
	mem_free(rows);
}

/* A single trace is merged, too: the table is made of statistics, which only a
 * sum has. */
static enum cmd_exit run(int count, char **operands)
{
	/* A profile keeps Lua states apart. */
	const struct replay_collect want = { .hist = 1,
					     .vm = !!arg_output };
	struct table table = { .csv = arg_csv };
	struct load load;
	enum cmd_exit status;

	if (choose_columns(&table) != 0)
		return CMD_USAGE;
	load_want_net(true);
	status = load_open_merged(&load, &want, count, operands);
	if (status == CMD_OK && !arg_output)
		print(&load, &table);
	else if (status == CMD_OK && load_profile_write(&load, arg_output) != 0)
		status = CMD_UNREADABLE;
	else if (status == CMD_OK)
		header_print_losses(&load);
	if (status == CMD_OK)
		status = header_need_calls(&load);
	load_close(&load);
	return status;
}

const struct cmd cmd_merge = {
	.name = "merge",
	.args = "TRACE...",
	.summary = "add up sessions from one or many machines",
	.about =
	"Reads traces and profiles and adds them up. Prints each function's\n"
	"calls and time over the sessions in which it ran: sum, mean, min,\n"
	"max, and standard deviation. With -o, writes the sum as a profile\n"
	"instead, which can be merged again. In whatever order and groups you\n"
	"merge, the result is the same to the byte. Times are added in whole\n"
	"nanoseconds.\n"
	"\n"
	"What counts as the same in two sessions: native functions with equal\n"
	"build-id and offset, Lua functions with equal source and lines,\n"
	"threads with equal program, labels and name, Lua states with equal\n"
	"program, labels and number.\n"
	"\n"
	"On the machine that recorded a trace, \"weft export\" turns it into\n"
	"a profile.\n"
	"Other commands that take several traces merge them in the same way.",
	.opts = opts,
	.run = run,
};
