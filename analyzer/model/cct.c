/* cct.c - the calling-context tree: nodes in an array, children found by a hash
 * table over all of them.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/cct.h"
#include "analyzer/model/cct_hot.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"

#include <string.h>

enum { FIRST_ROOM = 256, MAX_NODES = 1 << 30 };

struct cct *cct_new(size_t max_nodes)
{
	struct cct *const t = mem_alloc(sizeof(*t));

	t->max = max_nodes < MAX_NODES ? max_nodes : MAX_NODES;
	t->room = FIRST_ROOM;
	t->nodes = mem_alloc(t->room * sizeof(*t->nodes));
	t->slot_mask = FIRST_ROOM * 2 - 1;
	t->slots = mem_alloc((t->slot_mask + 1) * sizeof(*t->slots));
	t->root_of = map_new();
	return t;
}

void cct_free(struct cct *t)
{
	if (!t)
		return;
	hist_free(t->hist);
	mem_free(t->cpu);
	map_free(t->folded_paths);
	map_free(t->root_of);
	mem_free(t->nodes);
	mem_free(t->slots);
	mem_free(t);
}

void cct_take(struct cct *t, struct cct *other)
{
	const struct cct old = *t;

	*t = *other;
	t->folded = old.folded;
	t->deeper = old.deeper;
	t->max = old.max > other->count ? old.max : other->count;
	*other = old;
	cct_free(other);
}

struct cct_node *cct_get(struct cct *t, node_id id)
{
	return &t->nodes[id <= t->count ? id : 0];
}

size_t cct_count(const struct cct *t)
{
	return t->count;
}

size_t cct_deeper(const struct cct *t)
{
	return t->folded;
}

void cct_set_folded(struct cct *t, size_t paths)
{
	t->folded = paths;
}

void cct_set_deeper(struct cct *t, func_id deeper)
{
	t->deeper = deeper;
}

node_id cct_first_root(const struct cct *t)
{
	return t->first_root;
}

static void put_slot(struct cct *t, node_id id)
{
	const struct cct_node *const n = &t->nodes[id];
	uint64_t i = cct_hash(n->parent, n->func, n->flags & CCT_KEY);

	while (t->slots[i & t->slot_mask])
		i++;
	t->slots[i & t->slot_mask] = id;
}

static void grow(struct cct *t)
{
	t->room *= 2;
	t->nodes = mem_grow(t->nodes, t->room, sizeof(*t->nodes));
	if (t->hist)
		hist_need(t->hist, t->room);
	if (t->cpu)
		t->cpu = mem_grow(t->cpu, t->room, sizeof(*t->cpu));
	mem_free(t->slots);
	t->slot_mask = t->room * 2 - 1;
	t->slots = mem_alloc((t->slot_mask + 1) * sizeof(*t->slots));
	for (size_t id = 1; id <= t->count; id++)
		if (t->nodes[id].parent)
			put_slot(t, (node_id)id);
}

static node_id add_node(struct cct *t, node_id parent)
{
	const node_id id = (node_id)(t->count + 1);

	if (t->count + 1 >= t->room)
		grow(t);
	t->nodes[id] = (struct cct_node){ .parent = parent };
	if (t->cpu)
		t->cpu[id] = (struct cct_cpu){ 0 };
	t->count++;
	return id;
}

node_id cct_root(struct cct *t, uint32_t thread)
{
	uint32_t *const known = map_put(t->root_of, thread, 0);
	node_id id;

	if (*known)
		return *known;
	id = add_node(t, 0);
	t->nodes[id].thread = thread;
	if (t->last_root)
		t->nodes[t->last_root].sibling = id;
	else
		t->first_root = id;
	t->last_root = id;
	*known = id;
	return id;
}

/* A "(deeper)" node is added beyond the limit: there is at most one for each
 * node below it. Its own children are itself, so that whatever is called there
 * stays there. Paths are told apart by their last step only. */
static node_id fold(struct cct *t, node_id parent, func_id func)
{
	node_id id;

	if (!t->folded_paths)
		t->folded_paths = map_new();
	if (map_count(t->folded_paths) < t->max) {
		uint32_t *const seen = map_put(t->folded_paths, parent, func);

		t->folded += *seen == 0;
		*seen = 1;
	}
	if (t->nodes[parent].func == t->deeper &&
	    (t->nodes[parent].flags & CCT_OMITTED))
		return parent;
	id = cct_hot_find(t, parent, t->deeper, CCT_OMITTED);
	return id;
}

static node_id add_child(struct cct *t, node_id parent, func_id func,
			 uint32_t flags)
{
	const node_id id = add_node(t, parent);

	t->nodes[id].func = func;
	t->nodes[id].flags = flags;
	t->nodes[id].sibling = t->nodes[parent].child;
	t->nodes[parent].child = id;
	put_slot(t, id);
	return id;
}

node_id cct_child(struct cct *t, node_id parent, func_id func, uint32_t flags)
{
	node_id id = cct_hot_find(t, parent, func, flags & CCT_KEY);

	if (id)
		return id;
	if (t->count < t->max || (flags & CCT_OUTSIDE))
		return add_child(t, parent, func, flags & CCT_KEY);
	id = fold(t, parent, func);
	return id ? id : add_child(t, parent, t->deeper, CCT_OMITTED);
}

void cct_totals(struct cct *t, uint64_t *total, uint64_t *susp)
{
	memset(total, 0, (t->count + 1) * sizeof(*total));
	memset(susp, 0, (t->count + 1) * sizeof(*susp));
	for (size_t id = t->count; id > 0; id--) {
		const struct cct_node *const n = &t->nodes[id];

		total[id] += n->self;
		susp[id] += n->suspended;
		if (n->parent == 0)
			continue;
		total[n->parent] += total[id];
		/* A thread does not sleep with a coroutine, not even where
		 * only the upper part of its stack is in the tree. */
		if (!(n->flags & CCT_BODY) && t->nodes[n->parent].parent)
			susp[n->parent] += susp[id];
	}
}

int cct_valid(const struct cct *t)
{
	size_t linked = 0;

	for (size_t id = 1; id <= t->count; id++) {
		const struct cct_node *const n = &t->nodes[id];

		if (n->parent >= id || (n->parent == 0) != (n->func == 0))
			return 0;
		if (n->parent && cct_hot_find(t, n->parent, n->func,
					      n->flags & CCT_KEY) != id)
			return 0;
		for (node_id c = n->child; c; c = t->nodes[c].sibling)
			if (++linked > t->count || t->nodes[c].parent != id)
				return 0;
	}
	for (node_id r = t->first_root; r; r = t->nodes[r].sibling)
		linked++;
	return linked == t->count;
}
