/* out_table.h - rows of text: as a table, fitted to a terminal or, in a pipe,
 * as wide as its texts are; and as CSV for scripts.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum out_align { OUT_RIGHT, OUT_LEFT };

/* A column. Numbers are aligned to the right, texts to the left. */
struct out_column {
	const char *title;
	enum out_align align;
	unsigned drop;     /* 0: never left out; if a terminal is too narrow,
	                    * the column with the highest number goes first */
	unsigned shrink;   /* 0: never cut; otherwise the least width that the
	                    * column is cut to, in columns of the terminal */
	bool keep_end;     /* cut at the start instead of at the end */
	bool is_name;      /* a function's name: its source is kept */
	bool drop_empty;   /* left out if all its cells are "" or "-" */
};

/* An empty table; out_table_free frees it. The columns, at most 32, are
 * borrowed and must live as long as the table. */
struct out_table;
struct out_table *out_table_new(const struct out_column *, size_t count);
/* NULL is allowed. */
void out_table_free(struct out_table *);

/* Add the next cell, left to right, row after row. The text is copied; it may
 * be untrusted. A row that is not full is not printed. */
void out_table_cell(struct out_table *, const char *text);
/* The same with printf, for at most 255 bytes. */
void out_table_cellf(struct out_table *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print titles and rows, fitted to width columns; 0: as wide as necessary. If
 * no column may be cut or left out any more, lines are wider than that. The
 * caller checks the file for errors. */
void out_table_print(const struct out_table *, FILE *to, size_t width);

/* The width to fit a table to: the variable COLUMNS, or that of the terminal
 * that the file is; 0 if it is none. */
size_t out_table_terminal(FILE *);

/* ---- CSV ---- */

/* CSV that is being written (RFC 4180): one row a line, numbers bare. Starts as
 * { file, 0 }. */
struct out_csv { FILE *to; int fields; };

void out_csv_text(struct out_csv *, const char *text); /* may be untrusted */
void out_csv_number(struct out_csv *, uint64_t);
void out_csv_real(struct out_csv *, double, unsigned decimals);
void out_csv_end(struct out_csv *);                    /* ends the row */
