/* tree_walk.c - down a tree whose rows are made as they are needed, without
 * recursion: stacks may be a million frames deep.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/tree_walk.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>
#include <string.h>

/* The rows below one row, and which comes next. */
struct tree_rows { struct tree_row *row; size_t count, room, next; };

struct levels { struct tree_rows *at; size_t depth, room; };

uint64_t tree_walk_value(const struct tree_row *row, enum tree_key key)
{
	switch (key) {
	case TREE_TOTAL:
		return row->total;
	case TREE_SELF:
		return row->self;
	case TREE_WALL:
		return row->total + row->suspended;
	case TREE_SUSPENDED:
		return row->suspended;
	case TREE_CALLS:
		return row->calls;
	}
	return 0;
}

struct tree_row *tree_walk_add(struct tree_rows *rows)
{
	vec_need(&rows->row, &rows->room, rows->count + 1);
	memset(&rows->row[rows->count], 0, sizeof(*rows->row));
	return &rows->row[rows->count++];
}

/* Equal ones in an order that does not depend on the order of the records. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct tree_row *const x = a, *const y = b;
	const enum tree_key key = *(const enum tree_key *)ctx;
	const uint64_t vx = tree_walk_value(x, key);
	const uint64_t vy = tree_walk_value(y, key);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	if (x->func != y->func)
		return x->func < y->func ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->crosses - y->crosses;
}

static void push(struct levels *l, const struct tree_view *view,
		 const struct tree_row *parent, enum tree_key key)
{
	struct tree_rows rows = { NULL, 0, 0, 0 };

	view->add(view->of, parent, &rows);
	/* A chain of a million calls has as many of these. */
	if (rows.count > 0) {
		rows.row = mem_grow(rows.row, rows.count, sizeof(*rows.row));
		qsort_r(rows.row, rows.count, sizeof(*rows.row), compare,
			&key);
	}
	for (size_t i = 0; i < rows.count; i++) {
		rows.row[i].parent = !parent ? 0 : parent->number;
		rows.row[i].depth = !parent ? 0 : parent->depth + 1;
		rows.row[i].siblings = rows.count;
	}
	*vec_add(&l->at, &l->room, &l->depth) = rows;
}

void tree_walk_each(const struct tree_view *view, enum tree_key key,
		    tree_fn fn, void *ctx)
{
	struct levels l = { NULL, 0, 0 };
	size_t number = 0;

	for (push(&l, view, NULL, key); l.depth > 0; ) {
		struct tree_rows *const top = &l.at[l.depth - 1];
		struct tree_row *row;

		if (top->next == top->count) {
			mem_free(top->row);
			l.depth--;
			continue;
		}
		row = &top->row[top->next++];
		row->number = ++number;
		if (fn(ctx, row))
			push(&l, view, row, key);
	}
	mem_free(l.at);
}
