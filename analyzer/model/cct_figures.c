/* cct_figures.c - what is counted at the nodes of a tree, added to other nodes
 * and other trees; and what is collected only where a view asks for it.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/cct.h"
#include "analyzer/model/cct_hot.h"
#include "analyzer/base/mem.h"

#include <string.h>

void cct_time(struct cct *t, node_id id, uint64_t duration)
{
	cct_hot_time(cct_get(t, id), duration);
	if (t->hist)
		hist_add(t->hist, id, hist_step(duration), 1);
}

void cct_collect_hist(struct cct *t)
{
	if (!t->hist)
		t->hist = hist_new(t->room);
}

void cct_collect_cpu(struct cct *t)
{
	if (t->cpu)
		return;
	t->cpu = mem_alloc(t->room * sizeof(*t->cpu));
	for (size_t id = 1; id <= t->count; id++)
		t->cpu[id].unknown = t->nodes[id].self;
}

void cct_collect_as(struct cct *t, const struct cct *other)
{
	if (other->hist)
		cct_collect_hist(t);
	if (other->cpu)
		cct_collect_cpu(t);
}

int cct_has_hist(const struct cct *t)
{
	return t->hist != NULL;
}

int cct_has_cpu(const struct cct *t)
{
	return t->cpu != NULL;
}

void cct_put_lengths(struct cct *t, node_id id, uint32_t step, uint64_t calls)
{
	hist_add(t->hist, id, step, calls);
}

void cct_put_cpu(struct cct *t, node_id id, struct cct_cpu cpu)
{
	t->cpu[id] = cpu;
}

struct cct_cpu cct_cpu_of(const struct cct *t, node_id id)
{
	return t->cpu ? t->cpu[id] : (struct cct_cpu){ 0 };
}

int cct_hist_counts(const struct cct *t, node_id id, uint64_t *counts)
{
	if (!t->hist)
		return 0;
	hist_counts(t->hist, id, counts);
	return 1;
}

void cct_add_times(struct cct *t, node_id to, const struct cct *from,
		   node_id id)
{
	const struct cct_node *const n = &from->nodes[id];

	t->nodes[to].self += n->self;
	t->nodes[to].suspended += n->suspended;
	if (!t->cpu)
		return;
	t->cpu[to].off += from->cpu ? from->cpu[id].off : 0;
	t->cpu[to].unknown += from->cpu ? from->cpu[id].unknown : n->self;
}

void cct_add(struct cct *t, node_id to, const struct cct *from, node_id id)
{
	const struct cct_node *const n = &from->nodes[id];

	cct_add_times(t, to, from, id);
	t->nodes[to].calls += n->calls;
	if (n->flags & CCT_TIMED) {
		cct_hot_time(&t->nodes[to], n->min);
		cct_hot_time(&t->nodes[to], n->max);
	}
	if (t->hist && from->hist)
		hist_join(t->hist, to, from->hist, id);
}

/* A parent's id is below its children's, so one pass in rising order meets
 * every parent first. */
void cct_graft(struct cct *t, node_id to, const struct cct *other,
	       node_id from)
{
	node_id *const map = mem_alloc((other->count + 1) * sizeof(*map));

	map[from] = to;
	cct_add(t, to, other, from);
	for (size_t id = (size_t)from + 1; id <= other->count; id++) {
		const struct cct_node *const n = &other->nodes[id];

		if (!map[n->parent])
			continue;
		map[id] = cct_child(t, map[n->parent], n->func, n->flags);
		cct_add(t, map[id], other, (node_id)id);
	}
	mem_free(map);
}

/* The path down from the root, its CCT_OUTSIDE node left out. */
static size_t path_to(const struct cct *t, node_id id, node_id **path)
{
	size_t n = 0;

	for (node_id i = id; t->nodes[i].parent; i = t->nodes[i].parent)
		n += !(t->nodes[i].flags & CCT_OUTSIDE);
	*path = mem_grow(NULL, n + 1, sizeof(**path));
	for (size_t k = n; t->nodes[id].parent; id = t->nodes[id].parent)
		if (!(t->nodes[id].flags & CCT_OUTSIDE))
			(*path)[--k] = id;
	return n;
}

node_id cct_beside(struct cct *t, node_id id, int outside)
{
	node_id *path, at = id;
	size_t n;

	if (id == 0)
		return 0;
	n = path_to(t, id, &path);
	while (t->nodes[at].parent)
		at = t->nodes[at].parent;
	if (outside)
		at = cct_child(t, at, t->deeper, CCT_OUTSIDE);
	for (size_t i = 0; i < n; i++)
		at = cct_child(t, at, t->nodes[path[i]].func,
			       t->nodes[path[i]].flags);
	mem_free(path);
	return at;
}
