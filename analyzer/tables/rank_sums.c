/* rank_sums.c - subtrees summed up, histograms put together group by group.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/rank_sums.h"
#include "analyzer/model/hist.h"
#include "analyzer/base/mem.h"

#include <string.h>

void rank_sums_init(struct rank_sums *s, struct cct *t)
{
	const size_t nodes = cct_count(t) + 1;

	s->total = mem_alloc(2 * nodes * sizeof(*s->total));
	s->suspended = s->total + nodes;
	cct_totals(t, s->total, s->suspended);
	s->off = s->unknown = NULL;
	if (!cct_has_cpu(t))
		return;
	s->off = mem_alloc(2 * nodes * sizeof(*s->off));
	s->unknown = s->off + nodes;
	for (size_t id = nodes - 1; id > 0; id--) {
		const node_id parent = cct_get(t, (node_id)id)->parent;
		const struct cct_cpu cpu = cct_cpu_of(t, (node_id)id);

		s->off[id] += cpu.off;
		s->unknown[id] += cpu.unknown;
		if (parent) {
			s->off[parent] += s->off[id];
			s->unknown[parent] += s->unknown[id];
		}
	}
}

void rank_sums_fini(struct rank_sums *s)
{
	mem_free(s->total);
	mem_free(s->off);
}

/* The nodes of each group as a list: first[group], next[node]. */
struct lists { node_id *first, *next; };

static struct lists list_nodes(const struct groups *g, struct cct *t,
			       uint32_t thread)
{
	struct lists l = {
		mem_alloc((g->count + 1) * sizeof(*l.first)),
		mem_alloc((cct_count(t) + 1) * sizeof(*l.next)) };
	uint8_t *const out = mem_alloc(cct_count(t) + 1);

	for (node_id id = 1; id <= cct_count(t); id++) {
		const struct cct_node *const n = cct_get(t, id);
		const node_id parent = n->parent;

		out[id] = parent ? out[parent] : thread != RANK_ALL_THREADS &&
			  n->thread != thread;
		if (out[id] || !(n->flags & CCT_TIMED))
			continue;
		l.next[id] = l.first[g->of[id]];
		l.first[g->of[id]] = id;
	}
	mem_free(out);
	return l;
}

void rank_sums_quantiles(struct rank *r, struct cct *t, uint32_t thread)
{
	struct lists l;

	if (!cct_has_hist(t))
		return;
	r->has_quantiles = 1;
	l = list_nodes(r->groups, t, thread);
	for (size_t i = 0; i < r->count; i++) {
		struct rank_row *const row = &r->rows[i];
		uint64_t counts[HIST_STEPS] = { 0 }, n = 0;

		for (node_id id = l.first[row->group]; id; id = l.next[id])
			cct_hist_counts(t, id, counts);
		for (size_t k = 0; k < HIST_STEPS; k++)
			n += counts[k];
		if (n == 0)
			continue;
		row->p50 = hist_quantile(counts, n, 500, row->min, row->max);
		row->p95 = hist_quantile(counts, n, 950, row->min, row->max);
		row->p99 = hist_quantile(counts, n, 990, row->min, row->max);
	}
	mem_free(l.first);
	mem_free(l.next);
}
