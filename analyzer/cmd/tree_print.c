/* tree_print.c - the lines of a tree: how deep stacks and long names fit a
 * terminal, and what is left out.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/tree_print.h"

#include "analyzer/cmd/cells.h"
#include "analyzer/base/mem.h"
#include "analyzer/load/header.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_table.h"

#include <inttypes.h>
#include <string.h>

/* From the root down; from functions up, self comes before total. */
static const struct out_column columns[] = {
	{ .title = "total", .align = OUT_RIGHT },
	{ .title = "share", .align = OUT_RIGHT, .drop = 1 },
	{ .title = "self", .align = OUT_RIGHT },
	{ .title = "suspended", .align = OUT_RIGHT, .drop = 2,
	  .drop_empty = 1 },
	{ .title = "calls", .align = OUT_RIGHT },
	{ .title = "recursive", .align = OUT_RIGHT, .drop = 3,
	  .drop_empty = 1 },
	{ .title = "lang", .align = OUT_LEFT },
	{ .title = "function", .align = OUT_LEFT, .shrink = 30,
	  .is_name = 1 },
};

enum {
	COLUMNS = sizeof(columns) / sizeof(columns[0]),
	LEVELS_MAX = 60,    /* levels shown by indentation in a pipe, */
	LEVELS_LEAST = 8,   /* and on the narrowest terminal */
	WIDE = 120,         /* a terminal with room for 2 columns a level */
	NOT_INDENT = 70,    /* columns of a line that are not for that */
};

struct printer {
	const struct tree_print *p;
	struct out_column columns[COLUMNS];
	struct out_table *table;
	struct out_csv csv;
	size_t width;               /* of the terminal; 0: none */
	size_t step, levels_shown;  /* columns a level; deeper ones than shown
	                             * are numbered instead */
	uint64_t left_out, too_deep;
	int has_crossing;
};

static const char *row_name(const struct session *s,
			    const struct tree_row *row, char *to, size_t size)
{
	const struct thread *t;

	if (row->kind == TREE_FUNC)
		return func_get(s->funcs, row->func)->name;
	if (row->kind == TREE_OUTSIDE)
		return "[outside]";
	if (row->thread >= s->thread_count)
		return "[all threads]";
	t = &s->threads[row->thread];
	snprintf(to, size, "[thread %" PRIu32 "%s%s]", t->tid,
		 t->name[0] != '\0' ? " " : "", t->name);
	return to;
}

static void count_cell(const struct printer *w, uint64_t count, int is_known)
{
	char text[OUT_NUMBER];

	out_table_cell(w->table, is_known ? out_number_count(text, count) :
		       "-");
}

static void name_cell(const struct printer *w, const struct tree_row *row)
{
	const size_t indent = w->step * (row->depth < w->levels_shown ?
					 row->depth : w->levels_shown);
	char root[64], name[2048], depth[32] = "", levels[40] = "";

	if (row->depth > w->levels_shown)
		snprintf(depth, sizeof(depth), "(%zu) ", row->depth);
	if (row->levels > 1)
		snprintf(levels, sizeof(levels), " (%" PRIu32 " levels)",
			 row->levels);
	snprintf(name, sizeof(name), "%*s%s%s%s%s", (int)indent, "", depth,
		 row->crosses ? "~ " : "",
		 row_name(w->p->session, row, root, sizeof(root)), levels);
	out_table_cell(w->table, name);
}

static void table_row(struct printer *w, const struct tree_row *row)
{
	const int is_bottom_up = w->p->is_bottom_up;
	const ticks first = is_bottom_up ? row->self : row->total;
	struct session *const s = w->p->session;
	char text[OUT_NUMBER];

	w->has_crossing |= row->crosses;
	cells_time(w->table, s, first);
	out_table_cell(w->table, out_number_share(text, first, w->p->time));
	cells_time(w->table, s, is_bottom_up ? row->total : row->self);
	cells_time(w->table, s, row->suspended);
	count_cell(w, row->calls, row->kind == TREE_FUNC ||
		   row->calls != 0);
	count_cell(w, row->recursive, row->recursive != 0);
	out_table_cell(w->table, row->kind != TREE_FUNC ? "" :
		       func_language(func_get(s->funcs, row->func)));
	name_cell(w, row);
}

static int is_enough(const struct tree_print *p, const struct tree_row *row)
{
	const enum tree_key key = p->is_bottom_up && row->kind != TREE_ROOT ?
				  p->key : TREE_TOTAL;
	const uint64_t whole = key == TREE_CALLS ? p->calls : p->time;

	return (double)tree_walk_value(row, key) * 100 >=
	       p->min * (double)whole;
}

/* A stack's end tells nothing where there is no other way up. */
static int visit_table(void *ctx, const struct tree_row *row)
{
	struct printer *const w = ctx;
	const size_t depth = w->p->depth;

	if (row->kind == TREE_OUTSIDE && row->depth > 1 && !row->crosses &&
	    row->siblings == 1)
		return 0;
	if (!is_enough(w->p, row)) {
		w->left_out++;
		return 0;
	}
	table_row(w, row);
	if (depth == 0 || row->depth < depth)
		return 1;
	w->too_deep += row->kind == TREE_FUNC;
	return 0;
}

static int visit_csv(void *ctx, const struct tree_row *row)
{
	struct printer *const w = ctx;
	struct session *const s = w->p->session;
	char root[64];

	out_csv_number(&w->csv, row->number);
	out_csv_number(&w->csv, row->parent);
	out_csv_number(&w->csv, row->depth);
	cells_csv_func_or(&w->csv, s, row->func,
		     row_name(s, row, root, sizeof(root)));
	out_csv_number(&w->csv, row->crosses != 0);
	out_csv_number(&w->csv, row->calls);
	out_csv_number(&w->csv, session_ns(s, row->self));
	out_csv_number(&w->csv, session_ns(s, row->total));
	out_csv_number(&w->csv, session_ns(s, row->suspended));
	out_csv_number(&w->csv, row->recursive);
	out_csv_number(&w->csv, row->levels);
	out_csv_end(&w->csv);
	return w->p->depth == 0 || row->depth < w->p->depth;
}

/* Deep stacks leave room for names. */
static void set_indent(struct printer *w)
{
	w->width = out_table_terminal(stdout);
	w->step = w->width != 0 && w->width < WIDE ? 1 : 2;
	w->levels_shown = LEVELS_MAX;
	if (w->width != 0 && w->width < NOT_INDENT + LEVELS_MAX * w->step)
		w->levels_shown = w->width < NOT_INDENT + LEVELS_LEAST ?
			LEVELS_LEAST : (w->width - NOT_INDENT) / w->step;
}

static void set_columns(struct printer *w)
{
	memcpy(w->columns, columns, sizeof(columns));
	if (!w->p->is_bottom_up)
		return;
	w->columns[0].title = "self";
	w->columns[2].title = "total";
	w->columns[COLUMNS - 1].title = "function, its callers";
}

static void print_rest(const struct printer *w)
{
	char count[OUT_NUMBER];

	if (w->left_out > 0)
		printf("... and %s of less than %g%% (--min 0 shows all)\n",
		       out_number_many(count, w->left_out, "branches"),
		       w->p->min);
	if (w->too_deep > 0 && !w->p->depth_is_given)
		printf("... and %s of more than %zu levels (--depth 0 shows "
		       "all)\n", out_number_many(count, w->too_deep,
						 "branches"), w->p->depth);
	if (w->has_crossing)
		puts(w->p->is_bottom_up ?
		     "~ resumed the coroutine whose body it stands below" :
		     "~ is the body of a coroutine");
}

void tree_print_table(const struct tree_print *p)
{
	struct printer w = { .p = p };

	set_indent(&w);
	set_columns(&w);
	w.table = out_table_new(w.columns, COLUMNS);
	tree_walk_each(&p->view, p->key, visit_table, &w);
	if (p->time > 0)
		out_table_print(w.table, stdout, w.width);
	out_table_free(w.table);
	print_rest(&w);
}

void tree_print_csv(const struct tree_print *p)
{
	struct printer w = { .p = p, .csv = { stdout, 0 } };

	printf("node,parent,depth," CELLS_FUNC_COLUMNS ",%s,calls,self_ns,"
	       "total_ns,suspended_ns,recursive,levels\n",
	       p->is_bottom_up ? "resumes" : "is_body");
	tree_walk_each(&p->view, p->key, visit_csv, &w);
}
