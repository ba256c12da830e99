/* cmd_merge.c - "weft merge": many sessions as one profile, or a table of each
 * function's calls and times over them. The sums are made by the folder merge;
 * this file sorts and prints them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"

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

/* NULL: print a table. */
static const char *arg_output;

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "write the sum as a profile instead of "
	  "printing a table; - is standard output" },
	TABLE_TOP("rows to show", 30),
	TABLE_OPTS(view),
	{ .type = OPT_END }
};

/* A profile keeps Lua states apart. */
static int merge_prepare(struct reading *r)
{
	const struct table_args *const a = &table_args;

	if (arg_output && (a->sort || a->columns || a->csv ||
			   a->top != SIZE_MAX))
		return err_add("--output writes a profile, which has all "
			       "functions and figures: leave out --top, "
			       "--sort, --columns and --csv");
	if (a->sort && strcmp(a->sort->name, "total") == 0)
		view.table = TABLE("total");
	if (a->sort && strcmp(a->sort->name, "suspended") == 0)
		view.table = TABLE("suspended");
	r->want = (struct replay_collect){ .hist = 1, .vm = !!arg_output };
	return table_choose(&r->table, &view);
}

/* ---- the command -------------------------------------------------------- */

/* Functions that are equal stay in the order of the session. */
static int compare(const void *a, const void *b)
{
	const struct func_statistics *const x = a, *const y = b;
	const int order = metric_compare(table_args.sort ? table_args.sort :
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

static void print_rows(const struct load *load, struct table *t)
{
	struct session *const s = load->session;
	const size_t count = s->statistics_count;
	struct func_statistics *const rows =
		mem_alloc((count + 1) * sizeof(*rows));

	t->source.session = s;
	name_those_apart(&t->columns);
	for (size_t i = 0; i < count; i++)
		rows[i] = s->statistics[i];
	qsort(rows, count, sizeof(*rows), compare);
	reading_print_header(load);
	if (!t->csv)
		puts("figures of the sessions in which a function ran: sum, "
		     "mean, min, max, deviation");
	table_print(t, rows, count, sizeof(*rows), USUAL_TOP, "functions");
	mem_free(rows);
}

/* A single trace is merged, too: the table is made of statistics, which only a
 * sum has. */
static enum cmd_exit merge_print(struct reading *r)
{
	if (!arg_output)
		print_rows(&r->load, &r->table);
	else if (load_profile_write(&r->load, arg_output) != 0)
		return CMD_UNREADABLE;
	else
		header_print_losses(&r->load);
	return header_need_calls(&r->load);
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
	"a profile. Other commands that take several traces merge them in\n"
	"the same way.",
	.opts = opts,
	.has_net = true,
	.merges = true,
	.prepare = merge_prepare,
	.print = merge_print,
};
