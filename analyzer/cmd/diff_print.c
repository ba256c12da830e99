/* diff_print.c - changes as a table, or as rows for scripts.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/diff_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/load/header.h"
#include "analyzer/load/completeness.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <math.h>

static const struct out_column columns[] = {
	{ .title = "adds", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT },
	{ .title = "because", .align = OUT_LEFT },
	{ .title = "was", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "is", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "chance", .align = OUT_RIGHT, .drop_empty = 1 },
	{ .title = "lang", .align = OUT_LEFT, .drop = 3 },
	{ .title = "called by", .align = OUT_LEFT, .shrink = 12, .drop = 2,
	  .drop_empty = 1 },
	{ .title = "function", .align = OUT_LEFT, .shrink = 20 },
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

/* Of more time, and of less. */
static const char *const reasons[DIFF_REASONS][2] = {
	[DIFF_CALLED] = { "called more", "called less" },
	[DIFF_NEW_CALLER] = { "new caller", "new caller" },
	[DIFF_NEW] = { "new function", "new function" },
	[DIFF_COST] = { "costs more a call", "costs less a call" },
	[DIFF_WAIT] = { "waits longer a call", "waits less a call" },
	[DIFF_SLEEP] = { "sleeps longer a call", "sleeps less a call" },
};

/* As scripts have it. */
static const char *const reason_words[DIFF_REASONS] = {
	"called", "new_caller", "new", "cost", "wait", "sleep"
};


double diff_print_share(const struct diff *d, double added)
{
	return d->before > 0 ? added * 100 / d->before : 0;
}

static int is_shown(const struct diff_report *d, const struct diff_row *row)
{
	return fabs(diff_print_share(d->diff, row->added)) >= d->min;
}

const struct func *diff_print_func(const struct diff_report *d, func_id before,
				  func_id after)
{
	return after != 0 ? func_get(d->side[1].session->funcs, after) :
	       func_get(d->side[0].session->funcs, before);
}

static int is_of_calls(const struct diff_row *row)
{
	return row->reason <= DIFF_NEW;
}

static const char *caller_of(const struct diff_report *d, const struct diff_row *row)
{
	if (!is_of_calls(row))
		return "";
	if (row->caller_before == 0 && row->caller_after == 0)
		return "[thread]";
	return diff_print_func(d, row->caller_before, row->caller_after)->name;
}

static void signed_time(struct out_table *table, double ns)
{
	char text[OUT_NUMBER];

	out_table_cellf(table, "%s%s", ns < 0 ? "-" : "+",
			out_number_time(text, fabs(ns)));
}

static void figure_cell(struct out_table *table, const struct diff_row *row,
			double value)
{
	char text[OUT_NUMBER];

	if (!is_of_calls(row))
		out_table_cell(table, out_number_time(text, value));
	else if (value == floor(value) && value < 1e15)
		out_table_cell(table, out_number_count(text, (uint64_t)value));
	else
		out_table_cellf(table, "%.1f", value);
}

static void chance_cell(struct out_table *table, const struct diff_row *row)
{
	if (row->chance < 0)
		out_table_cell(table, "-");
	else if (row->chance < 0.001)
		out_table_cell(table, "<0.1%");
	else
		out_table_cellf(table, "%.*f%%", row->chance < 0.0995,
				row->chance * 100);
}

static void table_row(struct out_table *table, const struct diff_report *d,
		      const struct diff_row *row)
{
	const struct func *const f = diff_print_func(d, row->before,
						     row->after);

	signed_time(table, row->added);
	out_table_cellf(table, "%+.1f%%",
			diff_print_share(d->diff, row->added));
	out_table_cellf(table, "%s%s", reasons[row->reason][row->added < 0],
			row->is_fastest ? " (fastest)" : "");
	figure_cell(table, row, row->was);
	figure_cell(table, row, row->is);
	chance_cell(table, row);
	out_table_cell(table, func_language(f));
	out_table_cell(table, caller_of(d, row));
	out_table_cell(table, f->name);
}

struct loser { const char *which; FILE *to; const char *mark; };

static void print_loss(void *ctx, const char *sentence)
{
	const struct loser *const l = ctx;
	char *const text = out_escape_terminal(sentence);

	fprintf(l->to, "%slost %s: %s\n", l->mark, l->which, text);
	mem_free(text);
}

static void print_side(const struct diff_report *d, int side)
{
	const struct session *const s = d->side[side].session;
	struct loser l = { side == 0 ? "before" : "after",
			   d->csv ? stderr : stdout, d->csv ? "# " : "" };
	char sessions[OUT_NUMBER], time[OUT_NUMBER], calls[OUT_NUMBER];

	fprintf(l.to, "%s%s: %s, %s, %s\n", l.mark, l.which,
		out_number_many(sessions, s->part_count, "sessions"),
		out_number_time(time, (double)session_duration(s)),
		out_number_many(calls, s->calls, "calls"));
	completeness_each(&d->side[side], print_loss, &l);
}

static int is_known(const struct diff_report *d)
{
	return d->side[0].session->part_count > 1 &&
	       d->side[1].session->part_count > 1;
}

static void print_head(const struct diff_report *d)
{
	FILE *const to = d->csv ? stderr : stdout;
	const char *const mark = d->csv ? "# " : "";
	char before[OUT_NUMBER], after[OUT_NUMBER];

	print_side(d, 0);
	print_side(d, 1);
	fprintf(to, "%sa session's time in functions: %s before, %s after "
		"(%+.1f%%)\n", mark, out_number_time(before, d->diff->before),
		out_number_time(after, d->diff->after),
		diff_print_share(d->diff, d->diff->after - d->diff->before));
	if (!is_known(d))
		fprintf(to, "%snote: whether a change is chance is not known: "
			"that takes two sessions or more on each side\n", mark);
	if (!d->csv)
		putchar('\n');
}

static void print_table(const struct diff_report *d)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	size_t shown = 0, left = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < d->diff->count; i++) {
		if (!is_shown(d, &d->diff->rows[i]))
			continue;
		if (d->top > 0 && shown >= d->top) {
			left++;
			continue;
		}
		table_row(table, d, &d->diff->rows[i]);
		shown++;
	}
	if (shown > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	else
		printf("no function adds or takes %g%% or more\n", d->min);
	if (left > 0)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(text, left, "changes"));
	out_table_free(table);
}

static void csv_real(struct out_csv *csv, double value)
{
	char text[OUT_NUMBER];

	/* out_csv_text would take a minus for a formula's. */
	snprintf(text, sizeof(text), "%.3f", value);
	fprintf(csv->to, "%s%s", csv->fields++ > 0 ? "," : "", text);
}

static void print_csv(const struct diff_report *d)
{
	struct out_csv csv = { stdout, 0 };

	puts("added_ns,share,reason,was,is,chance," CELLS_FUNC_COLUMNS
	     ",caller");
	for (size_t i = 0; i < d->diff->count; i++) {
		const struct diff_row *const row = &d->diff->rows[i];
		struct session *const s = d->side[row->after != 0].session;

		if (!is_shown(d, row))
			continue;
		csv_real(&csv, row->added);
		csv_real(&csv, diff_print_share(d->diff, row->added));
		out_csv_text(&csv, reason_words[row->reason]);
		csv_real(&csv, row->was);
		csv_real(&csv, row->is);
		if (row->chance < 0)
			out_csv_text(&csv, "");
		else
			csv_real(&csv, row->chance);
		cells_csv_func(&csv, s, row->after != 0 ? row->after :
			      row->before);
		out_csv_text(&csv, caller_of(d, row));
		out_csv_end(&csv);
	}
}

const char *diff_print_reason(enum diff_reason reason)
{
	return reasons[reason][0];
}

void diff_print(const struct diff_report *d)
{
	print_head(d);
	if (d->csv)
		print_csv(d);
	else
		print_table(d);
}
