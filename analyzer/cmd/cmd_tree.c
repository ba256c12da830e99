/* cmd_tree.c - "weft tree": who called whom, native and Lua frames together, a
 * coroutine's on top of those that resumed it or by themselves.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/head.h"
#include "analyzer/core/merge.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

static double arg_min = 0.5;
static size_t arg_depth;
static int arg_root, arg_csv, arg_by_thread;

enum { ROOT_THREAD, ROOT_COROUTINE };
static const char *const roots[] = { "thread", "coroutine", NULL };

static const struct opt opts[] = {
	{ .type = OPT_SHARE, .letter = 'm', .name = "min", .arg = "SHARE",
	  .to = &arg_min,
	  .help = "leave out stacks of less than SHARE percent; "
	  "--csv shows all" },
	{ .type = OPT_NUMBER, .letter = 'd', .name = "depth", .arg = "N",
	  .to = &arg_depth, .help = "show N levels, 0 for all" },
	{ .type = OPT_CHOICE, .letter = 'r', .name = "root", .arg = "WHERE",
	  .to = &arg_root, .choices = roots, .help = "where a coroutine's "
	  "frames stand: on what resumed them, or below a root of their own" },
	{ .type = OPT_FLAG, .name = "by-thread", .to = &arg_by_thread,
	  .help = "a tree for each thread" },
	{ .type = OPT_FLAG, .name = "csv", .to = &arg_csv,
	  .help = "rows for scripts: full names, times in ns" },
	{ .type = OPT_MORE, .more = load_opts },
	{ .type = OPT_END }
};

static const struct out_column columns[] = {
	{ .title = "total", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "self", .align = OUT_RIGHT },
	{ .title = "suspended", .align = OUT_RIGHT, .drop = 2,
	  .drop_empty = 1 },
	{ .title = "calls", .align = OUT_RIGHT },
	{ .title = "lang", .align = OUT_LEFT },
	{ .title = "function", .align = OUT_LEFT, .shrink = 30 },
};

enum {
	COLUMNS = sizeof(columns) / sizeof(columns[0]),
	LEVELS_MAX = 60,    /* levels shown by indentation in a pipe, */
	LEVELS_LEAST = 8,   /* and on the narrowest terminal */
	WIDE = 120,         /* a terminal with room for 2 columns a level */
	NOT_INDENT = 70,    /* columns of a line that are not for that */
};

/* A walk down the tree. The stack is an array: a recursion can be a million
 * frames deep. */
struct level { node_id *children; size_t count, next; };

struct walk {
	struct session *session;
	struct cct *tree;
	uint64_t *total, *suspended;
	uint64_t whole;             /* total of all roots */
	struct level *levels;
	size_t depth, room;
	struct out_table *table;    /* NULL for --csv */
	struct out_csv csv;
	size_t width;               /* of the terminal; 0: none */
	size_t step, levels_shown;  /* columns a level; deeper ones than shown
	                             * are numbered instead */
	uint64_t left_out;
	int has_body;               /* a coroutine's body was shown */
};

static const char *node_name(const struct walk *w, const struct cct_node *node,
			     char *to, size_t size)
{
	const struct thread *t;

	if (node->func != 0)
		return func_get(w->session->funcs, node->func)->name;
	if (node->thread >= w->session->thread_count)
		return "[all threads]";
	t = &w->session->threads[node->thread];
	snprintf(to, size, "[thread %" PRIu32 "%s%s]", t->tid,
		 t->name[0] != '\0' ? " " : "", t->name);
	return to;
}

static void time_cell(const struct walk *w, ticks time)
{
	char text[OUT_NUMBER];

	out_table_cell(w->table, time == 0 ? "-" : out_number_time(text,
		       (double)session_ns(w->session, time)));
}

static void table_row(struct walk *w, node_id id)
{
	const struct cct_node *const node = cct_get(w->tree, id);
	const size_t level = w->depth - 1;
	const size_t indent = w->step * (level < w->levels_shown ? level :
					 w->levels_shown);
	char text[OUT_NUMBER], root[64], name[1024], mark[32] = "";

	w->has_body |= (node->flags & CCT_BODY) != 0;
	time_cell(w, w->total[id]);
	out_table_cell(w->table, out_number_share(text, w->total[id],
						  w->whole));
	time_cell(w, node->self);
	time_cell(w, w->suspended[id]);
	out_table_cell(w->table, node->func == 0 ? "-" :
		       out_number_count(text, node->calls));
	out_table_cell(w->table, node->func == 0 ? "" :
		       func_language(func_get(w->session->funcs, node->func)));
	if (level > w->levels_shown)
		snprintf(mark, sizeof(mark), "(%zu) ", level);
	snprintf(name, sizeof(name), "%*s%s%s%s", (int)indent, "", mark,
		 node->flags & CCT_BODY ? "~ " : "",
		 node_name(w, node, root, sizeof(root)));
	out_table_cell(w->table, name);
}

/* Ids of the merged tree: a node's parent has a smaller one. */
static void csv_row(struct walk *w, node_id id)
{
	const struct cct_node *const node = cct_get(w->tree, id);
	char root[64];

	out_csv_number(&w->csv, id);
	out_csv_number(&w->csv, node->parent);
	out_csv_number(&w->csv, w->depth - 1);
	if (node->func != 0) {
		head_csv_func(&w->csv, w->session, node->func);
	} else {
		out_csv_text(&w->csv, node_name(w, node, root, sizeof(root)));
		for (int i = 0; i < 3; i++)
			out_csv_text(&w->csv, "");
		out_csv_number(&w->csv, 0);
	}
	out_csv_number(&w->csv, (node->flags & CCT_BODY) != 0);
	out_csv_number(&w->csv, node->calls);
	out_csv_number(&w->csv, session_ns(w->session, node->self));
	out_csv_number(&w->csv, session_ns(w->session, w->total[id]));
	out_csv_number(&w->csv, session_ns(w->session, w->suspended[id]));
	out_csv_end(&w->csv);
}

static void push(struct walk *w, node_id parent)
{
	mem_need((void **)&w->levels, &w->room, w->depth + 1,
		 sizeof(*w->levels));
	w->levels[w->depth].children =
		merge_children(w->tree, parent, w->total,
			       &w->levels[w->depth].count);
	w->levels[w->depth++].next = 0;
}

static int is_shown(const struct walk *w, node_id id)
{
	return w->table == NULL ||
	       (double)w->total[id] * 100 >= arg_min * (double)w->whole;
}

static void visit(struct walk *w, node_id id)
{
	if (!is_shown(w, id)) {
		w->left_out++;
		return;
	}
	if (w->table != NULL)
		table_row(w, id);
	else
		csv_row(w, id);
	if (arg_depth == 0 || w->depth < arg_depth + 1)
		push(w, id);
}

static void walk(struct walk *w)
{
	for (push(w, 0); w->depth > 0; ) {
		struct level *const top = &w->levels[w->depth - 1];

		if (top->next < top->count) {
			visit(w, top->children[top->next++]);
		} else {
			mem_free(top->children);
			w->depth--;
		}
	}
	mem_free(w->levels);
}

/* Deep stacks leave room for names. */
static void set_indent(struct walk *w)
{
	w->width = out_table_terminal(stdout);
	w->step = w->width != 0 && w->width < WIDE ? 1 : 2;
	w->levels_shown = LEVELS_MAX;
	if (w->width != 0 && w->width < NOT_INDENT + LEVELS_MAX * w->step)
		w->levels_shown = w->width < NOT_INDENT + LEVELS_LEAST ?
			LEVELS_LEAST : (w->width - NOT_INDENT) / w->step;
}

static void print_table(struct walk *w)
{
	char count[OUT_NUMBER];

	set_indent(w);
	w->table = out_table_new(columns, COLUMNS);
	walk(w);
	if (w->whole > 0)
		out_table_print(w->table, stdout, w->width);
	out_table_free(w->table);
	if (w->left_out > 0)
		printf("... and %s of less than %g%% (--min 0 shows all)\n",
		       out_number_many(count, w->left_out, "branches"),
		       arg_min);
	if (w->has_body)
		puts("~ is the body of a coroutine");
}

static void tree(const struct load *load)
{
	const struct merge_options options = {
		arg_by_thread, arg_root == ROOT_COROUTINE, MERGE_ALL };
	struct walk w = { .session = load->session, .csv = { stdout, 0 } };
	size_t roots_count;
	node_id *root;

	w.tree = merge_tree(w.session, &options);
	w.total = mem_alloc((cct_count(w.tree) + 1) * sizeof(*w.total));
	w.suspended = mem_alloc((cct_count(w.tree) + 1) * sizeof(*w.total));
	cct_totals(w.tree, w.total, w.suspended);
	root = merge_children(w.tree, 0, w.total, &roots_count);
	for (size_t i = 0; i < roots_count; i++)
		w.whole += w.total[root[i]];
	mem_free(root);
	if (arg_csv) {
		head_print_losses(load);
		puts("node,parent,depth," HEAD_FUNC_COLUMNS ",is_body,calls,"
		     "self_ns,total_ns,suspended_ns");
		walk(&w);
	} else {
		head_print(stdout, load);
		print_table(&w);
	}
	mem_free(w.total);
	mem_free(w.suspended);
	cct_free(w.tree);
}

static enum cmd_exit run(int count, char **operands)
{
	struct load load;
	enum cmd_exit status = load_open(&load, count, operands);

	if (status == CMD_OK) {
		tree(&load);
		status = head_need_calls(&load);
	}
	load_close(&load);
	return status;
}

const struct cmd cmd_tree = {
	"tree", "DIR", "show who called whom, native and Lua together",
	"Reads the trace in the folder DIR and prints its calling-context\n"
	"tree: one line for each distinct stack, callees below their\n"
	"callers, the longest first. A coroutine's body, marked ~, stands\n"
	"on top of what resumed it, so that its time is part of the\n"
	"resumer's.\n"
	"\n"
	"--csv gives each line a node number and that of its parent (0:\n"
	"none).",
	opts, run
};
