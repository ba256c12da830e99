/* cmd_diff.c - "weft diff": what made one side slower than the other.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/cmd/load_profile.h"
#include "analyzer/cmd/loss.h"
#include "analyzer/core/delta.h"
#include "analyzer/out/out_escape.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <math.h>
#include <string.h>

static size_t arg_top = 20;
static double arg_min = 0.1, arg_limit = -1;
static int arg_csv;

static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_SHARE, .name = "min", .arg = "PERCENT", .to = &arg_min,
	  .help = "leave out what adds or takes less of the time before" },
	{ .type = OPT_SHARE, .name = "fail-over", .arg = "PERCENT",
	  .to = &arg_limit, .help = "exit with status 4 if one change that "
	  "is not chance adds more than that of the time before" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

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
static const char *const reasons[DELTA_REASONS][2] = {
	[DELTA_CALLED] = { "called more", "called less" },
	[DELTA_NEW_CALLER] = { "new caller", "new caller" },
	[DELTA_NEW] = { "new function", "new function" },
	[DELTA_COST] = { "costs more a call", "costs less a call" },
	[DELTA_WAIT] = { "waits longer a call", "waits less a call" },
	[DELTA_SLEEP] = { "sleeps longer a call", "sleeps less a call" },
};

/* As scripts have it. */
static const char *const reason_words[DELTA_REASONS] = {
	"called", "new_caller", "new", "cost", "wait", "sleep"
};

struct diff {
	struct load side[2];
	struct delta *delta;
};

/* --- operands ------------------------------------------------------------ */

/* One before the other, or "A... vs B...". How many stand before, or 0. */
static int split(int count, char **operands, char ***after, int *after_count)
{
	int at = 0;

	while (at < count && strcmp(operands[at], "vs") != 0)
		at++;
	if (at == count && count != 2) {
		err_add(count < 2 ? "which two? Give A B, or A... vs B..." :
			"which are before, which after? Put the word vs "
			"between them");
		return 0;
	}
	if (at == count)
		at = 1;
	*after = operands + at + (strcmp(operands[at], "vs") == 0);
	*after_count = count - (int)(*after - operands);
	if (at > 0 && *after_count > 0)
		return at;
	err_add("nothing stands %s vs", at == 0 ? "before" : "after");
	return 0;
}

/* --- rows ---------------------------------------------------------------- */

static double share(const struct delta *d, double added)
{
	return d->before > 0 ? added * 100 / d->before : 0;
}

static int is_shown(const struct delta *d, const struct delta_row *row)
{
	return fabs(share(d, row->added)) >= arg_min;
}

static const struct func *func_of(const struct diff *d, func_id before,
				  func_id after)
{
	return after != 0 ? func_get(d->side[1].session->funcs, after) :
	       func_get(d->side[0].session->funcs, before);
}

static int is_of_calls(const struct delta_row *row)
{
	return row->reason <= DELTA_NEW;
}

static const char *caller_of(const struct diff *d, const struct delta_row *row)
{
	if (!is_of_calls(row))
		return "";
	if (row->caller_before == 0 && row->caller_after == 0)
		return "[thread]";
	return func_of(d, row->caller_before, row->caller_after)->name;
}

static void signed_time(struct out_table *table, double ns)
{
	char text[OUT_NUMBER];

	out_table_cellf(table, "%s%s", ns < 0 ? "-" : "+",
			out_number_time(text, fabs(ns)));
}

static void figure_cell(struct out_table *table, const struct delta_row *row,
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

static void chance_cell(struct out_table *table, const struct delta_row *row)
{
	if (row->chance < 0)
		out_table_cell(table, "-");
	else if (row->chance < 0.001)
		out_table_cell(table, "<0.1%");
	else
		out_table_cellf(table, "%.*f%%", row->chance < 0.0995,
				row->chance * 100);
}

static void table_row(struct out_table *table, const struct diff *d,
		      const struct delta_row *row)
{
	const struct func *const f = func_of(d, row->before, row->after);

	signed_time(table, row->added);
	out_table_cellf(table, "%+.1f%%", share(d->delta, row->added));
	out_table_cellf(table, "%s%s", reasons[row->reason][row->added < 0],
			row->is_fastest ? " (fastest)" : "");
	figure_cell(table, row, row->was);
	figure_cell(table, row, row->is);
	chance_cell(table, row);
	out_table_cell(table, func_language(f));
	out_table_cell(table, caller_of(d, row));
	out_table_cell(table, f->name);
}

static void print_losses(void *ctx, const char *sentence)
{
	char *const text = out_escape_terminal(sentence);

	fprintf(arg_csv ? stderr : stdout, "%slost %s: %s\n",
		arg_csv ? "# " : "", (const char *)ctx, text);
	mem_free(text);
}

static void print_side(const struct load *load, const char *which)
{
	const struct session *const s = load->session;
	char name[16], sessions[OUT_NUMBER], time[OUT_NUMBER];
	char calls[OUT_NUMBER];

	snprintf(name, sizeof(name), "%s", which);
	fprintf(arg_csv ? stderr : stdout, "%s%s: %s, %s, %s\n",
		arg_csv ? "# " : "", which,
		out_number_many(sessions, s->part_count, "sessions"),
		out_number_time(time, (double)head_duration(s)),
		out_number_many(calls, s->calls, "calls"));
	loss_each(load, print_losses, name);
}

static int is_known(const struct diff *d)
{
	return d->side[0].session->part_count > 1 &&
	       d->side[1].session->part_count > 1;
}

static void print_head(const struct diff *d)
{
	FILE *const to = arg_csv ? stderr : stdout;
	const char *const mark = arg_csv ? "# " : "";
	char before[OUT_NUMBER], after[OUT_NUMBER];

	print_side(&d->side[0], "before");
	print_side(&d->side[1], "after");
	fprintf(to, "%sa session's time in functions: %s before, %s after "
		"(%+.1f%%)\n", mark, out_number_time(before, d->delta->before),
		out_number_time(after, d->delta->after),
		share(d->delta, d->delta->after - d->delta->before));
	if (!is_known(d))
		fprintf(to, "%snote: whether a change is chance is not known: "
			"that takes two sessions or more on each side\n", mark);
	if (!arg_csv)
		putchar('\n');
}

static void print_table(const struct diff *d)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	size_t shown = 0, left = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < d->delta->count; i++) {
		if (!is_shown(d->delta, &d->delta->rows[i]))
			continue;
		if (arg_top > 0 && shown >= arg_top) {
			left++;
			continue;
		}
		table_row(table, d, &d->delta->rows[i]);
		shown++;
	}
	if (shown > 0)
		out_table_print(table, stdout, out_table_terminal(stdout));
	else
		printf("no function adds or takes %g%% or more\n", arg_min);
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

static void print_csv(const struct diff *d)
{
	struct out_csv csv = { stdout, 0 };

	puts("added_ns,share,reason,was,is,chance," HEAD_FUNC_COLUMNS
	     ",caller");
	for (size_t i = 0; i < d->delta->count; i++) {
		const struct delta_row *const row = &d->delta->rows[i];
		struct session *const s = d->side[row->after != 0].session;

		if (!is_shown(d->delta, row))
			continue;
		csv_real(&csv, row->added);
		csv_real(&csv, share(d->delta, row->added));
		out_csv_text(&csv, reason_words[row->reason]);
		csv_real(&csv, row->was);
		csv_real(&csv, row->is);
		if (row->chance < 0)
			out_csv_text(&csv, "");
		else
			csv_real(&csv, row->chance);
		head_csv_func(&csv, s, row->after != 0 ? row->after :
			      row->before);
		out_csv_text(&csv, caller_of(d, row));
		out_csv_end(&csv);
	}
}

/* --- the whole ----------------------------------------------------------- */

static enum cmd_exit judge(const struct diff *d)
{
	const struct delta *const t = d->delta;

	for (size_t i = 0; arg_limit >= 0 && i < t->count; i++) {
		const struct delta_row *const row = &t->rows[i];

		if (row->chance > DELTA_CHANCE ||
		    share(t, row->added) <= arg_limit)
			continue;
		err_add("\"%s\" adds %.1f%% of the time before (%s); "
			"--fail-over allows %g%%",
			func_of(d, row->before, row->after)->name,
			share(t, row->added), reasons[row->reason][0],
			arg_limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

static enum cmd_exit compare(struct diff *d)
{
	enum cmd_exit status = head_need_calls(&d->side[0]);

	if (status == CMD_OK)
		status = head_need_calls(&d->side[1]);
	if (status != CMD_OK)
		return status;
	d->delta = delta_new(d->side[0].session, d->side[1].session);
	print_head(d);
	if (arg_csv)
		print_csv(d);
	else
		print_table(d);
	status = judge(d);
	delta_free(d->delta);
	return status;
}

static enum cmd_exit run(int count, char **operands)
{
	static const struct replay_collect want;
	struct diff d = { .delta = NULL };
	enum cmd_exit status;
	char **after = NULL;
	int after_count = 0;
	const int before = split(count, operands, &after, &after_count);

	if (before == 0)
		return CMD_USAGE;
	status = load_profile_merge(&d.side[0], &want, before, operands);
	if (status == CMD_OK)
		status = load_profile_merge(&d.side[1], &want, after_count,
					    after);
	if (status == CMD_OK)
		status = compare(&d);
	load_close(&d.side[0]);
	load_close(&d.side[1]);
	return status;
}

const struct cmd cmd_diff = {
	"diff", "A B | A... vs B...", "find what made the second slower",
	"Compares traces or profiles, sessions before with sessions after,\n"
	"and lists functions by the time they add to a session, each with\n"
	"the reason: a caller calls it more often than it did; functions\n"
	"call it that did not; it is new; it costs more a call (its own\n"
	"code, on the CPU where that is known); it waits or its coroutine\n"
	"sleeps longer a call. A function called more often answers for all\n"
	"that it calls; a function that costs more for itself only.\n"
	"\n"
	"Functions are the same by build-id and offset (Lua: source and\n"
	"lines); in another build, by name and file. chance is how likely\n"
	"sessions of one kind differ as much, by Welch's t-test times the\n"
	"number of rows; what may be chance (over 5%) comes last. It is not\n"
	"known for fewer than two sessions on a side: then all counts. A\n"
	"busy machine makes calls longer, none shorter: where means may\n"
	"differ by chance, but the fastest calls of functions that call\n"
	"nothing do not, those are compared (fastest).\n"
	"\n"
	"The exit status is 4 when --fail-over finds more than it allows.",
	opts, run
};
