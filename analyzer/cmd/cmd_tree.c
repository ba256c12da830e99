/* cmd_tree.c - "weft tree": who called whom, native and Lua frames together, a
 * coroutine's on top of those that resumed it or by themselves; from the root
 * down, or from each function up.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/cmd.h"
#include "analyzer/load/header.h"
#include "analyzer/cmd/tree_print.h"
#include "analyzer/tables/bottom_up.h"
#include "analyzer/model/cct.h"
#include "analyzer/tables/top_down.h"

#include <stdint.h>

static double arg_min = 0.5;
static size_t arg_depth = SIZE_MAX;
static int arg_root, arg_fold;
static bool arg_csv, arg_by_thread, arg_bottom_up;
static int arg_sort = -1;

enum { ROOT_THREAD, ROOT_COROUTINE };
static const char *const roots[] = { "thread", "coroutine", NULL };
/* As enum recursion_kind and enum tree_key. */
static const char *const folds[] = { "direct", "all", "none", NULL };
static const char *const sort_keys[] = {
	"total", "self", "wall", "suspended", "calls", NULL
};

/* Stacks have an end; their callers, one by one, can be very many. */
enum { BOTTOM_UP_DEPTH = 100 };

static const struct opt opts[] = {
	{ .type = OPT_FLAG, .letter = 'b', .name = "bottom-up",
	  .to = &arg_bottom_up,
	  .help = "functions by self time, below each its callers" },
	{ .type = OPT_CHOICE, .letter = 's', .name = "sort", .arg = "KEY",
	  .to = &arg_sort, .choices = sort_keys, .help = "what comes first; "
	  "without it total, or self with --bottom-up" },
	{ .type = OPT_SHARE, .letter = 'm', .name = "min", .arg = "SHARE",
	  .to = &arg_min, .help = "leave out branches of less than SHARE "
	  "percent (with --bottom-up: of what they are sorted by); --csv "
	  "shows all" },
	{ .type = OPT_NUMBER, .letter = 'd', .name = "depth", .arg = "N",
	  .to = &arg_depth, .help = "show N levels, 0 for all; without it "
	  "all, or 100 in a --bottom-up table" },
	{ .type = OPT_CHOICE, .letter = 'f', .name = "fold", .arg = "WHAT",
	  .to = &arg_fold, .choices = folds, .help = "show recursion once: "
	  "a function's calls of itself, or also those by way of others" },
	{ .type = OPT_CHOICE, .letter = 'r', .name = "root", .arg = "WHERE",
	  .to = &arg_root, .choices = roots, .help = "where a coroutine's "
	  "frames stand: on what resumed them, or below a root of their own" },
	{ .type = OPT_FLAG, .name = "by-thread", .to = &arg_by_thread,
	  .help = "a tree for each thread" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = filter_opts },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static void set_limits(struct tree_print *p)
{
	p->is_bottom_up = arg_bottom_up;
	p->key = arg_sort >= 0 ? (enum tree_key)arg_sort :
		 arg_bottom_up ? TREE_SELF : TREE_TOTAL;
	p->min = arg_min;
	p->depth_is_given = arg_depth != SIZE_MAX;
	p->depth = p->depth_is_given ? arg_depth :
		   arg_bottom_up && !arg_csv ? BOTTOM_UP_DEPTH : 0;
}

static void set_whole(struct tree_print *p, struct cct *tree)
{
	for (node_id id = 1; id <= cct_count(tree); id++) {
		p->time += cct_get(tree, id)->self;
		p->calls += cct_get(tree, id)->calls;
	}
}

static void print(const struct load *load, const struct tree_print *p)
{
	if (arg_csv) {
		header_print_losses(load);
		tree_print_csv(p);
	} else {
		header_print(stdout, load);
		tree_print_table(p);
	}
}

static void tree(const struct load *load)
{
	const struct cct_reroot options = {
		arg_by_thread, arg_root == ROOT_COROUTINE, CCT_ALL_THREADS };
	const size_t functions = func_count(load->session->funcs);
	struct cct *const merged = cct_reroot(load->session->cct, &options);
	struct recursion *const fold = recursion_new(merged,
						     (enum recursion_kind)arg_fold,
					   functions);
	struct top_down *const down = arg_bottom_up ? NULL :
				      top_down_new(fold);
	struct bottom_up *const up = arg_bottom_up ?
				     bottom_up_new(fold, functions) : NULL;
	struct tree_print p = {
		.session = load->session,
		.view = up != NULL ? bottom_up_view(up) : top_down_view(down)
	};

	set_limits(&p);
	set_whole(&p, fold->tree);
	print(load, &p);
	top_down_free(down);
	bottom_up_free(up);
	recursion_free(fold);
	cct_free(merged);
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK) {
		tree(&load);
		status = header_need_calls(&load);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_tree = {
	.name = "tree",
	.args = "TRACE...",
	.summary = "show who called whom, native and Lua together",
	.about =
	"Reads traces or profiles (several are merged) and prints their\n"
	"calling-context tree: one line for each distinct stack, callees\n"
	"below their callers, the longest first. A coroutine's body, marked\n"
	"~, stands on top of what resumed it, so that its time is part of\n"
	"the resumer's.\n"
	"\n"
	"--bottom-up turns it around: functions by self time, below each\n"
	"what called it, and what called that. A line's figures are the\n"
	"function's own, as far as it was called that way, and the sum of\n"
	"those in the lines below; ~ marks a resumer instead of a caller,\n"
	"[outside] where stacks begin.\n"
	"\n"
	"A function that calls itself stands in one line, with the number\n"
	"of levels folded into it. recursive are the calls that began while\n"
	"the function was open already.\n"
	"\n"
	"--csv gives each line a node number and that of its parent (0:\n"
	"none), is_body (--bottom-up: resumes) where there would be a ~.",
	.opts = opts,
	.run = run,
};
