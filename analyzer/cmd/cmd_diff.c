/* cmd_diff.c - "weft diff": what made one side of sessions slower than the
 * other, as a table or as rows for scripts. Knows which operands are on which
 * side, and the words of the reasons; merge/diff finds them and computes the
 * chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cells.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/completeness.h"
#include "analyzer/load/header.h"
#include "analyzer/merge/diff.h"
#include "analyzer/out/out_number.h"

#include <math.h>
#include <string.h>

/* The options. arg_limit -1: --fail-over was not given. */
static size_t arg_top = 20;
static double arg_min = 0.1, arg_limit = -1;
static bool arg_csv;

/* --fail-over is for scripts that guard against regressions: only it changes
 * the exit status. */
static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all; --csv shows all" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min-share",
	  .arg = "PERCENT", .to = &arg_min, .help = "leave out rows that add "
	  "or take less than this share of the time before" },
	{ .type = OPT_SHARE, .name = "fail-over", .arg = "PERCENT",
	  .to = &arg_limit, .help = "exit with status 4 if a single change "
	  "that is not chance adds more than this share of the time before" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* Both sides, each merged, and what is different. A side is a sum even if it is
 * of one session: only sums have statistics over sessions. The diff borrows
 * from both, so it is freed before them. */
struct sides {
	struct load before, after;
	struct diff *diff;
};

/* ---- rows --------------------------------------------------------------- */

/* The words for a row that adds time, for one that takes time, and for CSV,
 * whose keys stay the same when the words change. */
static const struct {
	const char *more, *less, *key;
} reasons[DIFF_REASONS] = {
	[DIFF_CALLED] = { "called more", "called less", "called" },
	[DIFF_NEW_CALLER] = { "new caller", "new caller", "new_caller" },
	[DIFF_NEW] = { "new function", "new function", "new" },
	[DIFF_COST] = { "costs more a call", "costs less a call", "cost" },
	[DIFF_WAIT] = { "waits longer a call", "waits less a call", "wait" },
	[DIFF_SLEEP] = { "sleeps longer a call", "sleeps less a call",
			 "sleep" },
};

/* Percent of the time before, the one whole that does not depend on the change;
 * 0 if nothing ran before. */
static double share_of(const struct diff *d, double added)
{
	return d->before > 0 ? added * 100 / d->before : 0;
}

/* Is the change large enough for --min-share, whether it adds or takes? */
static bool is_shown(const struct diff *d, const struct diff_row *row)
{
	return fabs(share_of(d, row->added)) >= arg_min;
}

/* The function as it is after, if it is there, else as it was before. The two
 * sides have tables of functions of their own. */
static const struct func *func_of(const struct sides *sides, func_id before,
				  func_id after)
{
	return after ? func_get(sides->after.session->funcs, after) :
	       func_get(sides->before.session->funcs, before);
}

/* Are `was` and `is` calls, not times? The first three reasons are of calls;
 * enum diff_reason has them in this order. */
static bool is_of_calls(const struct diff_row *row)
{
	return row->reason <= DIFF_NEW;
}

/* Only rows of calls have a caller: the other reasons lie in the function. A
 * function without a caller on either side is called by a thread. */
static const char *caller_of(const struct sides *sides,
			     const struct diff_row *row)
{
	if (!is_of_calls(row))
		return "";
	if (!row->caller_before && !row->caller_after)
		return "[thread]";
	return func_of(sides, row->caller_before, row->caller_after)->name;
}

/* ---- the header --------------------------------------------------------- */

/* Of one side: its size, what was lost, which part of it is compared. mark
 * begins each line. Notes that are not losses are left out: there would be two
 * of each. */
static void print_side(const struct load *load, const char *which, FILE *to,
		       const char *mark)
{
	const struct session *const s = load->session;
	char sessions[OUT_NUMBER], time[OUT_NUMBER], calls[OUT_NUMBER];
	char lost[40], shown[40], sentence[2048];
	struct completeness_line lost_line = { lost, to },
				 shown_line = { shown, to };

	fprintf(to, "%s%s: %s, %s, %s\n", mark, which,
		out_number_many(sessions, s->part_count, "sessions"),
		out_number_time(time, (double)session_duration(s)),
		out_number_many(calls, s->calls, "calls"));
	snprintf(lost, sizeof(lost), "%slost %s: ", mark, which);
	completeness_each(load, completeness_print, &lost_line);
	if (!load->is_part)
		return;
	snprintf(shown, sizeof(shown), "%sshown %s: ", mark, which);
	filter_args_describe(s, &load->part, sentence, sizeof(sentence));
	completeness_print(&shown_line, sentence);
}

/* Both sides, then how much time a session takes on each. With --csv it goes to
 * stderr, so that stdout holds rows alone. */
static void print_header(const struct sides *sides)
{
	const struct diff *const d = sides->diff;
	FILE *const to = arg_csv ? stderr : stdout;
	const char *const mark = arg_csv ? "# " : "";
	char before[OUT_NUMBER], after[OUT_NUMBER];

	print_side(&sides->before, "before", to, mark);
	print_side(&sides->after, "after", to, mark);
	fprintf(to, "%sa session's time in functions: %s before, %s after "
		"(%+.1f%%)\n", mark, out_number_time(before, d->before),
		out_number_time(after, d->after),
		share_of(d, d->after - d->before));
	if (sides->before.session->part_count < 2 ||
	    sides->after.session->part_count < 2)
		fprintf(to, "%snote: whether a change is chance is not known: "
			"that takes two sessions or more on each side\n", mark);
	if (!arg_csv)
		putchar('\n');
}

/* ---- the table ---------------------------------------------------------- */

/* The table's columns. On a narrow terminal the language goes first, then the
 * caller, then the two figures. */
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

/* `was` or `is`: calls a session, which may be a mean, or ns a call. */
static void figure_cell(struct out_table *table, const struct diff_row *row,
			double value)
{
	char text[OUT_NUMBER];

	if (is_of_calls(row))
		cells_count(table, value);
	else
		out_table_cell(table, out_number_time(text, value));
}

/* "-" if it is not known. Below a tenth of a percent the figure would only look
 * exact; from 9.95% on it is shown without decimals. */
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

/* The sign of what is added chooses the words of the reason. */
static void table_row(struct out_table *table, const struct sides *sides,
		      const struct diff_row *row)
{
	const struct func *const f = func_of(sides, row->before, row->after);
	const bool less = row->added < 0;
	char text[OUT_NUMBER];

	out_table_cellf(table, "%s%s", less ? "-" : "+",
			out_number_time(text, fabs(row->added)));
	out_table_cellf(table, "%+.1f%%", share_of(sides->diff, row->added));
	out_table_cellf(table, "%s%s", less ? reasons[row->reason].less :
			reasons[row->reason].more,
			row->is_fastest ? " (fastest)" : "");
	figure_cell(table, row, row->was);
	figure_cell(table, row, row->is);
	chance_cell(table, row);
	out_table_cell(table, func_language(f));
	out_table_cell(table, caller_of(sides, row));
	out_table_cell(table, f->name);
}

/* Rows in the order of the diff: what is not chance first, by what it adds. A
 * row that --min-share leaves out is not counted as left: it is no change worth
 * a line. */
static void print_table(const struct sides *sides)
{
	struct out_table *const table = out_table_new(columns, COLUMNS);
	const struct diff *const d = sides->diff;
	size_t shown = 0, left = 0;
	char text[OUT_NUMBER];

	for (size_t i = 0; i < d->count; i++) {
		if (!is_shown(d, &d->rows[i]))
			continue;
		if (arg_top > 0 && shown >= arg_top) {
			left++;
			continue;
		}
		table_row(table, sides, &d->rows[i]);
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

/* ---- CSV ---------------------------------------------------------------- */

/* Of all real figures in CSV: ns, calls and percent alike. */
enum { DECIMALS = 3 };

/* As in the table, with the reason's key. An unknown chance is an empty field,
 * not a number that a script would compare. */
static void csv_row(const struct sides *sides, const struct diff_row *row)
{
	struct session *const s = row->after ? sides->after.session :
				  sides->before.session;
	struct out_csv csv = { stdout, 0 };

	cells_csv_real(&csv, row->added, DECIMALS);
	cells_csv_real(&csv, share_of(sides->diff, row->added), DECIMALS);
	out_csv_text(&csv, reasons[row->reason].key);
	cells_csv_real(&csv, row->was, DECIMALS);
	cells_csv_real(&csv, row->is, DECIMALS);
	if (row->chance < 0)
		out_csv_text(&csv, "");
	else
		cells_csv_real(&csv, row->chance, DECIMALS);
	cells_csv_func(&csv, s, row->after ? row->after : row->before);
	out_csv_text(&csv, caller_of(sides, row));
	out_csv_end(&csv);
}

/* All rows that --min-share leaves; --top is for the table alone. */
static void print_csv(const struct sides *sides)
{
	const struct diff *const d = sides->diff;

	puts("added_ns,share,reason,was,is,chance," CELLS_FUNC_COLUMNS
	     ",caller");
	for (size_t i = 0; i < d->count; i++)
		if (is_shown(d, &d->rows[i]))
			csv_row(sides, &d->rows[i]);
}

/* ---- the command -------------------------------------------------------- */

/* Which operands are before and which after: of two, the first is before; else
 * those before the word vs. A trace that is itself called vs can be given as
 * ./vs. Returns how many are before, or 0 with the cause in the chain; *after
 * points into operands. */
static int split(int count, char **operands, char ***after, int *after_count)
{
	int at = 0;

	while (at < count && strcmp(operands[at], "vs") != 0)
		at++;
	/* Without the word vs, two operands are clear, more are not. */
	if (at == count && count != 2) {
		err_add(count < 2 ? "two traces or profiles are needed: give "
			"A B, or A... vs B..." : "it is not clear which are "
			"before and which after: put the word vs between "
			"them");
		return 0;
	}
	if (at == count)
		at = 1;
	/* The word vs itself is on neither side. */
	*after = operands + at + (strcmp(operands[at], "vs") == 0);
	*after_count = count - (int)(*after - operands);
	if (at > 0 && *after_count > 0)
		return at;
	err_add("no trace or profile is given %s vs",
		at == 0 ? "before" : "after");
	return 0;
}

/* Does one change add more than --fail-over allows? Changes that may be chance
 * do not count; those whose chance is not known (-1) do. The first one found is
 * named: rows come with the largest first. CMD_WORSE or CMD_OK. */
static enum cmd_exit judge(const struct sides *sides)
{
	const struct diff *const d = sides->diff;

	for (size_t i = 0; arg_limit >= 0 && i < d->count; i++) {
		const struct diff_row *const row = &d->rows[i];

		if (row->chance > DIFF_CHANCE ||
		    share_of(d, row->added) <= arg_limit)
			continue;
		err_add("\"%s\" adds %.1f%% of the time before (%s); "
			"--fail-over allows %g%%",
			func_of(sides, row->before, row->after)->name,
			share_of(d, row->added), reasons[row->reason].more,
			arg_limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

/* A side without calls would make everything look new, or gone, so it is
 * refused before anything is printed. The verdict comes after the table, which
 * shows what it is about. */
static enum cmd_exit compare(struct sides *sides)
{
	enum cmd_exit status = header_need_calls(&sides->before);

	if (status == CMD_OK)
		status = header_need_calls(&sides->after);
	if (status != CMD_OK)
		return status;
	sides->diff = diff_new(sides->before.session, sides->after.session);
	print_header(sides);
	if (arg_csv)
		print_csv(sides);
	else
		print_table(sides);
	status = judge(sides);
	diff_free(sides->diff);
	return status;
}

/* Both sides are filtered alike. Nothing beyond the tree is collected: a diff
 * takes its figures from the statistics over sessions. */
static enum cmd_exit run(int count, char **operands)
{
	static const struct replay_collect want;
	struct sides sides = { 0 };
	enum cmd_exit status;
	char **after = NULL;
	int after_count = 0;
	const int before = split(count, operands, &after, &after_count);

	if (before == 0)
		return CMD_USAGE;
	status = load_open_merged(&sides.before, &want, before, operands);
	if (status == CMD_OK)
		status = load_open_merged(&sides.after, &want, after_count,
					  after);
	if (status == CMD_OK)
		status = compare(&sides);
	load_close(&sides.before);
	load_close(&sides.after);
	return status;
}

const struct cmd cmd_diff = {
	.name = "diff",
	.args = "A B | A... vs B...",
	.summary = "show which functions take more time than before, and why",
	.about =
	"Compares the sessions (runs of weft record) in traces or profiles\n"
	"from before a change with those from after it. Lists functions by\n"
	"the time that they add to a session, each with the reason: a caller\n"
	"calls it more often; new callers call it; it is new; a call costs\n"
	"more (its own code, on the CPU where that is known); a call waits\n"
	"longer; or its coroutine sleeps longer. A function that is called\n"
	"more often is charged with all that it calls; a function whose calls\n"
	"cost more, only with its own time.\n"
	"\n"
	"Functions are the same if their build-id and offset are (Lua:\n"
	"source and lines); in another build, if their name and file are.\n"
	"chance is the probability that sessions without a change differ as\n"
	"much: Welch's t-test, times the number of rows. Rows that may be\n"
	"chance (over 5%) come last. With fewer than two sessions on a side,\n"
	"chance is not known, and every change counts.\n"
	"\n"
	"A busy machine makes calls longer, never shorter. So if a difference\n"
	"of the means may be chance, but that of the fastest calls is not (in\n"
	"functions that call nothing), the fastest calls are compared\n"
	"(fastest).\n"
	"\n"
	"The exit status is 4 when --fail-over finds more than it allows.",
	.opts = opts,
	.run = run,
};
