/* cmd_merge.c - "weft merge": many sessions as one profile, or a table of how
 * functions did over them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <math.h>
#include <stdlib.h>

enum by { BY_SELF, BY_TOTAL, BY_SUSPENDED, BY_CALLS };

static const char *arg_output;
static size_t arg_top = 30;
static int arg_sort;
static bool arg_csv;

static const char *const sort_keys[] = {
	"self", "total", "suspended", "calls", NULL
};

static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "write the sum as a profile instead of "
	  "printing a table; - is standard output" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "what comes first, and which time is shown" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, all times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct out_column columns[] = {
	{ .title = "sessions", .align = OUT_RIGHT },
	{ .title = "calls", .align = OUT_RIGHT },
	{ .title = "mean", .align = OUT_RIGHT },
	{ .title = "min", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "max", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "+-", .align = OUT_RIGHT, .drop = 2 },
	{ .title = "time", .align = OUT_RIGHT },
	{ .title = "mean", .align = OUT_RIGHT },
	{ .title = "min", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "max", .align = OUT_RIGHT, .drop = 3 },
	{ .title = "+-", .align = OUT_RIGHT, .drop = 2 },
	{ .title = "lang", .align = OUT_LEFT, .drop = 4 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 24 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static const struct statistics *time_of(const struct func_statistics *f)
{
	switch ((enum by)arg_sort) {
	case BY_TOTAL:
		return &f->total;
	case BY_SUSPENDED:
		return &f->suspended;
	case BY_SELF:
	case BY_CALLS:
		break;
	}
	return &f->self;
}

static int compare(const void *a, const void *b)
{
	const struct func_statistics *const x = *(const void *const *)a;
	const struct func_statistics *const y = *(const void *const *)b;
	const uint64_t vx = arg_sort == BY_CALLS ? x->calls.sum :
			    time_of(x)->sum;
	const uint64_t vy = arg_sort == BY_CALLS ? y->calls.sum :
			    time_of(y)->sum;

	if (vx != vy)
		return vx < vy ? 1 : -1;
	return x->func < y->func ? -1 : x->func > y->func;
}

/* --- the table ----------------------------------------------------------- */

static void count_cell(struct out_table *table, double value)
{
	char text[OUT_NUMBER];

	if (value == floor(value) && value < 1e15)
		out_table_cell(table, out_number_count(text, (uint64_t)value));
	else
		out_table_cellf(table, "%.1f", value);
}

static void time_cell(struct out_table *table, double value)
{
	char text[OUT_NUMBER];

	out_table_cell(table, value == 0 ? "-" : out_number_time(text, value));
}

static void cells(struct out_table *table, const struct statistics *s,
		  void (*cell)(struct out_table *, double))
{
	cell(table, (double)s->sum);
	cell(table, statistics_mean(s, s->sessions));
	cell(table, (double)s->min);
	cell(table, (double)s->max);
	cell(table, statistics_deviation(s, s->sessions));
}

static void print_table(const struct session *s,
			const struct func_statistics *const *rows)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const size_t shown = arg_top == 0 || s->statistics_count < arg_top ?
			     s->statistics_count : arg_top;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < shown; i++) {
		const struct func *const f = func_get(s->funcs, rows[i]->func);

		count_cell(table, (double)rows[i]->calls.sessions);
		cells(table, &rows[i]->calls, count_cell);
		cells(table, time_of(rows[i]), time_cell);
		out_table_cell(table, func_language(f));
		out_table_cell(table, f->name);
	}
	printf("calls and %s time of the sessions in which a function ran: "
	       "sum, mean, deviation\n",
	       sort_keys[arg_sort == BY_CALLS ? BY_SELF : arg_sort]);
	if (s->statistics_count > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	if (shown < s->statistics_count)
		printf("... and %s (--top 0 shows all)\n", out_number_many(text,
		       s->statistics_count - shown, "functions"));
	out_table_free(table);
}

/* --- rows for scripts ---------------------------------------------------- */

static void csv_real(struct out_csv *csv, double value)
{
	char text[OUT_NUMBER];

	snprintf(text, sizeof(text), "%.1f", value);
	out_csv_text(csv, text);
}

static void csv_statistics(struct out_csv *csv, const struct statistics *s)
{
	out_csv_number(csv, s->sum);
	csv_real(csv, statistics_mean(s, s->sessions));
	out_csv_number(csv, s->min);
	out_csv_number(csv, s->max);
	csv_real(csv, statistics_deviation(s, s->sessions));
}

static void print_csv(struct session *s,
		      const struct func_statistics *const *rows)
{
	static const char *const figures[] = { "calls", "self_ns", "total_ns",
					       "suspended_ns" };
	struct out_csv csv = { stdout, 0 };

	fputs(CELLS_FUNC_COLUMNS ",sessions", stdout);
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		printf(",%s,%s_mean,%s_min,%s_max,%s_deviation", figures[i],
		       figures[i], figures[i], figures[i], figures[i]);
	putchar('\n');
	for (size_t i = 0; i < s->statistics_count; i++) {
		cells_csv_func(&csv, s, rows[i]->func);
		out_csv_number(&csv, rows[i]->calls.sessions);
		csv_statistics(&csv, &rows[i]->calls);
		csv_statistics(&csv, &rows[i]->self);
		csv_statistics(&csv, &rows[i]->total);
		csv_statistics(&csv, &rows[i]->suspended);
		out_csv_end(&csv);
	}
}

static void show(const struct load *load)
{
	struct session *const s = load->session;
	const struct func_statistics **const rows =
		mem_alloc((s->statistics_count + 1) * sizeof(struct func_statistics *));

	for (size_t i = 0; i < s->statistics_count; i++)
		rows[i] = &s->statistics[i];
	qsort(rows, s->statistics_count, sizeof(struct func_statistics *),
	      compare);
	if (arg_csv) {
		header_print_losses(load);
		print_csv(s, rows);
	} else {
		header_print(stdout, load);
		print_table(s, rows);
	}
	mem_free(rows);
}

static enum cmd_exit run(int count, char **operands)
{
	/* Who merges profiles merges all that is in them. */
	const struct replay_collect want = { .hist = 1,
					     .vm = arg_output != NULL };
	struct load load;
	enum cmd_exit status = load_open_merged(&load, &want, count,
						  operands);

	if (status == CMD_OK && !arg_output)
		show(&load);
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
	.summary = "add sessions up, of one machine or many",
	.about =
	"Reads traces and profiles and adds them up. Native functions are\n"
	"the same if module's build-id and offset are, Lua functions if\n"
	"source and lines are; threads if program, labels and name are, Lua\n"
	"states if program, labels and number are. Prints each function's\n"
	"calls and time over the sessions: sum, mean, least, most, and\n"
	"standard deviation, of the sessions in which it ran. Or writes the\n"
	"sum as a profile (-o), which can be merged again: the result is the\n"
	"same in any order and grouping, to the byte. Times are added in\n"
	"whole nanoseconds.\n"
	"\n"
	"\"weft export\" makes a profile of a trace where it was recorded.\n"
	"Reports take several traces and profiles themselves, as if merged.",
	.opts = opts,
	.run = run,
};
