/* diff_counts.c - "weft diff --counts": which functions are called more or less
 * often, or from more or fewer stacks. SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/diff/diff.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/load/completeness.h"
#include "analyzer/merge/counts.h"
#include "analyzer/out/out_number.h"

#include <math.h>
#include <stdlib.h>

/* A row of --counts: its function, in the session of the side that it is of. */
struct count_line { func_id func; const struct counts_row *row; };

static const struct counts_row *counts_of(const void *line)
{
	return ((const struct count_line *)line)->row;
}

/* was, is: calls in one session. Where they vary, the table has the range. */
static METRIC_GETTER(get_calls)
{
	const struct counts_side *const side =
		&counts_of(row)->side[m->name[0] == 'i'];
	char least[OUT_NUMBER], most[OUT_NUMBER];

	v->count = m->name[0] == 'i' ? side->least : side->most;
	if (side->least == side->most)
		return;
	metric_show(v, "%s-%s", out_number_count(least, side->least),
		    out_number_count(most, side->most));
}

static METRIC_GETTER(get_stacks)
{
	v->count = counts_of(row)->side[m->name[7] == 'i'].stacks;
}

/* What differs, with its sign. */
static METRIC_GETTER(get_change)
{
	const struct counts_row *const r = counts_of(row);
	const bool by_calls = r->change != 0;
	const int64_t more = by_calls ? r->change : r->stacks;
	char count[OUT_NUMBER];

	metric_show(v, "%s%s%s", more < 0 ? "-" : "+",
		    out_number_count(count, (uint64_t)llabs(more)),
		    by_calls ? "" : llabs(more) == 1 ? " stack" : " stacks");
}

static const struct metric count_metrics[] = {
	{ "change", METRIC_TEXT, 0, .get = get_change, .help = "what differs" },
	{ "was", METRIC_COUNT, 0, NULL, "calls_was", .get = get_calls,
	  .help = "calls a session, before" },
	{ "is", METRIC_COUNT, 0, NULL, "calls_is", .get = get_calls,
	  .help = "calls a session, after" },
	{ "stacks-was", METRIC_COUNT, 0, "stacks", .get = get_stacks,
	  .help = "distinct stacks, before" },
	{ "stacks-is", METRIC_COUNT, 0, "are", .get = get_stacks,
	  .help = "distinct stacks, after" },
	METRIC_PLACE(struct count_line, func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  METRIC_AT(struct count_line, func), metric_function, .shrink = 20,
	  .help = "the function" },
	{ .name = NULL }
};

static const struct metric_view count_view = {
	count_metrics, "change,was,is,stacks-was,stacks-is,language,file,name",
	"was,is,stacks-was,stacks-is,name,language,module,file,line"
};

static void print_counts(const struct counts *c)
{
	char was[OUT_NUMBER], is[OUT_NUMBER];
	const double before = (double)c->calls[0] / (double)c->sessions[0];
	const double after = (double)c->calls[1] / (double)c->sessions[1];

	table_note("a session's calls: %s before, %s after (%+.3g%%)",
		   out_number_count(was, (uint64_t)(before + 0.5)),
		   out_number_count(is, (uint64_t)(after + 0.5)),
		   before > 0 ? 100 * (after / before - 1) : 0);
	table_note("distinct stacks: %s before, %s after",
		   out_number_count(was, c->stacks[0]),
		   out_number_count(is, c->stacks[1]));
}

static bool is_enough(const struct counts_row *r, double min)
{
	const uint64_t most = r->side[0].most;

	return min <= 0 || most == 0 || !r->change ||
	       100 * (double)llabs(r->change) >= min * (double)most;
}

static void print_count_lines(const struct sides *sides,
			      const struct counts *c,
			      const struct diff_args *args)
{
	struct table t = { .csv = table_args.csv };
	const size_t top = table_top(DIFF_TOP);
	size_t shown = 0, left = 0;

	table_choose_fixed(&t, &count_view, NULL);
	table_begin(&t);
	for (const struct counts_row *r = c->rows; r < c->rows + c->count;
	     r++) {
		const bool is_after = r->side[1].func != 0;

		if (!is_enough(r, args->min) || shown >= top) {
			left += is_enough(r, args->min);
			continue;
		}
		t.source.session = is_after ? sides->after.session :
					      sides->before.session;
		table_row(&t, &(struct count_line){
			r->side[is_after].func, r });
		shown++;
	}
	table_end(&t);
	if (!t.csv && shown == 0)
		puts("every function is called as often as before");
	table_print_rest(left, "changes");
}

/* What was lost was not counted, so it cannot be told from what was not
 * called. */
static enum cmd_exit check_complete(const struct load *load, const char *side)
{
	if (completeness_each(load, NULL, NULL) == 0)
		return CMD_OK;
	err_add("--fail-over cannot judge: the counts of the side %s are not "
		"exact, see its \"lost\" lines; record it again with "
		"--on-full wait, or with --count-only", side);
	return CMD_UNREADABLE;
}

/* Rows come with the largest number first, which need not be the largest
 * share. */
static enum cmd_exit judge_counts(const struct sides *sides,
				  const struct counts *c, double limit)
{
	const struct counts_row *worst = NULL;
	char was[OUT_NUMBER], is[OUT_NUMBER];

	for (size_t i = 0; i < c->count; i++)
		if (counts_growth(&c->rows[i]) > limit &&
		    (!worst || counts_growth(&c->rows[i]) >
			       counts_growth(worst)))
			worst = &c->rows[i];
	if (!worst)
		return CMD_OK;
	const bool by_calls = worst->change > 0;
	const struct counts_side *const x = worst->side;

	err_add("\"%s\" %s %s, %s before; --fail-over allows %g%% more",
		sides_func(sides, x[0].func, x[1].func)->name,
		by_calls ? "is called" : "has distinct stacks:",
		by_calls ? out_number_many(is, x[1].least, "times") :
			   out_number_count(is, x[1].stacks),
		out_number_count(was, by_calls ? x[0].most : x[0].stacks),
		limit);
	return CMD_WORSE;
}

enum cmd_exit diff_counts(const struct sides *sides,
			  const struct diff_args *args)
{
	struct counts *const c = counts_new(sides->before.session,
					    sides->after.session);
	enum cmd_exit status = CMD_OK;

	print_counts(c);
	if (!table_args.csv)
		putchar('\n');
	print_count_lines(sides, c, args);
	if (args->limit >= 0)
		status = check_complete(&sides->before, "before");
	if (args->limit >= 0 && status == CMD_OK)
		status = check_complete(&sides->after, "after");
	if (args->limit >= 0 && status == CMD_OK)
		status = judge_counts(sides, c, args->limit);
	counts_free(c);
	return status;
}
