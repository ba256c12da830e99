/* out_table.c - a table of text, fitted to the terminal: columns are left out
 * in the order that their rows say, then the long ones are cut.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_table.h"

#include "analyzer/base/vec.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_name.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* GAP: spaces between columns. COLUMNS_LEAST: narrower terminals count as of
 * this width; a table for them could not be read. */
enum { GAP = 2, COLUMNS_LEAST = 40 };

struct out_table {
	const struct out_column *columns;
	size_t count;
	char **cells;     /* escaped; count cells a row */
	size_t used, room;
};

/* How a table is printed, by column: its width; hidden ones are left out. */
struct fit {
	size_t *width;
	bool *hidden;
};

struct out_table *out_table_new(const struct out_column *columns, size_t count)
{
	struct out_table *const table = mem_alloc(sizeof(*table));

	table->columns = columns;
	table->count = count;
	return table;
}

void out_table_free(struct out_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->used; i++)
		mem_free(table->cells[i]);
	mem_free_all(table->cells, table);
}

void out_table_cell(struct out_table *table, const char *text)
{
	*vec_add(&table->cells, &table->room, &table->used) =
		out_escape_terminal(text);
}

void out_table_cellf(struct out_table *table, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	out_table_cell(table, text);
}

/* "-" stands for a value of 0, and tells no more than "". */
static bool is_empty(const struct out_table *table, size_t column)
{
	for (size_t i = column; i < table->used; i += table->count)
		if (strcmp(table->cells[i], "") != 0 &&
		    strcmp(table->cells[i], "-") != 0)
			return false;
	return true;
}

/* Widths as wide as the texts are; columns that are empty are hidden. */
static void measure(const struct out_table *table, struct fit *fit)
{
	for (size_t i = 0; i < table->count; i++) {
		fit->width[i] = out_escape_width(table->columns[i].title);
		fit->hidden[i] = table->columns[i].drop_empty &&
				 is_empty(table, i);
	}
	for (size_t i = 0; i < table->used; i++) {
		const size_t width = out_escape_width(table->cells[i]);

		if (width > fit->width[i % table->count])
			fit->width[i % table->count] = width;
	}
}

/* The width of a line; if shrunk, with columns cut as far as they may be. */
static size_t line_width(const struct out_table *table, const struct fit *fit,
			 bool shrunk)
{
	size_t width = 0;

	for (size_t i = 0; i < table->count; i++) {
		const unsigned least = table->columns[i].shrink;

		if (fit->hidden[i])
			continue;
		width += (width == 0 ? 0 : GAP) +
			 (shrunk && least > 0 && least < fit->width[i] ?
			  least : fit->width[i]);
	}
	return width;
}

/* Hide the next column that may be left out; false if none may. */
static bool drop_one(const struct out_table *table, struct fit *fit)
{
	size_t best = table->count;

	for (size_t i = 0; i < table->count; i++)
		if (!fit->hidden[i] && table->columns[i].drop > 0 &&
		    (best == table->count ||
		     table->columns[i].drop > table->columns[best].drop))
			best = i;
	if (best == table->count)
		return false;
	fit->hidden[best] = true;
	return true;
}

/* The column that is cut next: the widest one; table->count: none is left. */
static size_t widest(const struct out_table *table, const struct fit *fit)
{
	size_t best = table->count;

	for (size_t i = 0; i < table->count; i++) {
		const size_t least = table->columns[i].shrink;

		if (!fit->hidden[i] && least > 0 && fit->width[i] > least &&
		    (best == table->count || fit->width[i] > fit->width[best]))
			best = i;
	}
	return best;
}

/* Cut columns that may be cut until the line fits. */
static void shrink(const struct out_table *table, struct fit *fit,
		   size_t width)
{
	size_t line = line_width(table, fit, false), i;

	for (; line > width; line--) {
		i = widest(table, fit);
		if (i == table->count)
			return;
		fit->width[i]--;
	}
}

/* Columns are left out only if cutting is not enough, and cut only as far as is
 * needed for those that stay. */
static void fit_to(const struct out_table *table, struct fit *fit,
		   size_t width)
{
	measure(table, fit);
	if (width == 0)
		return;
	while (line_width(table, fit, true) > width)
		if (!drop_one(table, fit))
			break;
	shrink(table, fit, width);
}

/* A name of C++ says the least where it begins, unless it is followed by what
 * tells it from others. Either may stand below others, or be a body. */
static char *cut_name(const char *text, size_t width)
{
	const size_t indent = strspn(text, " ~");
	char *cut, *result;

	if (width < indent || !strstr(text, "::") || out_escape_tail(text))
		return out_escape_cut_name(mem_copy(text), width);
	cut = out_name_cut(text + indent, width - indent);
	result = mem_alloc(indent + strlen(cut) + 1);
	sprintf(result, "%.*s%s", (int)indent, text, cut);
	mem_free(cut);
	return result;
}

/* Print a cell, cut or padded to its width. */
static void print_cell(FILE *to, const char *text, size_t width,
		       const struct out_column *column, bool is_last)
{
	char *const cut = column->is_name && !column->keep_end ?
		cut_name(text, width) :
		out_escape_cut(mem_copy(text), width, column->keep_end);
	const size_t taken = out_escape_width(cut);
	const int pad = (int)(width > taken ? width - taken : 0);

	if (column->align == OUT_RIGHT)
		fprintf(to, "%*s%s", pad, "", cut);
	else if (is_last)
		fputs(cut, to);
	else
		fprintf(to, "%s%*s", cut, pad, "");
	mem_free(cut);
}

/* Print a row; the titles if cells is NULL. Texts in the last column are not
 * padded, so that lines do not end with spaces. */
static void print_row(const struct out_table *table, const struct fit *fit,
		      FILE *to, char *const *cells)
{
	size_t last = table->count;
	bool is_first = true;

	while (last > 0 && fit->hidden[last - 1])
		last--;
	for (size_t i = 0; i < last; i++) {
		const char *const text = !cells ?
			table->columns[i].title : cells[i];

		if (fit->hidden[i])
			continue;
		if (!is_first)
			fprintf(to, "%*s", GAP, "");
		print_cell(to, text, fit->width[i], &table->columns[i],
			   i == last - 1);
		is_first = false;
	}
	fputc('\n', to);
}

void out_table_print(const struct out_table *table, FILE *to, size_t width)
{
	struct fit fit = {
		mem_alloc((table->count + 1) * sizeof(*fit.width)),
		mem_alloc((table->count + 1) * sizeof(*fit.hidden)) };

	fit_to(table, &fit, width);
	print_row(table, &fit, to, NULL);
	for (size_t i = 0; i + table->count <= table->used; i += table->count)
		print_row(table, &fit, to, table->cells + i);
	mem_free_all(fit.width, fit.hidden);
}

size_t out_table_terminal(FILE *file)
{
	const char *const columns = getenv("COLUMNS");
	struct winsize size;

	if (columns && atoi(columns) >= COLUMNS_LEAST)
		return (size_t)atoi(columns);
	if (!isatty(fileno(file)))
		return 0;
	if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col < COLUMNS_LEAST ? COLUMNS_LEAST : size.ws_col;
}

/* ---- CSV ---- */

/* The comma before every field but the first. */
static void next(struct out_csv *csv)
{
	if (csv->fields++ > 0)
		fputc(',', csv->to);
}

void out_csv_text(struct out_csv *csv, const char *text)
{
	char *const field = out_escape_csv(text);

	next(csv);
	fputs(field, csv->to);
	mem_free(field);
}

void out_csv_number(struct out_csv *csv, uint64_t number)
{
	next(csv);
	fprintf(csv->to, "%" PRIu64, number);
}

/* As a text, a minus would be taken for the beginning of a formula. */
void out_csv_real(struct out_csv *csv, double number, unsigned decimals)
{
	next(csv);
	fprintf(csv->to, "%.*f", (int)decimals, number);
}

void out_csv_end(struct out_csv *csv)
{
	fputc('\n', csv->to);
	csv->fields = 0;
}
