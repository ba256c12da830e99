/* diff_count.c - walks both trees and adds up.
 * SPDX-License-Identifier: MIT */
#include "analyzer/merge/diff_count.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

/* A walk over one side's tree. */
struct walk {
	struct diff_count *out;
	struct cct *cct;
	const uint32_t *pair_of;
	uint64_t *total;
	uint32_t *open;          /* by pair: on the path to the node at hand */
	int side;
};

static void add_edge(struct walk *w, uint32_t caller, uint32_t func,
		     int is_again, uint64_t calls)
{
	struct diff_count *const c = w->out;
	uint32_t *const at = map_put(c->edge_of, caller,
				     (uint64_t)func * 2 + (uint64_t)is_again);

	if (*at == 0) {
		vec_need(&c->edges, &c->edge_room, c->edge_count + 1);
		c->edges[c->edge_count] = (struct diff_edge){
			caller, func, is_again, { 0, 0 } };
		*at = (uint32_t)++c->edge_count;
	}
	c->edges[*at - 1].calls[w->side] += calls;
}

static void visit(struct walk *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const uint32_t pair = w->pair_of[n->func];
	const uint32_t caller = w->pair_of[cct_get(w->cct, n->parent)->func];
	struct diff_func *const f = &w->out->func[w->side][pair];
	const int is_again = w->open[pair] > 0;

	f->calls += n->calls;
	f->self += n->self;
	f->off += cct_cpu_of(w->cct, id).off;
	f->sleep += n->suspended;
	if (!is_again) {
		f->outer += n->calls;
		f->total += w->total[id];
	}
	if (n->calls > 0)
		add_edge(w, caller, pair, is_again, n->calls);
	w->open[pair]++;
}

static void leave(struct walk *w, node_id id)
{
	w->open[w->pair_of[cct_get(w->cct, id)->func]]--;
}

/* All below a root, without recursion. */
static void walk(struct walk *w, node_id root)
{
	node_id id = root;

	for (;;) {
		node_id next = cct_get(w->cct, id)->child;

		while (!next && id != root) {
			leave(w, id);
			next = cct_get(w->cct, id)->sibling;
			id = cct_get(w->cct, id)->parent;
		}
		if (!next)
			return;
		id = next;
		visit(w, id);
	}
}

void diff_count_init(struct diff_count *c, const struct diff_matches *p,
		      struct session *const side[2])
{
	*c = (struct diff_count){ .edge_of = map_new() };
	for (int i = 0; i < 2; i++) {
		struct cct *const t = side[i]->cct;
		const size_t nodes = cct_count(t) + 1;
		uint64_t *const susp = mem_alloc(nodes * sizeof(*susp));
		struct walk w = { c, t, p->of[i],
				  mem_alloc(nodes * sizeof(uint64_t)),
				  mem_alloc(p->count * sizeof(uint32_t)), i };

		c->func[i] = mem_alloc(p->count * sizeof(*c->func[i]));
		cct_totals(t, w.total, susp);
		for (node_id r = cct_first_root(t); r;
		     r = cct_get(t, r)->sibling) {
			walk(&w, r);
			c->func[i][0].self += cct_get(t, r)->self;
		}
		mem_free(susp);
		mem_free(w.total);
		mem_free(w.open);
	}
}

void diff_count_fini(struct diff_count *c)
{
	mem_free(c->func[0]);
	mem_free(c->func[1]);
	mem_free(c->edges);
	map_free(c->edge_of);
}
