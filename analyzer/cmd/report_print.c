/* report_print.c - the columns of a ranking, those that are wanted and those
 * for which there is room.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/report_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/base/err.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <string.h>

/* The order of the usual table; on a narrow terminal the least needed columns
 * go first. */
enum column {
	COL_SELF, COL_SHARE, COL_TRACED, COL_TOTAL, COL_WALL, COL_SUSPENDED,
	COL_CPU, COL_OFF, COL_TOTAL_CPU, COL_TOTAL_OFF, COL_CALLS,
	COL_AVERAGE, COL_MIN, COL_P50, COL_P95, COL_P99, COL_MAX,
	COL_LANGUAGE, COL_MODULE, COL_FILE, COL_NAME
};

/* is_usual 2: only where rows are functions. */
static const struct {
	const char *name;
	int is_usual;
	struct out_column how;
} columns[REPORT_COLUMNS] = {
	[COL_SELF] = { "self", 1, { .title = "self" } },
	[COL_SHARE] = { "share", 1, { .title = "share" } },
	[COL_TRACED] = { "traced", 0, { .title = "traced" } },
	[COL_TOTAL] = { "total", 1, { .title = "total" } },
	[COL_WALL] = { "wall", 0, { .title = "wall" } },
	[COL_SUSPENDED] = { "suspended", 1, { .title = "suspended",
			    .drop = 1, .drop_empty = 1 } },
	[COL_CPU] = { "cpu", 1, { .title = "cpu", .drop = 5 } },
	[COL_OFF] = { "off-cpu", 1, { .title = "off-cpu", .drop = 4 } },
	[COL_TOTAL_CPU] = { "total-cpu", 0, { .title = "total cpu" } },
	[COL_TOTAL_OFF] = { "total-off-cpu", 0, { .title = "total off" } },
	[COL_CALLS] = { "calls", 1, { .title = "calls" } },
	[COL_AVERAGE] = { "average", 1, { .title = "average", .drop = 2 } },
	[COL_MIN] = { "min", 0, { .title = "min" } },
	[COL_P50] = { "p50", 0, { .title = "p50" } },
	[COL_P95] = { "p95", 0, { .title = "p95" } },
	[COL_P99] = { "p99", 0, { .title = "p99" } },
	[COL_MAX] = { "max", 0, { .title = "max" } },
	[COL_LANGUAGE] = { "language", 2, { .title = "lang",
			   .align = OUT_LEFT, .drop = 1 } },
	[COL_MODULE] = { "module", 0, { .title = "module", .align = OUT_LEFT,
			 .shrink = 12, .keep_end = 1 } },
	[COL_FILE] = { "file", 2, { .title = "file:line", .align = OUT_LEFT,
		       .drop = 3, .shrink = 12, .keep_end = 1 } },
	[COL_NAME] = { "name", 1, { .title = "function", .is_name = 1,
		       .align = OUT_LEFT, .shrink = 24 } },
};

static void add_column(struct report *r, int column)
{
	for (size_t i = 0; i < r->columns; i++)
		if (r->column[i] == column)
			return;
	r->column[r->columns++] = column;
}

static int has_functions(const struct report *r)
{
	return r->by == GROUP_FUNCTION || r->by == GROUP_BODY;
}

static void add_usual(struct report *r, int all)
{
	for (int i = 0; i < REPORT_COLUMNS; i++)
		if ((all || columns[i].is_usual) &&
		    (has_functions(r) || (columns[i].is_usual != 2 &&
					  i != COL_MODULE)))
			add_column(r, i);
}

static int add_named(struct report *r, const char *name, size_t length)
{
	char all[300] = "";

	for (int i = 0; i < REPORT_COLUMNS; i++) {
		const size_t used = strlen(all);

		if (strlen(columns[i].name) == length &&
		    strncmp(columns[i].name, name, length) == 0) {
			add_column(r, i);
			return 0;
		}
		snprintf(all + used, sizeof(all) - used, "%s%s",
			 used > 0 ? ", " : "", columns[i].name);
	}
	return err_add("--columns: there is no column \"%.*s\"; there are %s, "
		       "and all", (int)(length < 100 ? length : 100), name,
		       all);
}

/* Columns of figures stand before the words, the name last. */
static void put_words_last(struct report *r)
{
	int sorted[REPORT_COLUMNS];
	size_t n = 0;

	for (size_t i = 0; i < r->columns; i++)
		if (r->column[i] < COL_LANGUAGE)
			sorted[n++] = r->column[i];
	for (int c = COL_LANGUAGE; c <= COL_NAME; c++)
		for (size_t i = 0; i < r->columns; i++)
			if (r->column[i] == c)
				sorted[n++] = c;
	memcpy(r->column, sorted, n * sizeof(*sorted));
}

/* What rows are sorted by is seen, unless the user said what is. */
static void add_sorted(struct report *r, const char *sort)
{
	for (int i = 0; i < REPORT_COLUMNS; i++)
		if (strcmp(columns[i].name, sort) == 0)
			add_column(r, i);
}

int report_print_choose(struct report *r, const char *names, const char *sort)
{
	r->columns = 0;
	if (!names || names[0] == '+')
		add_usual(r, 0);
	else if (strcmp(names, "all") == 0)
		add_usual(r, 1);
	if (names && strcmp(names, "all") != 0)
		for (const char *at = names; ; at++) {
			at += *at == '+';
			const size_t length = strcspn(at, ",");

			if (add_named(r, at, length) != 0)
				return -1;
			at += length;
			if (*at == '\0')
				break;
		}
	if (!names || names[0] == '+')
		add_sorted(r, sort);
	add_column(r, COL_NAME);
	put_words_last(r);
	return 0;
}

static int has_column(const struct report *r, int from, int to)
{
	for (size_t i = 0; i < r->columns; i++)
		if (r->column[i] >= from && r->column[i] <= to)
			return 1;
	return 0;
}

int report_print_has_quantiles(const struct report *r)
{
	return has_column(r, COL_P50, COL_P99);
}

int report_print_has_cpu(const struct report *r)
{
	return has_column(r, COL_CPU, COL_TOTAL_OFF);
}

/* An average needs more than whole nanoseconds. */
static double average_ns(const struct session *s, const struct rank_row *row)
{
	return row->calls == 0 ? 0 : (double)row->total * 1e9 /
	       (double)s->tick_hz / (double)row->calls;
}

static ticks time_of(const struct rank_row *row, int column)
{
	switch (column) {
	case COL_SELF: return row->self;
	case COL_TOTAL: return row->total;
	case COL_WALL: return row->total + row->suspended;
	case COL_SUSPENDED: return row->suspended;
	case COL_CPU: return row->cpu;
	case COL_OFF: return row->off;
	case COL_TOTAL_CPU: return row->total_cpu;
	case COL_TOTAL_OFF: return row->total_off;
	case COL_MIN: return row->min;
	case COL_P50: return row->p50;
	case COL_P95: return row->p95;
	case COL_P99: return row->p99;
	default: return row->max;
	}
}

static void word_cell(struct out_table *table, const struct report *r,
		      const struct rank *rank, const struct rank_row *row,
		      int column)
{
	const struct func *const f = row->func == 0 ? NULL :
				     func_get(r->session->funcs, row->func);
	char place[512];

	if (column == COL_NAME)
		out_table_cell(table, rank_name(rank, row));
	else if (!f)
		out_table_cell(table, "");
	else if (column == COL_LANGUAGE)
		out_table_cell(table, func_language(f));
	else if (column == COL_FILE)
		out_table_cell(table, cells_place(place, sizeof(place), f));
	else
		out_table_cell(table, f->kind != FUNC_NATIVE ? "" :
			       load_file_name(func_elf(r->session->funcs,
						       f->module)->path));
}

static void cell(struct out_table *table, const struct report *r,
		 const struct rank *rank, const struct rank_row *row,
		 int column)
{
	char text[OUT_NUMBER + 1] = "~";
	ticks time;
	int late;

	if (column >= COL_LANGUAGE) {
		word_cell(table, r, rank, row, column);
	} else if (column == COL_SHARE || column == COL_TRACED) {
		out_table_cell(table, out_number_share(text, row->self,
			rank->self + (column == COL_SHARE ? 0 :
				      rank->root_self)));
	} else if (column == COL_CALLS) {
		out_table_cell(table, out_number_count(text, row->calls));
	} else if (column == COL_AVERAGE) {
		out_table_cell(table, row->calls == 0 ? "-" :
			out_number_time(text, average_ns(r->session, row)));
	} else {
		time = time_of(row, column);
		late = row->func != 0 &&
		       func_get(r->session->funcs, row->func)->untold_return;
		out_number_time(text + 1,
				(double)session_ns(r->session, time));
		out_table_cell(table, time == 0 ? "-" : text + !late);
	}
}

static int is_absent(const struct report *r, int column)
{
	return column >= COL_CPU && column <= COL_TOTAL_OFF && !r->has_cpu;
}

static void print_rest(const struct report *r, const struct rank *rank,
		       size_t rows, ticks rest)
{
	char nouns[40], count[OUT_NUMBER], time[OUT_NUMBER];
	char share[OUT_NUMBER];

	snprintf(nouns, sizeof(nouns), "%s", r->by == GROUP_FUNCTION ?
		 "functions" : "rows");
	printf("... and %s: self %s, %s (--top 0 shows all)\n",
	       out_number_many(count, rows, nouns),
	       out_number_time(time, (double)session_ns(r->session, rest)),
	       out_number_share(share, rest, rank->self));
}

static struct out_table *new_table(const struct report *r,
				   struct out_column *how, int *shown,
				   size_t *count)
{
	*count = 0;
	for (size_t i = 0; i < r->columns; i++) {
		if (is_absent(r, r->column[i]))
			continue;
		how[*count] = columns[r->column[i]].how;
		if (r->column[i] == COL_NAME)
			how[*count].title = r->title;
		shown[(*count)++] = r->column[i];
	}
	return out_table_new(how, *count);
}

void report_print_table(const struct report *r, const struct rank *rank)
{
	struct out_column how[REPORT_COLUMNS];
	int shown[REPORT_COLUMNS];
	size_t count, rows = 0, left = 0;
	struct out_table *const table = new_table(r, how, shown, &count);
	ticks rest = 0;

	for (size_t i = 0; i < rank->count; i++) {
		if (!report_print_is_shown(r, rank, &rank->rows[i]))
			continue;
		if (r->top > 0 && rows >= r->top) {
			rest += rank->rows[i].self;
			left++;
			continue;
		}
		rows++;
		for (size_t k = 0; k < count; k++)
			cell(table, r, rank, &rank->rows[i], shown[k]);
	}
	if (rows > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	if (left > 0)
		print_rest(r, rank, left, rest);
	out_table_free(table);
}
