/* table.h - rows by metrics: a table for people, or rows for scripts, made by
 * one loop.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_table.h"
#include "analyzer/tables/metric.h"

#include <stdio.h>

/* What the options of tables say: one command runs in a process. */
extern struct table_args {
	size_t top;                  /* --top; SIZE_MAX: not given */
	const struct metric *sort;   /* --sort; NULL: not given */
	const char *columns;         /* --columns; NULL: not given */
	int tables;                  /* --tables; -1: not given */
	bool csv;                    /* rows for scripts: as JSON if json is
	                              * set, too */
	bool json;
} table_args;

/* To be called once the options are parsed; and when all rows are printed. */
void table_args_begin(void);
void table_args_end(void);

/* The option --tables; `what` there is of each. */
#define TABLE_OF_EACH(what) \
	{ .type = OPT_CHOICE, .name = "tables", .arg = "WHAT", \
	  .to = &table_args.tables, .choices = table_each, \
	  .help = what " for each" }
extern const char *const table_each[];
bool table_args_are_many(void);

/* The option --top; usual: how many rows are, a number. */
#define TABLE_TOP(what, usual) \
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N", \
	  .to = &table_args.top, .help = what ", 0 for all (default: " #usual \
	  "; with --csv, all)" }
/* The options --csv and --json. */
#define TABLE_CSV(what) \
	{ .type = OPT_FLAG, .name = "csv", .to = &table_args.csv, \
	  .help = what }, \
	{ .type = OPT_FLAG, .name = "json", .to = &table_args.json, \
	  .help = "the rows of --csv as JSON: an array of objects" }
/* The options of a command that prints a table of the view `of`; first: what
 * comes first by default, NULL: the first metric that sorts; flags: of metrics
 * that rows lack. */
#define TABLE_OPTS(of) TABLE_OPTS_FIRST(of, NULL)
#define TABLE_OPTS_FIRST(of, first) TABLE_OPTS_LACKING(of, first, 0)
#define TABLE_OPTS_LACKING(of, first, flags) \
	{ .type = OPT_SORT, .letter = 's', .name = "sort", .arg = "KEY", \
	  .to = &table_args.sort, .view = &of, .lacks = flags, \
	  .usual = first, \
	  .help = "what comes first" }, \
	{ .type = OPT_COLUMNS, .name = "columns", .arg = "LIST", \
	  .to = &table_args.columns, .view = &of, .lacks = flags, \
	  .help = "the columns of " \
	  "the table, or of the CSV: names separated by commas; all; or " \
	  "+LIST, beside the usual ones" }, \
	TABLE_CSV("rows for scripts: full names, times in ns")

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
	/* Rows go to stdout at once, as CSV or JSON; times are ns, names are
	 * whole. */
	bool csv;
	bool has_bounds;         /* rows begin with a func_id, and times of
	                          * functions that are upper bounds get a ~ */
	size_t piped;            /* the width of a line where stdout is no
	                          * terminal; 0: what the rows take */
	/* Private. */
	struct out_column how[METRIC_COLUMNS];
	struct out_table *text;
	struct out_csv rows;
	size_t count;
};

/* Choose the columns of the view: those of --columns, and what rows are sorted
 * by. 0, or -1 with the cause in the chain if a name is unknown. */
int table_choose(struct table *, const struct metric_view *);
/* The same with the columns of names, NULL: the usual ones, whatever the
 * options say; the names are known. */
void table_choose_fixed(struct table *, const struct metric_view *,
			const char *names);
/* Begin a table, or print the head of the CSV on stdout. What is said of CSV
 * here and in commands holds for JSON, too: all its rows are one array. */
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

/* How many rows are shown, SIZE_MAX for all: what --top says; without it,
 * `usual` rows, or all in CSV. */
size_t table_top(size_t usual);
/* The same of another option, whose value is `given`. */
size_t table_limit(size_t given, size_t usual);
/* Print "... and 12 functions (--top 0 shows all)"; nothing if count is 0, or
 * in CSV. The noun is in the plural. */
void table_print_rest(size_t count, const char *nouns);
/* Print rows[0] to rows[count - 1], size bytes each, as --top says: a table of
 * its own, with its rest. */
void table_print(struct table *, const void *rows, size_t count, size_t size,
		 size_t usual, const char *nouns);

/* Where notes beside a table go, and what begins each line of them: in CSV they
 * are comments on stderr. */
FILE *table_notes(void);
const char *table_mark(void);
/* A line of them; the format has no line end, and is a literal. */
#define table_note(format, ...) \
	out_print(table_notes(), "%s" format "\n", table_mark(), \
		  ##__VA_ARGS__)

