/* fold.c - a stack weighs at least as much as each stack below it, so those
 * that are kept are a tree.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/fold.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <stdlib.h>

/* By node: its own weight and that of all below it. */
static uint64_t *weigh(const struct session *s)
{
	const bool has_times = session_has_times(s);
	const size_t count = cct_count(s->cct);
	uint64_t *const weight = mem_alloc((count + 1) * sizeof(*weight));

	for (node_id id = (node_id)count; id > 0; id--) {
		const struct cct_node *const n = cct_get(s->cct, id);

		weight[id] += has_times ? n->self + n->suspended : n->calls;
		weight[n->parent] += weight[id];
	}
	return weight;
}

/* Falling. */
ORDER_BY(compare, uint64_t, ORDER(*y, *x))

/* The weight that the first of `most` nodes exceed; *equal: how many nodes of
 * just that weight are kept beside them. */
static uint64_t limit(const uint64_t *weight, size_t count, size_t most,
		      size_t *equal)
{
	uint64_t *const sorted = mem_alloc((count + 1) * sizeof(*sorted));
	uint64_t found = 0;

	*equal = count;
	for (size_t i = 0; i < count; i++)
		sorted[i] = weight[i + 1];
	if (most < count) {
		qsort(sorted, count, sizeof(*sorted), compare);
		found = sorted[most];
		*equal = most;
		for (size_t i = 0; i < most && sorted[i] > found; i++)
			--*equal;
	}
	mem_free(sorted);
	return found;
}

static node_id put_root(struct fold *f, uint32_t thread)
{
	f->has_thread[thread] = true;
	return cct_root(f->tree, thread);
}

/* Put a node of the old tree into the new one; to: by old node. Parents come
 * before their children: of equal weights, the former are kept first. */
static void put(struct fold *f, struct cct *from, node_id *to, node_id id,
		bool is_kept, func_id other)
{
	const struct cct_node *const n = cct_get(from, id);
	const node_id above = to[n->parent];

	if (n->parent == 0)
		to[id] = put_root(f, is_kept ? n->thread : f->other_threads);
	else if (cct_get(f->tree, above)->func == other)
		to[id] = above;
	else
		to[id] = cct_child(f->tree, above, is_kept ? n->func : other,
				   is_kept ? n->flags : CCT_OMITTED);
	cct_add(f->tree, to[id], from, id);
	f->stacks[to[id]]++;
	f->folded += cct_get(f->tree, to[id])->func == other;
}

struct fold *fold_new(struct session *s, size_t most)
{
	const func_id other = func_special(s->funcs, "(other)");
	const size_t count = cct_count(s->cct);
	struct fold *const f = mem_alloc(sizeof(*f));
	node_id *const to = mem_alloc((count + 1) * sizeof(*to));
	uint64_t *const weight = weigh(s);
	size_t equal;
	const uint64_t least = limit(weight, count, most, &equal);

	f->other_threads = (uint32_t)s->thread_count;
	f->tree = cct_new(SIZE_MAX);
	cct_collect_as(f->tree, s->cct);
	f->stacks = mem_alloc((count + 1) * sizeof(*f->stacks));
	f->has_thread = mem_alloc(s->thread_count + 1);
	for (node_id id = 1; id <= count; id++) {
		const bool is_equal = weight[id] == least && equal > 0;

		equal -= is_equal;
		put(f, s->cct, to, id, weight[id] > least || is_equal, other);
	}
	mem_free_all(weight, to);
	return f;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	cct_free(f->tree);
	mem_free_all(f->stacks, f->has_thread, f);
}
