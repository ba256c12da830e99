/* merge_statistics.c - figures of functions and of who calls them, over sessions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/merge_state.h"
#include "analyzer/tables/rank.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

enum { THOUSAND = 1000, MILLION = 1000000 };

/* What suspended a function as the innermost frame, and how often each was
 * called by whom. */
struct counts {
	uint64_t *sleep, *calls, *off; /* by function */
	uint8_t *is_caller;        /* by function */
	struct map *edge;          /* to its index + 1 */
	struct { func_id caller, func; uint64_t calls; } *edges;
	size_t count, room;
};

static void count_node(struct counts *n, struct cct *t, node_id id)
{
	const struct cct_node *const node = cct_get(t, id);
	const func_id caller = cct_get(t, node->parent)->func;
	uint32_t *at;

	n->sleep[node->func] += node->suspended;
	n->calls[node->func] += node->calls;
	n->off[node->func] += cct_cpu_of(t, id).off;
	if (node->func == 0 || node->calls == 0)
		return;
	n->is_caller[caller] = 1;
	at = map_put(n->edge, caller, node->func);
	if (*at == 0) {
		*at = (uint32_t)n->count + 1;
		vec_need(&n->edges, &n->room, n->count + 1);
		n->edges[n->count].caller = caller;
		n->edges[n->count].func = node->func;
		n->edges[n->count++].calls = 0;
	}
	n->edges[*at - 1].calls += node->calls;
}

static void lift_edges(struct session *s, const struct counts *n)
{
	s->edges = mem_alloc((n->count + 1) * sizeof(*s->edges));
	s->edge_count = n->count;
	for (size_t i = 0; i < n->count; i++) {
		struct edge_statistics *const e = &s->edges[i];

		e->caller = n->edges[i].caller;
		e->func = n->edges[i].func;
		statistics_add(&e->rate, statistics_scale(n->edges[i].calls,
							  MILLION,
			   e->caller ? n->calls[e->caller] : 1));
	}
}

static void lift_rows(struct session *s, const struct rank *r,
		      const struct counts *n)
{
	s->statistics = mem_alloc((r->count + 1) * sizeof(*s->statistics));
	s->statistics_count = r->count;
	for (size_t i = 0; i < r->count; i++) {
		const struct rank_row *const row = &r->rows[i];
		struct func_statistics *const f = &s->statistics[i];
		const uint64_t off = n->off[row->func] < row->self ?
				     n->off[row->func] : row->self;

		f->func = row->func;
		if (!n->is_caller[row->func] && row->max > 0)
			statistics_add(&f->fastest, row->min);
		statistics_add(&f->calls, row->calls);
		statistics_add(&f->self, row->self);
		statistics_add(&f->total, row->total);
		statistics_add(&f->suspended, row->suspended);
		statistics_add(&f->cost, statistics_scale(row->self, THOUSAND,
						  row->calls));
		statistics_add(&f->work, statistics_scale(row->self - off,
							  THOUSAND,
						  row->calls));
		statistics_add(&f->wait, statistics_scale(off, THOUSAND,
							  row->calls));
		statistics_add(&f->sleep, statistics_scale(n->sleep[row->func],
						   THOUSAND, row->calls));
	}
}

void merge_statistics_lift(struct session *s)
{
	const size_t funcs = func_count(s->funcs) + 1;
	struct rank *const r = rank_new(s, RANK_SELF, RANK_ALL_THREADS);
	struct counts n = { .sleep = mem_alloc(funcs * sizeof(uint64_t)),
			    .calls = mem_alloc(funcs * sizeof(uint64_t)),
			    .off = mem_alloc(funcs * sizeof(uint64_t)),
			    .is_caller = mem_alloc(funcs),
			    .edge = map_new() };

	for (node_id id = 1; id <= cct_count(s->cct); id++)
		count_node(&n, s->cct, id);
	lift_rows(s, r, &n);
	lift_edges(s, &n);
	mem_free(n.sleep);
	mem_free(n.calls);
	mem_free(n.off);
	mem_free(n.is_caller);
	mem_free(n.edges);
	map_free(n.edge);
	rank_free(r);
}

/* --- sums ---------------------------------------------------------------- */

static void join_func(struct func_statistics *to,
		      const struct func_statistics *more)
{
	statistics_join(&to->calls, &more->calls);
	statistics_join(&to->self, &more->self);
	statistics_join(&to->total, &more->total);
	statistics_join(&to->suspended, &more->suspended);
	statistics_join(&to->cost, &more->cost);
	statistics_join(&to->sleep, &more->sleep);
	statistics_join(&to->work, &more->work);
	statistics_join(&to->wait, &more->wait);
	statistics_join(&to->fastest, &more->fastest);
}

void merge_statistics_join(struct merge *c, const struct session *from,
			 const func_id *func)
{
	struct session *const s = c->sum;
	uint32_t *at;

	for (size_t i = 0; i < from->statistics_count; i++) {
		const struct func_statistics *const more = &from->statistics[i];

		at = map_put(c->statistics, func[more->func], 0);
		if (*at == 0) {
			vec_need(&s->statistics, &c->statistics_room,
				 s->statistics_count + 1);
			s->statistics[s->statistics_count] =
				(struct func_statistics){
				.func = func[more->func] };
			*at = (uint32_t)++s->statistics_count;
		}
		join_func(&s->statistics[*at - 1], more);
	}
	for (size_t i = 0; i < from->edge_count; i++) {
		const struct edge_statistics *const more = &from->edges[i];

		at = map_put(c->edges, func[more->caller], func[more->func]);
		if (*at == 0) {
			vec_need(&s->edges, &c->edge_room, s->edge_count + 1);
			s->edges[s->edge_count] = (struct edge_statistics){
				.caller = func[more->caller],
				.func = func[more->func] };
			*at = (uint32_t)++s->edge_count;
		}
		statistics_join(&s->edges[*at - 1].rate, &more->rate);
	}
}
