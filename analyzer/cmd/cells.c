/* cells.c - cells of tables and fields of CSV rows that several commands print
 * alike.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/cells.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

void cells_print_text(const char *text)
{
	char *const safe = out_escape_terminal(text);

	fputs(safe, stdout);
	mem_free(safe);
}

const char *cells_place(char *to, size_t size, const struct func *f)
{
	/* "[C]" and the like are no paths. */
	const char *const name = f->file[0] == '[' ? f->file :
				 text_base_name(f->file);

	if (!f->file[0] || f->file_line == 0)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%s:%" PRIu32, name, f->file_line);
	return to;
}

void cells_time(struct out_table *table, const struct session *s, ticks time)
{
	char text[OUT_NUMBER];

	out_table_cell(table, time == 0 ? "-" :
		       out_number_time(text, (double)session_ns(s, time)));
}

void cells_count(struct out_table *table, double value)
{
	char text[OUT_NUMBER];

	if (value == floor(value) && value < 1e15)
		out_table_cell(table, out_number_count(text, (uint64_t)value));
	else
		out_table_cellf(table, "%.1f", value);
}

void cells_csv_func(struct out_csv *csv, struct session *s, func_id id)
{
	const struct func *const f = func_get(s->funcs, id);

	out_csv_text(csv, f->name);
	out_csv_text(csv, func_language(f));
	out_csv_text(csv, f->kind == FUNC_NATIVE ?
		     func_elf(s->funcs, f->module)->path : "");
	out_csv_text(csv, f->file);
	out_csv_number(csv, f->file_line);
}

void cells_csv_func_or(struct out_csv *csv, struct session *s, func_id id,
		   const char *text)
{
	if (id) {
		cells_csv_func(csv, s, id);
		return;
	}
	out_csv_text(csv, text);
	for (int i = 0; i < 3; i++)
		out_csv_text(csv, "");
	out_csv_number(csv, 0);
}

void cells_csv_real(struct out_csv *csv, double value, int decimals)
{
	/* out_csv_text would take a minus for the beginning of a formula. */
	fprintf(csv->to, "%s%.*f", csv->fields++ > 0 ? "," : "", decimals,
		value);
}
