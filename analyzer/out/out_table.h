/* out_table.h - rows of text, as a table: columns as wide as need be, fitted to
 * a terminal or left as long as they are in a pipe; and as CSV for scripts.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_TABLE_H
#define WEFT_ANALYZER_OUT_OUT_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum out_align { OUT_RIGHT, OUT_LEFT };

struct out_column {
	const char *title;
	enum out_align align;
	unsigned drop;     /* 0: never left out; the highest goes first when a
	                    * terminal is too narrow */
	unsigned shrink;   /* 0: never cut; otherwise cut to no less than this,
	                    * the last such column of a table taking what is
	                    * left of the line */
	int keep_end;      /* cut at the start instead of at the end */
	int is_name;       /* a function's: cut before its source */
	int drop_empty;    /* left out when all its cells are "" or "-" */
};

struct out_table;
struct out_table *out_table_new(const struct out_column *, size_t count);
void out_table_free(struct out_table *);

/* The next cell, left to right, row after row. Escapes the text. */
void out_table_cell(struct out_table *, const char *text);
/* The same with printf; for numbers and known text. */
void out_table_cellf(struct out_table *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Print titles and rows. width 0: as wide as need be. */
void out_table_print(const struct out_table *, FILE *to, size_t width);

/* Columns to fit: COLUMNS where it is exported, else those of the terminal
 * that the file is; 0 if it is none. */
size_t out_table_terminal(FILE *);

/* ---- CSV ---- */

/* A row being written; starts as { file, 0 }. */
struct out_csv { FILE *to; int fields; };

void out_csv_text(struct out_csv *, const char *text); /* untrusted */
void out_csv_number(struct out_csv *, uint64_t);
void out_csv_end(struct out_csv *);                    /* of the row */

#endif
