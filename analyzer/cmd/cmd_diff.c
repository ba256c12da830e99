/* cmd_diff.c - "weft diff": what made one side of sessions slower than the
 * other, as a table or as rows for scripts. Knows which operands are on which
 * side, and the words of the reasons; merge/diff finds them and computes the
 * chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/cmd/table.h"
#include "analyzer/load/completeness.h"
#include "analyzer/load/header.h"
#include "analyzer/merge/diff.h"
#include "analyzer/out/out_number.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are shown unless --top says otherwise. */
enum { USUAL_TOP = 20 };

/* The options. arg_limit -1: --fail-over was not given; arg_top SIZE_MAX:
 * --top was not; arg_sort NULL: by what they add. */
static size_t arg_top = SIZE_MAX;
static double arg_min = 0.1, arg_limit = -1;
static const struct metric *arg_sort;
static const char *arg_columns;
static bool arg_csv;

/* Both sides, each merged, and what is different. A side is a sum even if it is
 * of one session: only sums have statistics over sessions. The diff borrows
 * from both, so it is freed before them. */
struct sides {
	struct load before, after;
	bool is_raw;             /* one side has net times, the other has not */
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

/* Is the change large enough for --min-share, whether it adds or takes? */
static bool is_shown(const struct diff_row *row)
{
	return fabs(row->share) >= arg_min;
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
	fprintf(to, "%sa session's self time: %s before, %s after "
		"(%+.1f%%)\n", mark, out_number_time(before, d->before),
		out_number_time(after, d->after),
		d->before > 0 ? 100 * (d->after / d->before - 1) : 0);
	if (sides->before.session->part_count < 2 ||
	    sides->after.session->part_count < 2)
		fprintf(to, "%snote: whether a change is chance is not known: "
			"that takes two sessions or more on each side\n", mark);
	if (sides->is_raw)
		fprintf(to, "%snote: times are as recorded: not all sessions "
			"have samples enough for net ones\n", mark);
	if (!arg_csv)
		putchar('\n');
}

/* ---- the columns -------------------------------------------------------- */

/* A row of the table, whose source is the sides. Texts of the function are
 * found in the session of one of them: that of the side which func is of. */
struct line {
	const struct diff_row *row;
	func_id func;
};

/* A figure that the table shows in a way of its own; CSV has v->real. */
static __attribute__((format(printf, 2, 3)))
void show(struct metric_value *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->room, sizeof(v->room), format, args);
	va_end(args);
	v->unit = METRIC_TEXT;
	v->text = v->room;
}

static METRIC_GETTER(get_added)
{
	char text[OUT_NUMBER];

	v->real = ((const struct line *)row)->row->added;
	show(v, "%s%s", v->real < 0 ? "-" : "+",
	     out_number_time(text, fabs(v->real)));
}

static METRIC_GETTER(get_share)
{
	v->real = ((const struct line *)row)->row->share;
	show(v, "%+.1f%%", v->real);
}

/* The sign of what is added chooses the words of the reason. */
static METRIC_GETTER(get_reason)
{
	const struct diff_row *const r = ((const struct line *)row)->row;

	v->text = reasons[r->reason].key;
	v->brief = v->room;
	snprintf(v->room, sizeof(v->room), "%s%s", r->added < 0 ?
		 reasons[r->reason].less : reasons[r->reason].more,
		 r->is_fastest ? " (fastest)" : "");
}

/* was or is: calls a session, which may be a mean, or ns a call. */
static METRIC_GETTER(get_figure)
{
	const struct diff_row *const r = ((const struct line *)row)->row;
	char text[OUT_NUMBER];

	v->real = m->name[0] == 'w' ? r->was : r->is;
	if (!is_of_calls(r))
		show(v, "%s", out_number_time(text, v->real));
}

/* Below a tenth of a percent the figure would only look exact; from 9.95% on it
 * is shown without decimals. */
static METRIC_GETTER(get_chance)
{
	v->real = ((const struct line *)row)->row->chance;
	v->is_unknown = v->real < 0;
	if (v->real < 0.001)
		show(v, "<0.1%%");
	else
		show(v, "%.*f%%", v->real < 0.0995, v->real * 100);
}

static METRIC_GETTER(get_caller)
{
	v->text = caller_of(s->table, ((const struct line *)row)->row);
}

/* In CSV all figures have as many decimals. On a narrow terminal the caller
 * goes first, then the language and the two figures. */
#define FIGURE(name, getter, ...) \
	{ name, METRIC_REAL, METRIC_SORTS | METRIC_DROP_EMPTY, \
	  .get = getter, .decimals = 3, __VA_ARGS__ }

static const struct metric metrics[] = {
	FIGURE("adds", get_added, .key = "added_ns",
	       .help = "time that the change adds to a session"),
	FIGURE("share", get_share,
	       .help = "that as a share of the self time before; of sleep, of "
	       "the sleep before"),
	{ "because", METRIC_TEXT, 0, NULL, "reason", .get = get_reason,
	  .help = "what changed" },
	FIGURE("was", get_figure, .drop = 1,
	       .help = "calls a session or time a call, before"),
	FIGURE("is", get_figure, .drop = 1, .help = "the same, after"),
	FIGURE("chance", get_chance,
	       .help = "probability that nothing changed"),
	METRIC_PLACE(struct line, func, "", ""),
	{ "caller", METRIC_TEXT, METRIC_DROP_EMPTY, "called by",
	  .get = get_caller, .drop = 2, .shrink = 12,
	  .help = "the caller that adds most" },
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  METRIC_AT(struct line, func), metric_function, .shrink = 20,
	  .help = "the function that changed" },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics, "adds,share,because,was,is,chance,language,caller,name",
	"adds,share,because,was,is,chance,name,language,module,file,line,caller"
};

/* --net. Raw times have a part of weft's, but it is about the same on both
 * sides, and they have no error of samples: they find smaller changes. */
static bool arg_net;

/* --fail-over is for scripts that guard against regressions: only it changes
 * the exit status. */
static const struct opt opts[] = {
	{ .type = OPT_NUMBER, .letter = 'n', .name = "top", .arg = "N",
	  .to = &arg_top, .help = "rows to show, 0 for all (default: 20; with "
	  "--csv, all)" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min-share",
	  .arg = "PERCENT", .to = &arg_min, .help = "leave out rows that add "
	  "or take less than this share of the self time before" },
	{ .type = OPT_SHARE, .name = "fail-over", .arg = "PERCENT",
	  .to = &arg_limit, .help = "exit with status 4 if a single change "
	  "that is not chance adds more than this share of the self time "
	  "before (of sleep: of the sleep before)" },
	TABLE_OPTS(view, arg_sort, arg_columns, arg_csv),
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_FLAG, .name = "net", .to = &arg_net,
	  .help = "compare net times, whose errors are larger than what "
	  "weft's own part differs by" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

/* ---- the table ---------------------------------------------------------- */

/* Rows that may be chance stay last. Equal ones stay in the order of the
 * diff. */
static int compare_lines(const void *a, const void *b, void *source)
{
	const struct line *const x = a, *const y = b;
	const int last = (x->row->chance > DIFF_CHANCE) -
			 (y->row->chance > DIFF_CHANCE);
	const int order = last != 0 ? last :
			  metric_compare(arg_sort, source, x, y);

	return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* The rows that --min-share leaves. Sets *count; the caller frees them. */
static struct line *find_lines(const struct sides *sides, size_t *count)
{
	const struct diff *const d = sides->diff;
	struct line *const lines = mem_alloc((d->count + 1) * sizeof(*lines));
	struct metric_source source = { .table = sides };

	*count = 0;
	for (const struct diff_row *r = d->rows; r < d->rows + d->count; r++)
		if (is_shown(r))
			lines[(*count)++] = (struct line){
				r, r->after ? r->after : r->before };
	if (arg_sort)
		qsort_r(lines, *count, sizeof(*lines), compare_lines, &source);
	return lines;
}

/* A row that --min-share leaves out is not counted as left: it is no change
 * worth a line. */
static void print_lines(const struct sides *sides, struct table *t)
{
	const size_t top = table_top(arg_top, USUAL_TOP, arg_csv);
	size_t count;
	struct line *const lines = find_lines(sides, &count);

	t->source.table = sides;
	table_begin(t);
	for (size_t i = 0; i < count && i < top; i++) {
		t->source.session = lines[i].row->after ?
			sides->after.session : sides->before.session;
		table_row(t, &lines[i]);
	}
	table_end(t);
	if (!arg_csv && count == 0)
		printf("no function adds or takes %g%% or more\n", arg_min);
	if (!arg_csv && count > top)
		table_print_rest(count - top, "changes");
	mem_free(lines);
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

		if (row->chance > DIFF_CHANCE || row->share <= arg_limit)
			continue;
		err_add("\"%s\" adds %.1f%% of the time before (%s); "
			"--fail-over allows %g%%",
			func_of(sides, row->before, row->after)->name,
			row->share, reasons[row->reason].more, arg_limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

/* A side without calls would make everything look new, or gone, so it is
 * refused before anything is printed. The verdict comes after the table, which
 * shows what it is about. */
static enum cmd_exit compare(struct sides *sides, struct table *t)
{
	enum cmd_exit status = header_need_calls(&sides->before);

	if (status == CMD_OK)
		status = header_need_calls(&sides->after);
	if (status != CMD_OK)
		return status;
	sides->diff = diff_new(sides->before.session, sides->after.session);
	print_header(sides);
	print_lines(sides, t);
	status = judge(sides);
	diff_free(sides->diff);
	return status;
}

/* Net times are compared with net ones: one session without them makes all of
 * them raw. */
static bool is_mixed(const struct sides *s)
{
	const bool before = s->before.session->net.is_net;
	const bool after = s->after.session->net.is_net;

	return (before || after) &&
	       (!before || !after || s->before.is_raw || s->after.is_raw);
}

static enum cmd_exit open_sides(struct sides *s, int before, char **operands,
				int after_count, char **after)
{
	static const struct replay_collect want;
	const enum cmd_exit status = load_open_merged(&s->before, &want, before,
						      operands);

	return status != CMD_OK ? status :
	       load_open_merged(&s->after, &want, after_count, after);
}

/* Both sides are filtered alike. Nothing beyond the tree is collected: a diff
 * takes its figures from the statistics over sessions. */
static enum cmd_exit run(int count, char **operands)
{
	struct table table = { .csv = arg_csv };
	struct sides sides = { 0 };
	enum cmd_exit status;
	char **after = NULL;
	int after_count = 0;
	const int before = split(count, operands, &after, &after_count);

	if (before == 0 ||
	    table_choose(&table, &view, arg_columns, arg_sort) != 0)
		return CMD_USAGE;
	load_want_net(arg_net);
	status = open_sides(&sides, before, operands, after_count, after);
	if (status == CMD_OK && is_mixed(&sides)) {
		load_close(&sides.before);
		load_close(&sides.after);
		sides = (struct sides){ .is_raw = true };
		load_want_net(false);
		status = open_sides(&sides, before, operands, after_count,
				    after);
	}
	if (status == CMD_OK)
		status = compare(&sides, &table);
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
	"functions that call nothing and do not wait in every call), the\n"
	"fastest calls are compared (fastest).\n"
	"\n"
	"The exit status is 4 when --fail-over finds more than it allows.",
	.opts = opts,
	.run = run,
};
