/* merge_statistics.c - figures of one session's functions, and of who calls
 * them how often, in the form that is added up over sessions. Works on a
 * session in nanoseconds: one that join() of merge.c made of a trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/map.h"
#include "analyzer/base/vec.h"
#include "analyzer/merge/merge_steps.h"
#include "analyzer/tables/flat.h"

/* Means are kept as integers, so that sums do not depend on their order: with
 * these factors, few digits are lost. */
enum { THOUSAND = 1000, MILLION = 1000000 };

/* Sums over the nodes of the tree. */
struct node_counts {
	uint64_t *sleep;           /* by function: suspended as the innermost
	                            * frame, ns */
	uint64_t *calls;           /* by function */
	uint64_t *off, *ready;     /* by function: off the CPU, and of that,
	                            * without a core, ns */
	node_id *callers;          /* by node */
	bool *is_caller;           /* by function: it calls another one */
	struct map *edge;          /* by caller, function: index + 1 */
	struct edge { func_id caller, func; uint64_t calls; } *edges;
	size_t count, room;
};

node_id *merge_callers(const struct session *s)
{
	const size_t nodes = cct_count(s->cct) + 1;
	node_id *const callers = mem_alloc(nodes * sizeof(*callers));

	for (node_id id = 1; id < nodes; id++) {
		const node_id above = cct_get(s->cct, id)->parent;
		const struct cct_node *const n = cct_get(s->cct, above);

		callers[id] = above > 0 && n->calls == 0 && n->func != 0 &&
			      func_get(s->funcs, n->func)->noted ?
			      callers[above] : above;
	}
	return callers;
}

/* Add a node to the sums of its function, and to the edge that leads to it.
 * Roots are function 0, which stands for the threads. */
static void count_node(struct node_counts *n, struct cct *t, node_id id)
{
	const struct cct_node *const node = cct_get(t, id);
	const func_id caller = cct_get(t, n->callers[id])->func;
	uint32_t *at;

	n->sleep[node->func] += node->suspended;
	n->calls[node->func] += node->calls;
	n->off[node->func] += cct_cpu_of(t, id).off;
	n->ready[node->func] += cct_cpu_of(t, id).ready;
	if (node->func == 0 || node->calls == 0)
		return;
	n->is_caller[caller] = true;
	at = map_put(n->edge, caller, node->func);
	if (*at == 0) {
		*vec_add(&n->edges, &n->room, &n->count) =
			(struct edge){ caller, node->func, 0 };
		*at = (uint32_t)n->count;
	}
	n->edges[*at - 1].calls += node->calls;
}

/* Make the statistics of edges: calls for 1,000,000 calls of the caller. A
 * thread is not called, so its edges have 1,000,000 times the calls. */
static void add_edges(struct session *s, const struct node_counts *n)
{
	s->edges = mem_alloc((n->count + 1) * sizeof(*s->edges));
	s->edge_count = n->count;
	for (size_t i = 0; i < n->count; i++) {
		const struct edge *const from = &n->edges[i];
		struct edge_statistics *const e = &s->edges[i];

		e->caller = from->caller;
		e->func = from->func;
		statistics_add(&e->rate, statistics_scale(from->calls, MILLION,
			e->caller ? n->calls[e->caller] : 1));
	}
}

/* Add ns a call, in thousandths. */
static void add_mean(struct statistics *to, uint64_t ns, uint64_t calls)
{
	statistics_add(to, statistics_scale(ns, THOUSAND, calls));
}

/* Make the statistics of functions. A node's time off the CPU may exceed what
 * is left of its self time (flat.c says why), so it is cut to that. The fastest
 * call is known only where a call has finished, and says something of the
 * function's own code only where it calls nothing. */
static void add_funcs(struct session *s, const struct flat *r,
		      const struct node_counts *n)
{
	s->statistics = mem_alloc((r->count + 1) * sizeof(*s->statistics));
	s->statistics_count = r->count;
	for (size_t i = 0; i < r->count; i++) {
		const struct flat_row *const row = &r->rows[i];
		struct func_statistics *const f = &s->statistics[i];
		const uint64_t off = n->off[row->f.func] < row->f.self ?
				     n->off[row->f.func] : row->f.self;
		const uint64_t ready = n->ready[row->f.func] < off ?
				       n->ready[row->f.func] : off;
		const uint64_t timed = figures_timed(&row->f);

		f->func = row->f.func;
		if (!n->is_caller[row->f.func] && row->max > 0 &&
		    row->f.counted.brief == 0)
			statistics_add(&f->fastest, row->min);
		statistics_add(&f->calls, row->f.calls);
		statistics_add(&f->self, row->f.self);
		statistics_add(&f->on, row->f.self - off);
		statistics_add(&f->total, row->f.total);
		statistics_add(&f->suspended, row->f.suspended);
		add_mean(&f->cost, row->f.self, timed);
		add_mean(&f->work, row->f.self - off, timed);
		add_mean(&f->wait, off - ready, timed);
		add_mean(&f->sleep, n->sleep[row->f.func], timed);
	}
}

void merge_statistics_of_one(struct session *s)
{
	const size_t funcs = func_count(s->funcs) + 1;
	struct flat *const r = flat_new(s, NULL);
	struct node_counts n = { .sleep = mem_alloc(funcs * sizeof(uint64_t)),
			    .calls = mem_alloc(funcs * sizeof(uint64_t)),
			    .off = mem_alloc(funcs * sizeof(uint64_t)),
			    .ready = mem_alloc(funcs * sizeof(uint64_t)),
			    .is_caller = mem_alloc(funcs * sizeof(bool)),
			    .edge = map_new(), .callers = merge_callers(s) };

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		count_node(&n, s->cct, id);
	add_funcs(s, r, &n);
	add_edges(s, &n);
	mem_free_all(n.sleep, n.calls, n.off, n.ready, n.is_caller, n.edges,
		     n.callers);
	map_free(n.edge);
	flat_free(r);
}
