/* cmd_merge.c - "weft merge": many sessions as one profile, or a table of each
 * function's calls and times over them. The sums are made by the folder merge;
 * this file sorts and prints them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/load/load_profile.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <stdlib.h>

/* The four figures of func_statistics that the table and CSV show. Their order
 * is that of sort_keys. */
enum figure { BY_SELF, BY_TOTAL, BY_SUSPENDED, BY_CALLS };

/* Values of --sort, by enum figure. */
static const char *const sort_keys[] = {
	"self", "total", "suspended", "calls", NULL
};

/* The options. arg_output NULL: print a table. */
static const char *arg_output;
static size_t arg_top = 30;
static int arg_sort;
static bool arg_csv;

/* -o turns the report into a file: the other options of the table have no
 * effect then. */
static const struct opt opts[] = {
	{ .type = OPT_TEXT, .letter = 'o', .name = "output", .arg = "FILE",
	  .to = &arg_output, .help = "write the sum as a profile instead of "
	  "printing a table; - is standard output" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys,
	  .help = "the order of the rows, and which time is shown" },
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, all times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* The statistics of one figure over the sessions. */
static const struct statistics *figure_of(const struct func_statistics *f,
					  enum figure figure)
{
	switch (figure) {
	case BY_CALLS:
		return &f->calls;
	case BY_TOTAL:
		return &f->total;
	case BY_SUSPENDED:
		return &f->suspended;
	case BY_SELF:
		break;
	}
	return &f->self;
}

/* By falling sum over all sessions. Functions that are equal stay in the order
 * of the session. */
static int compare(const void *a, const void *b)
{
	const struct func_statistics *const x = *(const void *const *)a;
	const struct func_statistics *const y = *(const void *const *)b;
	const uint64_t vx = figure_of(x, (enum figure)arg_sort)->sum;
	const uint64_t vy = figure_of(y, (enum figure)arg_sort)->sum;

	if (vx != vy)
		return vx < vy ? 1 : -1;
	return x->func < y->func ? -1 : x->func > y->func;
}

/* ---- the table ---------------------------------------------------------- */

/* Five columns of calls and five of the time. The extremes go before the
 * deviation if the terminal is narrow, and the language before them. */
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

/* ns: a sum's ticks are nanoseconds. */
static void time_cell(struct out_table *table, double value)
{
	char text[OUT_NUMBER];

	out_table_cell(table, value == 0 ? "-" : out_number_time(text, value));
}

/* Five columns of one figure: sum, mean, least, most and deviation. The mean is
 * over the sessions in which the function ran, not over all. */
static void put_cells(struct out_table *table, const struct statistics *s,
		      void (*cell)(struct out_table *, double))
{
	cell(table, (double)s->sum);
	cell(table, statistics_mean(s, s->sessions));
	cell(table, (double)s->min);
	cell(table, (double)s->max);
	cell(table, statistics_deviation(s, s->sessions));
}

/* The table; its columns of time show one figure, since four of them would be
 * twenty columns: the one that the rows are sorted by. rows: pointers to all
 * statistics, sorted. */
static void print_table(const struct session *s,
			const struct func_statistics *const *rows)
{
	/* Sorted by calls, self time is shown. */
	const enum figure time = arg_sort == BY_CALLS ? BY_SELF :
				 (enum figure)arg_sort;
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const size_t count = s->statistics_count;
	const size_t shown = arg_top == 0 || count < arg_top ? count : arg_top;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < shown; i++) {
		const struct func *const f = func_get(s->funcs, rows[i]->func);

		cells_count(table, (double)rows[i]->calls.sessions);
		put_cells(table, &rows[i]->calls, cells_count);
		put_cells(table, figure_of(rows[i], time), time_cell);
		out_table_cell(table, func_language(f));
		out_table_cell(table, f->name);
	}
	printf("calls and %s time of the sessions in which a function ran: "
	       "sum, mean, deviation\n", sort_keys[time]);
	if (count > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	if (shown < count)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(text, count - shown, "functions"));
	out_table_free(table);
}

/* ---- CSV ---------------------------------------------------------------- */

/* The order of the figures in a row of CSV, and what their columns' names begin
 * with. */
static const struct { enum figure figure; const char *key; } figures[] = {
	{ BY_CALLS, "calls" }, { BY_SELF, "self_ns" },
	{ BY_TOTAL, "total_ns" }, { BY_SUSPENDED, "suspended_ns" },
};

enum { FIGURES = sizeof(figures) / sizeof(figures[0]) };

/* All figures of a function: scripts need not choose one. */
static void csv_row(struct session *s, const struct func_statistics *row)
{
	struct out_csv csv = { stdout, 0 };

	cells_csv_func(&csv, s, row->func);
	out_csv_number(&csv, row->calls.sessions);
	for (size_t i = 0; i < FIGURES; i++) {
		const struct statistics *const f =
			figure_of(row, figures[i].figure);

		out_csv_number(&csv, f->sum);
		cells_csv_real(&csv, statistics_mean(f, f->sessions), 1);
		out_csv_number(&csv, f->min);
		out_csv_number(&csv, f->max);
		cells_csv_real(&csv, statistics_deviation(f, f->sessions), 1);
	}
	out_csv_end(&csv);
}

/* All functions: --top is for the table alone. */
static void print_csv(struct session *s,
		      const struct func_statistics *const *rows)
{
	fputs(CELLS_FUNC_COLUMNS ",sessions", stdout);
	for (size_t i = 0; i < FIGURES; i++) {
		const char *const key = figures[i].key;

		printf(",%s,%s_mean,%s_min,%s_max,%s_deviation", key, key, key,
		       key, key);
	}
	putchar('\n');
	for (size_t i = 0; i < s->statistics_count; i++)
		csv_row(s, rows[i]);
}

/* ---- the command -------------------------------------------------------- */

/* The table or the CSV, by falling sum. Pointers are sorted, as the statistics
 * belong to the session. */
static void print(const struct load *load)
{
	struct session *const s = load->session;
	const struct func_statistics **const rows =
		mem_alloc((s->statistics_count + 1) * sizeof(*rows));

	for (size_t i = 0; i < s->statistics_count; i++)
		rows[i] = &s->statistics[i];
	qsort(rows, s->statistics_count, sizeof(*rows), compare);
	if (arg_csv) {
		header_print_losses(load);
		print_csv(s, rows);
	} else {
		header_print(stdout, load);
		print_table(s, rows);
	}
	mem_free(rows);
}

/* A single trace is merged, too: the table is made of statistics, which only a
 * sum has. */
static enum cmd_exit run(int count, char **operands)
{
	/* A profile keeps Lua states apart. */
	const struct replay_collect want = { .hist = 1,
					     .vm = !!arg_output };
	struct load load;
	enum cmd_exit status = load_open_merged(&load, &want, count, operands);

	if (status == CMD_OK && !arg_output)
		print(&load);
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
