/* table.h - rows by metrics: a table for people, or rows for scripts, made by
 * one loop.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_TABLE_H
#define WEFT_ANALYZER_CMD_TABLE_H

#include "analyzer/out/out_table.h"
#include "analyzer/tables/metric.h"

/* The options of a command that prints a table of the view `of`. sort is a
 * const struct metric *, NULL unless --sort is given; columns a const char *,
 * NULL unless --columns is given; csv a bool. sort and columns are for
 * table_choose. */
#define TABLE_OPTS(of, sort, columns, csv) \
	{ .type = OPT_SORT, .letter = 's', .name = "sort", .arg = "KEY", \
	  .to = &sort, .view = &of, .help = "what comes first" }, \
	{ .type = OPT_COLUMNS, .name = "columns", .arg = "LIST", \
	  .to = &columns, .view = &of, .help = "the columns of the table, or " \
	  "of the CSV: names with commas between; all; or +LIST, beside the " \
	  "usual ones" }, \
	{ .type = OPT_FLAG, .name = "csv", .to = &csv, \
	  .help = "rows for scripts: full names, times in ns" }

/* A table that is being printed. Set source, columns (table_choose), csv and
 * has_bounds; the rest is zero at first. The caller defines the struct of a
 * row; the metrics of the columns say which field holds a value.
 *
 * The order of calls: table_choose once, before the trace is read; then, for
 * each table, table_begin, table_row for each row, table_end. */
struct table {
	/* The session, whose names and clock rows refer to, and what the
	 * metrics' getters need beside it. Borrowed. */
	struct metric_source source;
	/* From left to right, as table_choose or the command chose them. */
	struct metric_columns columns;
	/* Rows go to stdout at once; times are ns, names are whole. */
	bool csv;
	bool has_bounds;         /* rows begin with a func_id, and times of
	                          * functions that are upper bounds get a ~ */
	/* Private. */
	struct out_column how[METRIC_COLUMNS];
	struct out_table *text;
	struct out_csv rows;
	size_t count;
};

/* Choose the columns of the view: what --columns said, or NULL; what rows are
 * sorted by, or NULL. Set csv before. 0, or -1 with the cause in the chain if a
 * name is unknown. */
int table_choose(struct table *, const struct metric_view *, const char *names,
		 const struct metric *sort);
/* Begin a table, or print the head of the CSV on stdout. */
void table_begin(struct table *);
/* Add a row to the table, or print it. Its values are copied: the row may go
 * afterwards. */
void table_row(struct table *, const void *row);
/* Add a row that has only this text, in the column that names rows. Not for
 * CSV. */
void table_line(struct table *, const char *text);
/* Print the table on stdout, fitted to the terminal, unless it has no row; free
 * what table_begin made. The struct can begin another table then. */
void table_end(struct table *);

/* How many rows are shown, SIZE_MAX for all. given is what --top said: 0 for
 * all, SIZE_MAX if it was not given: then `usual` rows, or all in CSV. */
size_t table_top(size_t given, size_t usual, bool csv);

/* Print "... and 12 functions (--top 0 shows all)", nothing if count is 0. The
 * noun is in the plural. */
void table_print_rest(size_t count, const char *nouns);

#endif
