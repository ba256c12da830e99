/* rank.c - the flat table: every node of the tree goes to its group's row.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/rank.h"
#include "analyzer/tables/rank_sums.h"
#include "analyzer/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A walk over the tree; "the path" leads from the root to the node at hand. */
struct walk {
	struct cct *cct;
	const uint32_t *of;      /* by node: its group */
	struct rank_sums sums;
	struct rank_row *row;    /* by group */
	uint8_t *seen;           /* by group: 1: it has a node, 2: and a
	                          * finished call */
	node_id *same;           /* by group: its innermost node on the path */
	node_id *above;          /* by node: what same was before it */
	node_id *body;           /* by node: where its coroutine begins */
};

static void add_range(struct walk *w, uint32_t group, const struct cct_node *n)
{
	struct rank_row *const row = &w->row[group];

	if (!(n->flags & CCT_TIMED))
		return;
	if (w->seen[group] < 2 || n->min < row->min)
		row->min = n->min;
	if (w->seen[group] < 2 || n->max > row->max)
		row->max = n->max;
	w->seen[group] = 2;
}

static void add_total(struct walk *w, struct rank_row *row, node_id id)
{
	row->total += w->sums.total[id];
	if (!w->sums.off)
		return;
	row->total_off += w->sums.off[id];
	row->total_cpu += rank_sums_cpu(w->sums.total[id], w->sums.off[id],
					w->sums.unknown[id]);
}

static void add_self(struct walk *w, struct rank_row *row, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const struct cct_cpu cpu = cct_cpu_of(w->cct, id);

	row->calls += n->calls;
	row->self += n->self;
	if (!w->sums.off)
		return;
	row->off += cpu.off;
	row->cpu += rank_sums_cpu(n->self, cpu.off, cpu.unknown);
}

/* Is it the outermost of its group within its coroutine? same: the next one
 * further out; a thread is in none. */
static int is_first(const struct walk *w, node_id same, node_id id)
{
	return !same || w->body[same] != w->body[id] ||
	       !cct_get(w->cct, same)->parent;
}

/* Going down into a node. A parent's id is below its children's, so body[] of
 * the parent is known. */
static void visit(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const uint32_t group = w->of[id];
	struct rank_row *const row = &w->row[group];

	w->body[id] = !n->parent || (n->flags & CCT_BODY) ? id :
		      w->body[n->parent];
	if (group == 0)
		return;
	if (!w->seen[group])
		w->seen[group] = 1;
	add_self(w, row, id);
	if (!w->same[group])
		add_total(w, row, id);
	if (is_first(w, w->same[group], id))
		row->suspended += w->sums.suspended[id];
	w->above[id] = w->same[group];
	w->same[group] = id;
	add_range(w, group, n);
}

static void leave(struct walk *w, node_id id)
{
	w->same[w->of[id]] = w->above[id];
}

/* All nodes from the root down, without recursion: stacks may be deep. */
static void walk(struct walk *w, node_id root)
{
	node_id id = root;

	visit(w, root);
	for (;;) {
		node_id next = cct_get(w->cct, id)->child;

		while (!next && id != root) {
			leave(w, id);
			next = cct_get(w->cct, id)->sibling;
			id = cct_get(w->cct, id)->parent;
		}
		if (!next)
			break;
		id = next;
		visit(w, id);
	}
	leave(w, root);
}

static void collect(struct rank *r, const struct walk *w)
{
	r->rows = mem_alloc((r->groups->count + 1) * sizeof(*r->rows));
	for (uint32_t g = 1; g <= r->groups->count; g++) {
		struct rank_row *const row = &r->rows[r->count];

		if (!w->seen[g])
			continue;
		*row = w->row[g];
		row->group = g;
		row->func = r->groups->group[g].func;
		r->self += row->self;
		r->calls += row->calls;
		r->count++;
	}
}

static struct walk new_walk(struct session *s, const struct groups *g)
{
	const size_t nodes = cct_count(s->cct) + 1;
	struct walk w = {
		.cct = s->cct, .of = g->of,
		.row = mem_alloc((g->count + 1) * sizeof(struct rank_row)),
		.seen = mem_alloc(g->count + 1),
		.same = mem_alloc((g->count + 1) * sizeof(node_id)),
		.above = mem_alloc(nodes * sizeof(node_id)),
		.body = mem_alloc(nodes * sizeof(node_id)) };

	rank_sums_init(&w.sums, s->cct);
	return w;
}

static void free_walk(struct walk *w)
{
	rank_sums_fini(&w->sums);
	mem_free(w->row);
	mem_free(w->seen);
	mem_free(w->same);
	mem_free(w->above);
	mem_free(w->body);
}

static int is_of(struct session *s, node_id root, uint32_t thread)
{
	return thread == RANK_ALL_THREADS ||
	       cct_get(s->cct, root)->thread == thread;
}

struct rank *rank_by(struct session *s, const struct rank_options *o)
{
	struct rank *const r = mem_alloc(sizeof(*r));
	struct walk w;

	r->groups = group_all(s, o->by);
	w = new_walk(s, r->groups);
	for (node_id root = cct_first_root(s->cct); root;
	     root = cct_get(s->cct, root)->sibling) {
		if (!is_of(s, root, o->thread))
			continue;
		if (!r->groups->of[root])
			r->root_self += cct_get(s->cct, root)->self;
		r->unknown += w.sums.off ? w.sums.unknown[root] :
					   w.sums.total[root];
		walk(&w, root);
	}
	collect(r, &w);
	free_walk(&w);
	rank_sums_quantiles(r, s->cct, o->thread);
	rank_sort(r, o->key);
	return r;
}

struct rank *rank_new(struct session *s, enum rank_key key, uint32_t thread)
{
	return rank_by(s, &(struct rank_options){ GROUP_FUNCTION, key,
						  thread });
}

void rank_free(struct rank *r)
{
	if (!r)
		return;
	group_free(r->groups);
	mem_free(r->rows);
	mem_free(r);
}
