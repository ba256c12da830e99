/* coroutine_groups_print.c - three lines a body: active, suspended, resumes.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/coroutine_groups_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/tables/coroutine_groups.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>

static const struct out_column columns[] = {
	{ .title = "count", .align = OUT_RIGHT },
	{ .title = "of each", .align = OUT_LEFT },
	{ .title = "average", .align = OUT_RIGHT },
	{ .title = "p50", .align = OUT_RIGHT },
	{ .title = "p95", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "p99", .align = OUT_RIGHT, .drop = 2 },
	{ .title = "max", .align = OUT_RIGHT },
	{ .title = "body", .align = OUT_LEFT, .shrink = 24 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void cell(struct out_table *table, const struct session *s,
		 double value, int is_time)
{
	char text[OUT_NUMBER];

	if (is_time)
		out_table_cell(table, out_number_time(text, value * 1e9 /
						      (double)s->tick_hz));
	else if (value < 100 && value > (double)(uint64_t)value)
		out_table_cellf(table, "%.1f", value);
	else
		out_table_cell(table, out_number_count(text,
						(uint64_t)(value + 0.5)));
}

static void add_figure(struct out_table *table, const struct session *s,
		       const struct bodies_row *row,
		       const struct bodies_figure *f, const char *title,
		       int is_time)
{
	char text[OUT_NUMBER];
	const int is_first = f == &row->active;

	out_table_cell(table, is_first ? out_number_count(text, row->count) :
		       "");
	out_table_cell(table, title);
	cell(table, s, (double)f->sum / (double)row->count, is_time);
	cell(table, s, (double)f->p50, is_time);
	cell(table, s, (double)f->p95, is_time);
	cell(table, s, (double)f->p99, is_time);
	cell(table, s, (double)f->max, is_time);
	out_table_cell(table, !is_first ? "" : row->body == 0 ?
		       "[never ran]" : func_get(s->funcs, row->body)->name);
}

void bodies_print(const struct load *load, size_t top)
{
	const struct session *const s = load->session;
	struct out_table *const table = out_table_new(columns, COLUMNS);
	size_t count;
	struct bodies_row *const rows = bodies_group(s, &count);
	const size_t shown = top == 0 || count < top ? count : top;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < shown; i++) {
		const struct bodies_row *const r = &rows[i];

		add_figure(table, s, r, &r->active, "active", 1);
		add_figure(table, s, r, &r->suspended, "suspended", 1);
		add_figure(table, s, r, &r->resumes, "resumes", 0);
	}
	if (count > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	else
		puts("no coroutine was made or ran");
	if (shown < count)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(text, count - shown, "bodies"));
	out_table_free(table);
	mem_free(rows);
}

static void csv_figure(struct out_csv *csv, const struct session *s,
		       const struct bodies_row *row,
		       const struct bodies_figure *f, int is_time)
{
	const uint64_t values[] = { f->sum, (f->sum + row->count / 2) /
				    row->count, f->p50, f->p95, f->p99,
				    f->max };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		out_csv_number(csv, is_time ? session_ns(s, values[i]) :
			       values[i]);
}

void bodies_print_csv(const struct load *load)
{
	struct session *const s = load->session;
	struct out_csv csv = { stdout, 0 };
	size_t count;
	struct bodies_row *const rows = bodies_group(s, &count);

	header_print_losses(load);
	puts(CELLS_FUNC_COLUMNS ",count,active_sum_ns,active_average_ns,"
	     "active_p50_ns,active_p95_ns,active_p99_ns,active_max_ns,"
	     "suspended_sum_ns,suspended_average_ns,suspended_p50_ns,"
	     "suspended_p95_ns,suspended_p99_ns,suspended_max_ns,"
	     "resumes_sum,resumes_average,resumes_p50,resumes_p95,"
	     "resumes_p99,resumes_max");
	for (size_t i = 0; i < count; i++) {
		const struct bodies_row *const r = &rows[i];

		if (r->body != 0) {
			cells_csv_func(&csv, s, r->body);
		} else {
			for (int k = 0; k < 4; k++)
				out_csv_text(&csv, "");
			out_csv_number(&csv, 0);
		}
		out_csv_number(&csv, r->count);
		csv_figure(&csv, s, r, &r->active, 1);
		csv_figure(&csv, s, r, &r->suspended, 1);
		csv_figure(&csv, s, r, &r->resumes, 0);
		out_csv_end(&csv);
	}
	mem_free(rows);
}
