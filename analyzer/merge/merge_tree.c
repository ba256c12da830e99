/* merge_tree.c - the tree of a session, node by node on top of that of a sum.
 * SPDX-License-Identifier: MIT */
#include "analyzer/model/cct_hot.h"
#include "analyzer/merge/merge_state.h"
#include "analyzer/base/mem.h"

/* Lengths of calls: a step in ticks goes to the one or two steps in ns that it
 * lies in, by how much of it does. */
static void add_lengths(struct cct *t, node_id id, const struct session *from,
			node_id other)
{
	uint64_t counts[HIST_STEPS] = { 0 };

	if (!t->hist || !cct_hist_counts(from->cct, other, counts))
		return;
	for (uint32_t i = 0; i + 1 < HIST_STEPS; i++) {
		const uint64_t least = session_ns(from, hist_least(i));
		const uint64_t most = session_ns(from, hist_least(i + 1));
		const uint32_t low = hist_step(least);
		const uint32_t high = most > least ? hist_step(most - 1) : low;
		const uint64_t above =
			low == high ? 0 : statistics_scale(counts[i],
			most - hist_least(high), most - least);

		if (counts[i] > above)
			hist_add(t->hist, id, low, counts[i] - above);
		if (above > 0)
			hist_add(t->hist, id, high, above);
	}
}

/* A node of a trace's own session. */
static void lift_node(struct cct *t, node_id id, const struct session *from,
		      node_id other)
{
	const struct cct_node *const n = cct_get(from->cct, other);
	struct cct_node *const to = cct_get(t, id);

	add_lengths(t, id, from, other);
	if (t->cpu) {
		const struct cct_cpu cpu = cct_cpu_of(from->cct, other);

		t->cpu[id].off += merge_ns(from, cpu.off);
		t->cpu[id].unknown += merge_ns(from, from->cct->cpu ?
						 cpu.unknown : n->self);
	}
	to->calls += n->calls;
	to->self += merge_ns(from, n->self);
	to->suspended += merge_ns(from, n->suspended);
	if (n->flags & CCT_TIMED) {
		cct_hot_time(to, merge_ns(from, n->min));
		cct_hot_time(to, merge_ns(from, n->max));
	}
}

/* What tells the node apart in the sum. */
static uint32_t flags_of(const struct session *from, const struct cct_node *n,
			 const uint32_t *vm)
{
	const uint32_t flags = n->flags & CCT_SHAPE;
	const uint32_t of = session_body_vm(from, n->flags);

	return of == 0 ? flags : flags | (vm[of - 1] + 1) << CCT_OF_SHIFT;
}

/* Parents come before their children. */
void merge_tree_join(struct merge *c, struct session *from,
		       const func_id *func, const uint32_t *thread,
		       const uint32_t *vm)
{
	const size_t count = cct_count(from->cct);
	struct cct *const t = c->sum->cct;
	node_id *const node = mem_alloc((count + 1) * sizeof(*node));

	c->no_hist |= !from->cct->hist;
	cct_collect_as(t, from->cct);
	for (node_id id = 1; id <= count; id++) {
		const struct cct_node *const n = cct_get(from->cct, id);

		node[id] = n->parent == 0 ? cct_root(t, thread[n->thread]) :
			cct_child(t, node[n->parent], func[n->func],
				  flags_of(from, n, vm));
		if (from->part_count > 0)
			cct_add(t, node[id], from->cct, id);
		else
			lift_node(t, node[id], from, id);
	}
	cct_set_folded(t, cct_deeper(t) + cct_deeper(from->cct));
	mem_free(node);
}
