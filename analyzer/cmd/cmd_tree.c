/* cmd_tree.c - "weft tree": who called whom, native and Lua frames together,
 * from the root down or from each function up. The folder tables makes the
 * rows; this file says which of them are worth a line.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/ranking.h"
#include "analyzer/cmd/shared/reading.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/bottom_up.h"

#include <string.h>

/* The options. -1 and SIZE_MAX: not given; without --sort, cmd/ranking
 * chooses. */
static double arg_min = -1;
static size_t arg_depth = SIZE_MAX;
static int arg_root, arg_recursion;
static bool arg_bottom_up;

/* Values of --root: where the body of a coroutine hangs. */
enum { ROOT_THREAD, ROOT_COROUTINE };
static const char *const roots[] = {
	[ROOT_THREAD] = "thread", [ROOT_COROUTINE] = "coroutine", NULL
};

/* Values of --recursion, by enum recursion_kind. */
static const char *const recursions[] = {
	[RECURSION_DIRECT] = "direct", [RECURSION_ALL] = "all",
	[RECURSION_NONE] = "none", NULL
};

/* The defaults of --depth and of the sort key depend on --bottom-up, so they
 * are not in the rows; choose sets them. */
static const struct opt opts[] = {
	{ .type = OPT_FLAG, .name = "bottom-up", .to = &arg_bottom_up,
	  .help = "functions, below each its callers" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min-share",
	  .arg = "PERCENT", .to = &arg_min, .help = "leave out rows below this "
	  "share of the total, or with --bottom-up of the sort key "
	  "(default: 0.5; with --csv, 0)" },
	{ .type = OPT_NUMBER, .letter = 'd', .name = "depth", .arg = "N",
	  .to = &arg_depth, .help = "levels to show, 0 for all (default: all; "
	  "in a --bottom-up table, 100)" },
	{ .type = OPT_CHOICE, .name = "recursion", .arg = "WHAT",
	  .to = &arg_recursion, .choices = recursions, .help = "which "
	  "recursive calls share a row with the outer call: direct ones, all "
	  "(also through other functions), or none" },
	{ .type = OPT_CHOICE, .letter = 'r', .name = "root", .arg = "WHERE",
	  .to = &arg_root, .choices = roots, .help = "put a coroutine's frames "
	  "below what resumed it, or below a root of their own" },
	TABLE_OF_EACH("a tree"),
	{ .type = OPT_MORE, .more = ranking_opts },
	TABLE_OPTS_FIRST(tree_views[METRIC_BY_TIME],
			 "total-cpu if context switches are known, else total; "
			 "with --bottom-up, cpu or self"),
	{ .type = OPT_END }
};

static const struct metric_view *views(void)
{
	return arg_bottom_up ? tree_bottom_up_views : tree_views;
}

enum {
	LEVELS_MAX = 60,    /* levels shown by indentation in a pipe, */
	LEVELS_LEAST = 8,   /* and on the narrowest terminal */
	WIDE = 120,         /* a terminal with room for 2 columns a level */
	NOT_INDENT = 70,    /* columns of a line that are not for that */
	BOTTOM_UP_DEPTH = 100, /* stacks have an end; their callers, one by
	                     * one, can be very many */
};

/* What is printed, and what was left out so far; the context of visit. */
struct printer {
	struct table table;
	/* What the columns need: the whole that shares are parts of, and the
	 * indentation. The table's source points to it. */
	struct tree_style style;
	struct ranking ranking;     /* the order of siblings */
	size_t depth;               /* levels to show; SIZE_MAX: all */
	uint64_t left_out, too_deep; /* rows */
	/* Was a row printed that has a ~, so that the legend must explain
	 * it? */
	bool has_crossing;
};

/* What the values of a metric are parts of. */
static ticks whole_of(const struct figures *whole, const struct metric *m)
{
	struct metric_value v;

	if (m->flags & METRIC_HEAP) {
		metric_get(m, NULL, whole, &v);
		return v.count;
	}
	return m->unit == METRIC_COUNT ? whole->calls :
	       !(m->flags & METRIC_SWITCHES) ? whole->self :
	       strstr(m->name, "run-wait") ? whole->ready :
	       strstr(m->name, "off-cpu") ? whole->off :
	       strstr(m->name, "blocked") ?
	       figures_blocked(whole->off, whole->ready) : whole->cpu;
}

/* Is the row's value at least --min-share of the whole? */
static bool is_part(const struct printer *p, const struct tree_row *row,
		    const struct metric *m)
{
	struct metric_value v;

	metric_get(m, &p->table.source, row, &v);
	return (double)v.count * 100 >=
	       arg_min * (double)whole_of(&p->style.whole, m);
}

/* Top down the share is that of the total time, or of what rows are ranked by.
 * Bottom up a row's total overlaps with others', so the share is that of the
 * sort key; the roots count with their total there, too. Rows that are ranked
 * by memory need a share of that. */
static bool is_enough(const struct printer *p, const struct tree_row *row)
{
	const struct metric *const total = metric_find(tree_views, "total");
	const struct metric *const sort = p->ranking.sort;

	if (arg_bottom_up && row->kind != TREE_ROOT)
		return is_part(p, row, sort);
	if (sort->flags & METRIC_HEAP)
		return is_part(p, row, strstr(sort->name, "in-use") ?
			       metric_find(tree_views, "total-in-use") :
			       metric_find(tree_views, "total-allocated"));
	return is_part(p, row, total) ||
	       (p->ranking.by != METRIC_BY_TIME &&
		is_part(p, row, p->ranking.first));
}

/* Where a stack begins is worth a row only if there are several ways up from
 * the row above, or if a coroutine was resumed from there. */
static bool is_plain_end(const struct tree_row *row)
{
	return row->kind == TREE_OUTSIDE && row->depth > 1 && !row->crosses &&
	       row->siblings == 1;
}

/* Print a row of the tree; false: leave out the rows below it. A row below
 * --min-share takes its branch along: top down, no row of that has a larger
 * share. */
static bool visit(void *ctx, const struct tree_row *row)
{
	struct printer *const p = ctx;

	if (!p->table.csv && is_plain_end(row))
		return false;
	if (!is_enough(p, row)) {
		p->left_out++;
		return false;
	}
	p->has_crossing |= row->crosses;
	table_row(&p->table, row);
	if (row->depth < p->depth)
		return true;
	p->too_deep += row->kind == TREE_FUNC;
	return false;
}

/* How far rows are indented. Deep stacks leave room for names: a narrow
 * terminal gets a step of one column, and fewer levels that are shown by it. In
 * a pipe (width 0) nothing is narrow. */
static void set_indent(struct tree_style *s)
{
	const size_t width = out_table_terminal(stdout);

	s->step = width != 0 && width < WIDE ? 1 : 2;
	s->levels_shown = LEVELS_MAX;
	if (width != 0 && width < NOT_INDENT + LEVELS_MAX * s->step)
		s->levels_shown = width < NOT_INDENT + LEVELS_LEAST ?
			LEVELS_LEAST : (width - NOT_INDENT) / s->step;
}

/* What was left out, and what the ~ means. A branch counts once, however many
 * rows it has. Levels beyond --depth are told only if the depth was chosen
 * here, not by the user. */
static void print_rest(const struct printer *p)
{
	char count[OUT_NUMBER];

	if (p->left_out > 0)
		printf("... and %s of less than %g%% (--min-share 0 shows "
		       "all)\n", out_number_many(count, p->left_out,
						 "branches"), arg_min);
	if (p->too_deep > 0 && arg_depth == SIZE_MAX)
		printf("... and %s of more than %zu levels (--depth 0 shows "
		       "all)\n", out_number_many(count, p->too_deep,
						 "branches"), p->depth);
	if (p->has_crossing)
		puts(arg_bottom_up ?
		     "~ resumed the coroutine whose body it stands below" :
		     "~ is the body of a coroutine");
}

/* A tree without any time has no shares, and is not printed. */
static void print_rows(struct printer *p, const struct tree_source *rows)
{
	set_indent(&p->style);
	table_begin(&p->table);
	tree_each(rows, p->ranking.sort, visit, p);
	if (p->style.whole.self == 0)
		p->table.count = 0;
	table_end(&p->table);
	if (!p->table.csv)
		print_rest(p);
}

/* What shares are parts of: the time and the calls of all nodes. The nodes are
 * those after recursion was folded, which changes neither sum. */
static void set_whole(struct printer *p, struct cct *tree)
{
	p->style.is_bottom_up = arg_bottom_up;
	for (node_id id = 1; id <= cct_count(tree); id++)
		figures_add_own(&p->style.whole, tree, id);
	p->style.whole.total_heap = p->style.whole.heap;
}

/* Where calls were only counted, they take the place of times: a total is that
 * of all calls below, and shares are of calls. */
static void count_calls(struct cct *tree)
{
	for (node_id id = 1; id <= cct_count(tree); id++)
		cct_get(tree, id)->self = cct_get(tree, id)->calls;
}

static struct recursion *recursion_of(const struct load *load,
				      struct cct *merged, size_t functions)
{
	if (!session_has_times(load->session))
		count_calls(merged);
	return recursion_new(merged, (enum recursion_kind)arg_recursion,
			     functions);
}

static void print_head(const struct load *load, struct printer *p)
{
	reading_begin_header(load);
	ranking_note(&p->ranking, load->session);
	if (p->table.csv)
		return;
	putchar('\n');
	if (!p->ranking.has_switches)
		metric_remove(&p->table.columns, METRIC_SWITCHES);
}

/* Three steps from the session's tree to rows: reroot it (--tables, --root),
 * fold recursion (--recursion), and read it from the root down or from each
 * function up. What the steps make is freed in reverse. */
static void tree(const struct load *load, struct printer *p)
{
	const struct cct_reroot options = {
		table_args_are_many(), arg_root == ROOT_COROUTINE,
		CCT_ALL_THREADS };
	const size_t functions = func_count(load->session->funcs);
	struct cct *const merged = cct_reroot(load->session->cct, &options);
	struct recursion *const recursion = recursion_of(load, merged,
							 functions);
	struct top_down *const down = arg_bottom_up ? NULL :
				      top_down_new(recursion);
	struct bottom_up *const up = arg_bottom_up ?
		bottom_up_new(recursion, functions) : NULL;
	const struct tree_source rows = up ? bottom_up_source(up) :
					top_down_source(down);

	p->table.source = (struct metric_source){
		load->session, &p->style, p->ranking.has_switches };
	set_whole(p, recursion->tree);
	print_head(load, p);
	print_rows(p, &rows);
	top_down_free(down);
	bottom_up_free(up);
	recursion_free(recursion);
	cct_free(merged);
}

/* The depth and the columns depend on the direction: bottom up, the rows below
 * a function are its callers, and the titles say so. The usual columns depend
 * on what the trace holds, too. 0, or -1 with the cause in the chain. */
static int choose(struct printer *p)
{
	struct metric_columns *const c = &p->table.columns;
	const struct metric_choice choice = {
		.names = table_args.columns, .sort = table_args.sort,
		.csv = table_args.csv };

	/* Top down all levels are shown. Bottom up there can be very many: see
	 * BOTTOM_UP_DEPTH. */
	p->depth = arg_depth != SIZE_MAX ? arg_depth :
		   arg_bottom_up && !table_args.csv ? BOTTOM_UP_DEPTH : 0;
	if (p->depth == 0)
		p->depth = SIZE_MAX;
	if (metric_choose(c, &views()[p->ranking.by], &choice) != 0)
		return -1;
	if (arg_bottom_up) {
		metric_rename(c, "name", "function, its callers", NULL);
		metric_rename(c, "is-body", "resumes", "resumes");
	}
	return 0;
}

/* Only for mistakes in the options: the usual columns depend on the trace. */
static int tree_prepare(struct reading *r)
{
	struct printer p = { .table = r->table };

	if (arg_min < 0)
		arg_min = r->table.csv ? 0 : 0.5;
	if (choose(&p) != 0)
		return -1;
	r->table.columns = p.table.columns;
	return 0;
}

/* The tree is printed even if it holds no call, for the sake of its header; the
 * exit status says that then. */
static enum cmd_exit tree_print(struct reading *r)
{
	struct printer p = { .table = { .csv = r->table.csv } };

	if (ranking_choose(&p.ranking, r->load.session, views(),
			   table_args.sort) != 0 || choose(&p) != 0)
		return CMD_USAGE;
	if (ranking_check(&p.ranking) != 0)
		return CMD_UNREADABLE;
	tree(&r->load, &p);
	return header_need_calls(&r->load);
}

const struct cmd cmd_tree = {
	.name = "tree",
	.args = "TRACE...",
	.summary = "show who called whom, native and Lua together",
	.about =
	"Reads traces or profiles (several are merged) and prints their\n"
	"calling-context tree: one line for each distinct stack, callees\n"
	"below their callers, the longest first. A coroutine's body, marked\n"
	"~, is below what resumed it, so that its time is part of the\n"
	"resumer's.\n"
	"\n"
	"Where the trace holds the kernel's context switches, callees are\n"
	"ranked by time on the CPU; --sort total ranks them by all time,\n"
	"--waiting by the time blocked.\n"
	"\n"
	"--bottom-up turns the tree around: it lists functions by their own\n"
	"time, below each its callers, and below these their callers. The\n"
	"figures in a caller's line are not the caller's: they are those of\n"
	"the function at the top, for the calls that came this way, and the\n"
	"sum of those in the lines below. ~ marks a resumer instead of a\n"
	"caller; [outside] is where stacks begin.\n"
	"\n"
	"A function that calls itself has one line, which shows the number of\n"
	"levels. recursive counts calls that began while the function was\n"
	"already open.\n"
	"\n"
	"In CSV, is_body is 1 where the table has a ~ (with --bottom-up, the\n"
	"column is resumes).",
	.opts = opts,
	.has_net = true,
	.prepare = tree_prepare,
	.print = tree_print,
};
