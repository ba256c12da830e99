/* tree.c - rows are made as they are needed, and nothing here recurses: stacks
 * may be a million frames deep.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/tree.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- recursion ---------------------------------------------------------- */

/* The node above that this one's figures go to, or 0: it keeps its place.
 * Another coroutine's call of the function is no recursion: its stack would be
 * torn apart. */
static node_id target(struct cct *cct, const struct cct_path *p, node_id id,
		      enum recursion_kind kind)
{
	const node_id same = p->same[id];

	if (kind == RECURSION_NONE || same == 0 || p->body[same] != p->body[id])
		return 0;
	return kind == RECURSION_ALL || same == cct_get(cct, id)->parent ?
	       same : 0;
}

/* By old node: its new node, and how many calls of its function on the path
 * went to that one, this call included. */
struct moved { node_id to; uint32_t level; };

/* Add the figures of a node to the node `into`, or to a new place. */
static void move(struct recursion *r, struct moved *moved, struct cct *from,
		 node_id id, node_id into)
{
	const struct cct_node *const n = cct_get(from, id);
	struct moved *const m = &moved[id];

	if (into != 0)
		*m = (struct moved){ moved[into].to, moved[into].level + 1 };
	else if (n->parent == 0)
		*m = (struct moved){ cct_root(r->tree, n->thread), 1 };
	else
		*m = (struct moved){ cct_child(r->tree, moved[n->parent].to,
					       n->func, n->flags), 1 };
	assert(m->to != 0 && m->level > 0);
	r->levels[m->to] = MAX(m->level, r->levels[m->to]);
	cct_add(r->tree, m->to, from, id);
}

struct recursion *recursion_new(struct cct *cct, enum recursion_kind kind,
				size_t functions)
{
	const size_t count = cct_count(cct);
	struct recursion *const r = mem_alloc(sizeof(*r));
	struct cct_path *const p = cct_path_new(cct, functions);
	struct moved *const moved = mem_alloc((count + 1) * sizeof(*moved));

	r->tree = cct_new(SIZE_MAX);
	cct_collect_as(r->tree, cct);
	r->recursive = mem_alloc((count + 1) * sizeof(*r->recursive));
	r->levels = mem_alloc((count + 1) * sizeof(*r->levels));
	/* Parents come before their children. */
	for (node_id id = 1; id <= count; id++) {
		move(r, moved, cct, id, target(cct, p, id, kind));
		if (!cct_path_is_outermost(p, id))
			r->recursive[moved[id].to] += cct_get(cct, id)->calls;
	}
	mem_free(moved);
	cct_path_free(p);
	return r;
}

void recursion_free(struct recursion *r)
{
	if (!r)
		return;
	cct_free(r->tree);
	mem_free_all(r->recursive, r->levels, r);
}

/* ---- rows, from the top down -------------------------------------------- */

/* The rows below one row, and which of them comes next. */
struct tree_rows { struct tree_row *row; size_t count, room, next; };

struct tree_row *tree_add(struct tree_rows *rows)
{
	struct tree_row *const row =
		vec_add(&rows->row, &rows->room, &rows->count);

	memset(row, 0, sizeof(*row));
	return row;
}

/* Totals are made once, for the whole tree; rows when they are asked for. */
struct top_down {
	const struct recursion *recursion;
	struct node_totals totals;
};

struct top_down *top_down_new(const struct recursion *r)
{
	struct top_down *const t = mem_alloc(sizeof(*t));

	t->recursion = r;
	node_totals_init(&t->totals, r->tree);
	return t;
}

void top_down_free(struct top_down *t)
{
	if (!t)
		return;
	node_totals_fini(&t->totals);
	mem_free(t);
}

/* A row's `from` is its node. */
static void add(void *of, const struct tree_row *parent, struct tree_rows *to)
{
	const struct top_down *const t = of;
	struct cct *const cct = t->recursion->tree;
	node_id id = !parent ? cct_first_root(cct) :
		     cct_get(cct, (node_id)parent->from)->child;

	for (; id != 0; id = cct_get(cct, id)->sibling) {
		const struct cct_node *const n = cct_get(cct, id);
		struct tree_row *const row = tree_add(to);

		row->kind = n->parent == 0 ? TREE_ROOT : TREE_FUNC;
		row->thread = n->thread;
		row->crosses = (n->flags & CCT_BODY) != 0;
		row->levels = t->recursion->levels[id];
		row->from = id;
		row->f = (struct figures){
			.func = n->func,
			.recursive = t->recursion->recursive[id],
			.suspended = t->totals.suspended[id] };
		figures_add_own(&row->f, cct, id);
		figures_add_division(&row->f, cct, id);
		figures_add_total(&row->f, &t->totals, id);
		assert(row->f.self <= row->f.total && row->levels > 0);
	}
}

struct tree_source top_down_source(struct top_down *t)
{
	return (struct tree_source){ t, add };
}

/* ---- their order -------------------------------------------------------- */

/* The levels that are not finished, from the outermost one on. */
struct levels { struct tree_rows *at; size_t depth, room; };

/* Rows that the metric does not tell apart must not depend on the order of the
 * records. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct tree_row *const x = a, *const y = b;

	return metric_compare(ctx, NULL, x, y) ?: UP(f.func) ?: UP(thread) ?:
	       UP(crosses);
}

/* Add a level: the rows below the parent. */
static void push(struct levels *l, const struct tree_source *source,
		 const struct tree_row *parent, const struct metric *metric)
{
	struct tree_rows rows = { NULL, 0, 0, 0 };

	source->add(source->of, parent, &rows);
	if (rows.count == 0)
		return;
	qsort_r(rows.row, rows.count, sizeof(*rows.row), compare,
		(void *)(uintptr_t)metric);
	for (size_t i = 0; i < rows.count; i++) {
		rows.row[i].parent = !parent ? 0 : parent->number;
		rows.row[i].depth = !parent ? 0 : parent->depth + 1;
		rows.row[i].siblings = rows.count;
	}
	*vec_add(&l->at, &l->room, &l->depth) = rows;
}

/* Take the next row. A level goes with its last one, so that a chain of calls
 * takes no memory, however long it is. */
static struct tree_row take(struct levels *l)
{
	struct tree_rows *const top = &l->at[l->depth - 1];
	struct tree_row row;

	assert(top->next < top->count);
	row = top->row[top->next++];
	if (top->next == top->count) {
		mem_free(top->row);
		l->depth--;
	}
	return row;
}

void tree_each(const struct tree_source *source, const struct metric *metric,
	       tree_fn fn, void *ctx)
{
	struct levels l = { NULL, 0, 0 };
	size_t number = 0;

	for (push(&l, source, NULL, metric); l.depth > 0; ) {
		struct tree_row row = take(&l);

		row.number = ++number;
		assert(row.parent < row.number);
		if (fn(ctx, &row))
			push(&l, source, &row, metric);
	}
	mem_free(l.at);
}

/* ---- their columns ------------------------------------------------------ */

static METRIC_GETTER(get_share)
{
	const struct tree_style *const style = s->table;
	const struct figures *const f = row;

	if (m->name[0] == 'c') {
		v->count = style->is_bottom_up ? f->cpu : f->total_cpu;
		v->whole = style->whole.cpu;
	} else if (m->name[0] == 'b') {
		v->count = style->is_bottom_up ?
			   figures_blocked(f->off, f->ready) :
			   figures_blocked(f->total_off, f->total_ready);
		v->whole = figures_blocked(style->whole.off,
					   style->whole.ready);
	} else {
		v->count = style->is_bottom_up ? f->self : f->total;
		v->whole = style->whole.self;
	}
}

/* Roots are not called. */
static METRIC_GETTER(get_calls)
{
	v->is_none = v->count == 0 &&
		     ((const struct tree_row *)row)->kind != TREE_FUNC;
}

/* May lie in to, which has room for a thread's name. */
static const char *plain_name(const struct session *s,
			      const struct tree_row *row, char *to, size_t size)
{
	const struct thread *t;

	if (row->kind == TREE_FUNC)
		return func_get(s->funcs, row->f.func)->name;
	if (row->kind == TREE_OUTSIDE)
		return "[outside]";
	if (row->thread >= s->thread_count)
		return "[all threads]";
	t = &s->threads[row->thread];
	snprintf(to, size, "[thread %" PRIu32 "%s%s]", t->tid,
		 t->name[0] != '\0' ? " " : "", t->name);
	return to;
}

/* In CSV the plain name; in the table it is indented, with what else is to be
 * known of the row. */
static METRIC_GETTER(get_name)
{
	enum { ROOT_MAX = 64 };
	const struct tree_style *const style = s->table;
	const struct tree_row *const r = row;
	char *const line = v->room + ROOT_MAX;
	const size_t indent = style->step * (r->depth < style->levels_shown ?
					     r->depth : style->levels_shown);
	char depth[32] = "", levels[40] = "";

	v->text = plain_name(s->session, r, v->room, ROOT_MAX);
	if (r->depth > style->levels_shown)
		snprintf(depth, sizeof(depth), "(%zu) ", r->depth);
	if (r->levels > 1)
		snprintf(levels, sizeof(levels), " (%" PRIu32 " levels)",
			 r->levels);
	snprintf(line, sizeof(v->room) - ROOT_MAX, "%*s%s%s%s%s", (int)indent,
		 "", depth, r->crosses ? "~ " : "", v->text, levels);
	v->brief = line;
}

#define AT(field) METRIC_AT(struct tree_row, field)

static const struct metric metrics[] = {
	METRIC_TOTAL,
	METRIC_TOTAL_ERROR,
	METRIC_RAW_TOTAL,
	{ "share", METRIC_SHARE, .get = get_share, .drop = 1,
	  .help = "total (bottom up: self) of all time" },
	METRIC_SELF,
	METRIC_SELF_ERROR,
	METRIC_RAW_SELF,
	METRIC_WALL,
	METRIC_SUSPENDED,
	METRICS_CPU,
	{ "cpu-share", METRIC_SHARE, METRIC_SWITCHES, "share",
	  .get = get_share, .drop = 1,
	  .help = "total-cpu (bottom up: cpu) of all time on the CPU" },
	{ "blocked-share", METRIC_SHARE, METRIC_SWITCHES, "share",
	  .get = get_share, .drop = 1,
	  .help = "total-blocked (bottom up: blocked) of all such time" },
	{ "calls", METRIC_COUNT, METRIC_SORTS | METRIC_SEEN, AT(f.calls),
	  get_calls,
	  .help = "how often it was called here" },
	METRIC_RECURSIVE,
	METRICS_HEAP,
	{ "levels", METRIC_COUNT, AT(levels),
	  .help = "how deep the recursion shown here is" },
	{ "node", METRIC_NUMBER, AT(number), .help = "the row's number" },
	{ "parent", METRIC_NUMBER, AT(parent),
	  .help = "its parent's number, 0 for none" },
	{ "depth", METRIC_NUMBER, AT(depth), .help = "0 for the roots" },
	{ "is-body", METRIC_NUMBER, AT(crosses),
	  .help = "1 where the table shows ~" },
	METRIC_PLACE(struct tree_row, f.func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  .get = get_name, .shrink = 30,
	  .help = "the function, or the thread" },
	{ .name = NULL }
};

#define CSV "node,parent,depth,name,language,module,file,line,is-body,calls," \
	"self,total,suspended,recursive,levels" METRICS_NET_CSV

#define REST "suspended,calls,recursive,language,name", CSV

const struct metric_view tree_views[METRIC_RANKINGS] = {
	[METRIC_BY_TIME] = { metrics, "total,total-error,share,self," REST },
	[METRIC_BY_CPU] = { metrics, "total-cpu,total-cpu-error,cpu-share,"
		"total-run-wait,total-blocked,cpu," REST },
	[METRIC_BY_WAITING] = { metrics, "total-blocked,blocked-share,"
		"total-run-wait,total-cpu,blocked," REST },
};

const struct metric_view tree_bottom_up_views[METRIC_RANKINGS] = {
	[METRIC_BY_TIME] = { metrics, "self,self-error,share,total," REST },
	[METRIC_BY_CPU] = { metrics, "cpu,cpu-error,cpu-share,run-wait,blocked,"
		"total," REST },
	[METRIC_BY_WAITING] = { metrics, "blocked,blocked-share,run-wait,cpu,"
		"total," REST },
};
