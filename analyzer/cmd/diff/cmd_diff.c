/* cmd_diff.c - "weft diff": what made one side of sessions slower than the
 * other, as a table or as rows for scripts. Knows which operands are on which
 * side, and the words of the reasons; merge/diff finds them and computes the
 * chance.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/cmd/diff/diff.h"
#include "analyzer/cmd/shared/cmd.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/load/completeness.h"
#include "analyzer/merge/diff.h"
#include "analyzer/merge/diff_match.h"
#include "analyzer/out/out_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Changes that are smaller than this share are left out, unless --min-share
 * says otherwise; of counts none are. */
#define USUAL_MIN 0.1

/* So many pairs of files are named in a note. */
enum { FILES_NAMED = 3 };

/* The options. Without --sort, rows are in the order of what they add. */
static struct diff_args args = { .min = -1, .limit = -1 };
static bool arg_counts, arg_heap;

/* ---- rows --------------------------------------------------------------- */

/* The reasons of CSV, whose keys stay the same when the words change. */
static const char *const reason_keys[DIFF_REASONS] = {
	[DIFF_CALLED] = "called", [DIFF_NEW_CALLER] = "new_caller",
	[DIFF_NEW] = "new", [DIFF_MORE_WAITS] = "more_waits",
	[DIFF_COST] = "cost", [DIFF_SAMPLED] = "sampled",
	[DIFF_WAIT] = "wait", [DIFF_SLEEP] = "sleep",
};

/* Is the change large enough for --min-share, whether it adds or takes? */
static bool is_large(const struct diff_row *row)
{
	return fabs(row->share) >= (args.min < 0 ? USUAL_MIN : args.min);
}

/* Scripts see the chance and choose. */
static bool is_shown(const struct diff_row *row)
{
	return row->chance <= DIFF_CHANCE || args.all || table_args.csv;
}

/* Only rows of calls have a caller: the other reasons lie in the function. A
 * function without a caller on either side is called by a thread. */
static const char *caller_of(const struct sides *sides,
			     const struct diff_row *row)
{
	if (!diff_is_of_calls(row))
		return "";
	if (!row->caller_before && !row->caller_after)
		return "[thread]";
	return sides_func(sides, row->caller_before, row->caller_after)->name;
}

/* ---- the header --------------------------------------------------------- */

/* Of one side: its size, what was lost, which part of it is compared. Notes
 * that are not losses are left out: there would be two of each. */
static void print_side(const struct load *load, const char *which)
{
	FILE *const to = table_notes();
	const char *const mark = table_mark();
	const struct session *const s = load->session;
	char sessions[OUT_NUMBER], time[OUT_NUMBER], calls[OUT_NUMBER];
	char lost[40], shown[40], sentence[2048];
	struct completeness_line lost_line = { lost, to },
				 shown_line = { shown, to };

	table_note("%s: %s, %s, %s", which,
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

/* Whether Lua functions were matched with those of another file: with the
 * files, as the matches are only as good as these. */
static void print_moved(const struct sides *sides)
{
	struct session *const side[2] = { sides->before.session,
					  sides->after.session };
	struct map *const pairs = map_new();
	char text[2048] = "", funcs[OUT_NUMBER];
	struct diff_matches m;
	size_t count = 0;

	diff_match_init(&m, side);
	for (size_t i = 1; i < m.count; i++) {
		const struct func *const f =
			func_get(side[0]->funcs, m.list[i].id[0]);
		const struct func *const g =
			func_get(side[1]->funcs, m.list[i].id[1]);

		if (f->kind != FUNC_LUA || g->kind != FUNC_LUA ||
		    strcmp(f->source, g->source) == 0)
			continue;
		count++;
		if ((*map_put(pairs, text_hash(1, f->source),
			      text_hash(1, g->source)))++ == 0 &&
		    map_count(pairs) <= FILES_NAMED)
			text_addf(text, sizeof(text), "%s%s is %s",
				  text[0] ? ", " : "", f->file, g->file);
	}
	if (count > 0)
		table_note("note: matched across files: %s of Lua (%s%s)",
			   out_number_many(funcs, count, "functions"),
			   text, map_count(pairs) > FILES_NAMED ? ", ..." : "");
	diff_match_fini(&m);
	map_free(pairs);
}

/* Where times are not net, or not by samples, and why. Both sides are of one
 * kind. */
static void print_net(const struct sides *sides)
{
	const uint32_t net = sides->after.session->net.is_net;

	if (args.limit >= 0)
		table_note("note: times are as recorded, as --fail-over "
			   "compares them");
	else if (sides->is_raw)
		table_note("note: times are as recorded: not all sessions have "
			   "samples enough for net ones");
	else if (net & NET_CALIBRATED)
		table_note("note: %snet times are recorded ones less a "
			   "calibrated cost of each call: there are no "
			   "samples, or too few", net & NET_SAMPLED ?
			   "of some sessions, " : "");
}

/* Are there rows of functions whose calls and times contradict each other? */
static bool has_apart(const struct diff *d)
{
	for (size_t i = 0; i < d->count; i++)
		if (d->rows[i].calls != 0)
			return true;
	return false;
}

/* How much time a session takes on each side, and by how much that grew. */
static void print_whole(const struct diff *d)
{
	const double growth = d->time[0] > 0 ? d->time[1] / d->time[0] : 1;
	char before[OUT_NUMBER], after[OUT_NUMBER], error[OUT_NUMBER] = "";

	if (d->error[0] > 0 && d->error[1] > 0)
		snprintf(error, sizeof(error), " \302\261 %.1f%%", 100 *
			 growth * hypot(d->error[0] / d->time[0],
					d->error[1] / d->time[1]));
	table_note("a session's %s time: %s before, %s after (%+.1f%%%s)",
		   d->has_cpu ? "CPU" : "self",
		   out_number_time(before, d->time[0]),
		   out_number_time(after, d->time[1]),
		   100 * (growth - 1), error);
}

static void print_times(const struct sides *sides)
{
	const struct diff *const d = sides->diff;
	char before[OUT_NUMBER], after[OUT_NUMBER];

	print_whole(d);
	if (sides->before.session->part_count < 2 ||
	    sides->after.session->part_count < 2)
		table_note("note: whether a change is chance is not known: "
			   "that takes two sessions or more on each side");
	if (d->no_core[0] + d->no_core[1] >
	    (d->time[0] + d->time[1]) * USUAL_MIN / 100)
		table_note("note: other threads had the core for another %s "
			   "before, %s after; no row counts that",
			   out_number_time(before, d->no_core[0]),
			   out_number_time(after, d->no_core[1]));
	if (has_apart(d))
		table_note("note: times are of runs that were not recorded, "
			   "calls of those that were; where a function's calls "
			   "and times did not change alike, rows compare what "
			   "it takes in a session");
	if (sides->is_lua_sampled)
		table_note("note: Lua was sampled: of its functions, rows "
			   "compare what they take in a session, as their "
			   "calls are not known");
	print_net(sides);
}

/* ---- the columns -------------------------------------------------------- */

/* A row of the table, whose source is the sides. Texts of the function are
 * found in the session of one of them: that of the side which func is of. */
struct line {
	const struct diff_row *row;
	func_id func;
};

/* CSV has v->real. */
static METRIC_GETTER(get_added)
{
	char text[OUT_NUMBER];

	v->real = ((const struct line *)row)->row->added;
	metric_show(v, "%s%s", v->real < 0 ? "-" : "+",
		    out_number_time(text, fabs(v->real)));
}

static METRIC_GETTER(get_error)
{
	char text[OUT_NUMBER];

	v->real = ((const struct line *)row)->row->error;
	v->is_unknown = v->real <= 0;
	metric_show(v, "%s", out_number_time(text, v->real));
}

static METRIC_GETTER(get_share)
{
	v->real = ((const struct line *)row)->row->share;
	metric_show(v, "%+.1f%%", v->real);
}

static METRIC_GETTER(get_reason)
{
	const struct diff_row *const r = ((const struct line *)row)->row;

	v->text = reason_keys[r->reason];
	v->brief = v->room;
	snprintf(v->room, sizeof(v->room), "%s%s", diff_reason_words(r),
		 r->is_fastest ? " (fastest)" : "");
}

/* Is a function called more for each call of its caller, but not more often in
 * all, or less? */
static bool is_of_rate(const struct diff_row *r)
{
	return diff_is_of_calls(r) &&
	       (r->rate[1] - r->rate[0]) * (r->is - r->was) <= 0;
}

/* was or is: calls a session, which may be a mean, or ns a call; of sampled
 * functions ns a session. The table has calls for one of the caller's where
 * these are what changed. */
static METRIC_GETTER(get_figure)
{
	const struct diff_row *const r = ((const struct line *)row)->row;
	const bool is_before = m->name[0] == 'w';
	char text[OUT_NUMBER];

	v->real = is_before ? r->was : r->is;
	if (is_of_rate(r))
		metric_show(v, "%.4g a call", r->rate[!is_before]);
	else if (!diff_is_of_calls(r))
		metric_show(v, "%s", out_number_time(text, v->real));
}

/* Below a tenth of a percent the figure would only look exact; from 9.95% on it
 * is shown without decimals. */
static METRIC_GETTER(get_chance)
{
	v->real = ((const struct line *)row)->row->chance;
	v->is_unknown = v->real < 0;
	if (v->real < 0.001)
		metric_show(v, "<0.1%%");
	else
		metric_show(v, "%.*f%%", v->real < 0.0995, v->real * 100);
}

static METRIC_GETTER(get_caller)
{
	v->text = caller_of(s->table, ((const struct line *)row)->row);
}

/* Where the function had another name before, the table has both. */
static METRIC_GETTER(get_name)
{
	const struct diff_row *const r = ((const struct line *)row)->row;
	const struct sides *const sides = s->table;
	const char *const before = sides_func(sides, r->before, 0)->name;

	v->text = sides_func(sides, r->before, r->after)->name;
	if (!r->before || !r->after || strcmp(v->text, before) == 0)
		return;
	snprintf(v->room, sizeof(v->room), "%s (was %s)", v->text, before);
	v->brief = v->room;
}

/* In CSV all figures have as many decimals. On a narrow terminal the caller
 * goes first, then the language and the two figures. */
#define FIGURE(name, getter, ...) \
	{ name, METRIC_REAL, METRIC_SORTS | METRIC_DROP_EMPTY, \
	  .get = getter, .decimals = 3, __VA_ARGS__ }

static const struct metric metrics[] = {
	FIGURE("adds", get_added, .key = "added_ns",
	       .help = "time that the change adds to a session"),
	FIGURE("adds-error", get_error, .title = "\302\261",
	       .key = "added_error_ns", .help = "one standard error of that, "
	       "as far as samples and counts tell"),
	FIGURE("share", get_share,
	       .help = "adds as a share of the CPU time before. Waits: of the "
	       "CPU time and all waits. Sleep: of all sleep"),
	{ "because", METRIC_TEXT, 0, NULL, "reason", .get = get_reason,
	  .help = "what changed" },
	FIGURE("was", get_figure, .drop = 1,
	       .help = "before: calls in a session, or the time of one; of "
	       "what takes more, time in a session; if that did not change "
	       "so, calls for one of the caller's"),
	FIGURE("is", get_figure, .drop = 1, .help = "the same, after"),
	FIGURE("chance", get_chance,
	       .help = "probability that nothing changed"),
	METRIC_PLACE(struct line, func, "", ""),
	{ "caller", METRIC_TEXT, METRIC_DROP_EMPTY, "called by",
	  .get = get_caller, .drop = 2, .shrink = 12,
	  .help = "the caller that adds most" },
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  METRIC_AT(struct line, func), get_name, .shrink = 20,
	  .help = "the function that changed" },
	{ .name = NULL }
};

static const struct metric_view view = {
	metrics,
	"adds,adds-error,share,because,was,is,chance,language,caller,name",
	"adds,share,because,was,is,chance,name,language,module,file,line,"
	"caller,adds-error"
};

/* --fail-over is for scripts that guard against regressions: only it changes
 * the exit status. Raw times have a part of weft's, but it is about the same on
 * both sides, and they have no error of samples: they raise fewer false alarms
 * and find smaller changes. */
static const struct opt opts[] = {
	TABLE_TOP("rows to show", 20),
	{ .type = OPT_FLAG, .letter = 'a', .name = "all", .to = &args.all,
	  .help = "list changes that may be chance, too (over 5%)" },
	{ .type = OPT_FLAG, .name = "counts", .to = &arg_counts,
	  .help = "compare calls and distinct stacks alone, which are exact "
	  "on any machine" },
	{ .type = OPT_FLAG, .name = "heap", .to = &arg_heap,
	  .help = "compare the memory that functions take, of traces "
	  "recorded with weft record --heap" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min-share",
	  .arg = "PERCENT", .to = &args.min, .help = "leave out rows that add "
	  "or take less than this share of the time before (default: "
	  "0.1; with --counts, of the function's calls, with --heap, of "
	  "all memory: 0)" },
	{ .type = OPT_GROWTH, .name = "fail-over", .arg = "PERCENT",
	  .to = &args.limit, .help = "exit with status 4 if a single change "
	  "that is not chance adds more than this share of the time "
	  "before (see share; with --counts: of a function's calls, or of "
	  "its distinct stacks; with --heap: of what all functions had in "
	  "use, or took); times are compared as with --raw" },
	TABLE_OPTS(view),
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_net_opts },
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
			  metric_compare(table_args.sort, source, x, y);

	return order != 0 ? order : (x->row > y->row) - (x->row < y->row);
}

/* The rows that --min-share leaves. Sets *count, and *hidden to the number of
 * those that may be chance and are left out; the caller frees them. */
static struct line *find_lines(const struct sides *sides, size_t *count,
			       size_t *hidden)
{
	const struct diff *const d = sides->diff;
	struct line *const lines = mem_alloc((d->count + 1) * sizeof(*lines));
	struct metric_source source = { .table = sides };

	*count = *hidden = 0;
	for (const struct diff_row *r = d->rows; r < d->rows + d->count; r++) {
		*hidden += is_large(r) && !is_shown(r);
		if (is_large(r) && is_shown(r))
			lines[(*count)++] = (struct line){
				r, r->after ? r->after : r->before };
	}
	if (table_args.sort)
		qsort_r(lines, *count, sizeof(*lines), compare_lines, &source);
	return lines;
}

/* A row that --min-share leaves out is not counted as left: it is no change
 * worth a line. */
static void print_lines(const struct sides *sides, struct table *t)
{
	const size_t top = table_top(DIFF_TOP);
	size_t count, hidden;
	struct line *const lines = find_lines(sides, &count, &hidden);
	char changes[OUT_NUMBER];

	t->source.table = sides;
	table_begin(t);
	for (size_t i = 0; i < count && i < top; i++) {
		t->source.session = lines[i].row->after ?
			sides->after.session : sides->before.session;
		table_row(t, &lines[i]);
	}
	table_end(t);
	if (!t->csv && count == 0)
		printf("no function adds or takes %g%% or more%s\n",
		       args.min < 0 ? USUAL_MIN : args.min,
		       hidden > 0 ? ", but maybe by chance" : "");
	table_print_rest(count > top ? count - top : 0, "changes");
	if (hidden > 0)
		printf("%s may be chance, and %s not listed (--all lists "
		       "them)\n", out_number_many(changes, hidden, "changes"),
		       hidden == 1 ? "is" : "are");
	mem_free(lines);
}

/* Does one change add more than --fail-over allows? Changes that may be chance
 * do not count; those whose chance is not known (-1) do. The first one found is
 * named: rows come with the largest first. CMD_WORSE or CMD_OK. */
static enum cmd_exit judge(const struct sides *sides)
{
	const struct diff *const d = sides->diff;

	for (size_t i = 0; args.limit >= 0 && i < d->count; i++) {
		const struct diff_row *const row = &d->rows[i];

		if (row->chance > DIFF_CHANCE || row->share <= args.limit)
			continue;
		err_add("\"%s\" adds %.1f%% of the time before (%s); "
			"--fail-over allows %g%%",
			sides_func(sides, row->before, row->after)->name,
			row->share, diff_reason_words(row), args.limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

static enum cmd_exit compare_times(struct sides *sides, struct table *t)
{
	sides->diff = diff_new(sides->before.session, sides->after.session);
	print_times(sides);
	if (!t->csv)
		putchar('\n');
	print_lines(sides, t);
	return judge(sides);
}

/* ---- the command -------------------------------------------------------- */

/* The verdict comes after the table, which shows what it is about. */
static enum cmd_exit diff_run(int count, char **operands)
{
	struct table table = { .csv = table_args.csv };
	struct sides sides;
	enum cmd_exit status;

	if ((arg_counts || arg_heap) &&
	    (table_args.sort || table_args.columns)) {
		err_add("--%s has columns and an order of its own; leave out "
			"--%s", arg_heap ? "heap" : "counts",
			table_args.sort ? "sort" : "columns");
		return CMD_USAGE;
	}
	if (arg_counts && arg_heap) {
		err_add("--counts and --heap compare different things: leave "
			"out one of them");
		return CMD_USAGE;
	}
	load_want_heap(arg_heap);
	if (table_choose(&table, &view) != 0)
		return CMD_USAGE;
	status = sides_open(&sides, !arg_counts && !arg_heap && args.limit < 0,
			    count, operands);
	if (status == CMD_OK) {
		print_side(&sides.before, "before");
		print_side(&sides.after, "after");
		print_moved(&sides);
		status = arg_counts ? diff_counts(&sides, &args) :
			 arg_heap ? diff_heap(&sides, &args) :
			 compare_times(&sides, &table);
	}
	sides_close(&sides);
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
	"more; a call waits longer, or it waits in more calls; its\n"
	"coroutine sleeps longer; or it takes more, where calls tell nothing\n"
	"of that: Lua was sampled, or times are by a reference and calls did\n"
	"not change alike. A function that is called more often is charged\n"
	"with all that it calls; one whose calls cost more, only with its own\n"
	"code. Where both sides know times off the CPU, only the reasons of\n"
	"waits and sleep count them.\n"
	"\n"
	"Functions are the same if their build-id and offset are (Lua:\n"
	"source and lines); in another build, if their name and file are;\n"
	"if the file is another one, by name, or by their lines in a file\n"
	"of the same name, where that is clear.\n"
	"chance is the probability that sessions without a change differ as\n"
	"much: Welch's t-test, times the number of rows. Rows that may be\n"
	"chance (over 5%) are listed last, and only with --all or --csv. With\n"
	"fewer than two sessions on a side, chance is not known, and every\n"
	"change counts.\n"
	"\n"
	"A busy machine makes calls longer, never shorter. So if a difference\n"
	"of the means may be chance, but that of the fastest calls is not (in\n"
	"functions that call nothing and do not wait in every call), the\n"
	"fastest calls are compared (fastest).\n"
	"\n"
	"--counts compares no times: it lists the functions that are called\n"
	"more or less often, or from more or fewer distinct stacks. Of\n"
	"several sessions on a side, the ranges are compared: a row says that\n"
	"every session after has more calls than any before, or fewer.\n"
	"\n"
	"--heap compares memory: what functions had in use at the end, and\n"
	"what they took. Where samples of it were recorded, rows that may be\n"
	"chance (less than twice their standard errors) are left out.\n"
	"\n"
	"The exit status is 4 when --fail-over finds more than it allows.",
	.opts = opts,
	.run = diff_run,
	.is_judge = true,
};
