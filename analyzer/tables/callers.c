/* callers.c - each node of the tree belongs to one arc, from its parent's
 * function to its own.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/callers.h"
#include "analyzer/model/cct.h"
#include "analyzer/base/map.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"

#include <stdlib.h>

struct work {
	struct callers *c;
	struct cct *cct;
	struct cct_path *path;
	struct map *known;        /* from and to, resumes: index + 1 */
	size_t room;
	uint64_t *total, *suspended;
};

/* Valid until the next one is added. */
static struct callers_arc *arc_of(struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const func_id from = cct_get(w->cct, n->parent)->func;
	const int resumes = (n->flags & CCT_BODY) != 0;
	uint32_t *const at = map_put(w->known, (uint64_t)from << 32 | n->func,
				     (uint64_t)resumes);
	struct callers *const c = w->c;

	if (*at == 0) {
		*vec_add(&c->arcs, &w->room, &c->arc_count) =
			(struct callers_arc){
				.from = from, .to = n->func,
				.resumes = resumes };
		*at = (uint32_t)c->arc_count;
	}
	return &c->arcs[*at - 1];
}

static void add(struct callers_figures *to, const struct callers_figures *more)
{
	to->calls += more->calls;
	to->recursive += more->recursive;
	to->self += more->self;
	to->total += more->total;
	to->suspended += more->suspended;
}

/* Below the outer activation this one's time is no longer the callee's that the
 * path went through, but its own. What is taken off here was added there: by
 * the end no figure is below 0. */
static void take_off(struct work *w, node_id id)
{
	const struct cct_path *const p = w->path;
	struct callers_arc *const arc = arc_of(w, p->branch[id]);

	arc->total_of -= w->total[id];
	if (p->body[id] == p->body[p->branch[id]])
		arc->suspended_of -= w->suspended[id];
}

static void add_node(struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const int is_outermost = cct_path_is_outermost(w->path, id);
	const struct callers_figures f = {
		.calls = n->calls, .recursive = is_outermost ? 0 : n->calls,
		.self = n->self, .total = is_outermost ? w->total[id] : 0,
		.suspended = cct_path_is_first(w->path, id) ?
			     w->suspended[id] : 0
	};
	struct callers_arc *const arc = arc_of(w, id);

	add(&arc->of, &f);
	add(&w->c->of[n->func], &f);
	arc->total_of += w->total[id];
	arc->suspended_of += w->suspended[id];
	if (!is_outermost)
		take_off(w, id);
}

/* Put the arcs in order of a function, by counting. */
static void group(const struct callers *c, int by_to, size_t *order,
		  size_t *first)
{
	for (size_t i = 0; i < c->arc_count; i++)
		first[(by_to ? c->arcs[i].to : c->arcs[i].from) + 1]++;
	for (size_t f = 1; f <= c->functions + 1; f++)
		first[f] += first[f - 1];
	for (size_t i = c->arc_count; i-- > 0; )
		order[--first[(by_to ? c->arcs[i].to : c->arcs[i].from) + 1]]
			= i;
	for (size_t f = 0; f <= c->functions; f++)
		first[f] = first[f + 1];
	first[c->functions + 1] = c->arc_count;
}

struct callers *callers_new(struct cct *cct, size_t functions)
{
	const size_t nodes = cct_count(cct) + 1;
	struct callers *const c = mem_alloc(sizeof(*c));
	struct work w = { .c = c, .cct = cct, .known = map_new(),
			  .path = cct_path_new(cct, functions) };

	w.total = mem_alloc(nodes * sizeof(*w.total));
	w.suspended = mem_alloc(nodes * sizeof(*w.suspended));
	cct_totals(cct, w.total, w.suspended);
	c->functions = functions;
	c->of = mem_alloc((functions + 1) * sizeof(*c->of));
	for (node_id id = 1; id < nodes; id++)
		if (cct_get(cct, id)->parent != 0)
			add_node(&w, id);
	c->into = mem_alloc((c->arc_count + 1) * sizeof(*c->into));
	c->out_of = mem_alloc((c->arc_count + 1) * sizeof(*c->out_of));
	c->first_into = mem_alloc((functions + 2) * sizeof(size_t));
	c->first_out = mem_alloc((functions + 2) * sizeof(size_t));
	group(c, 1, c->into, c->first_into);
	group(c, 0, c->out_of, c->first_out);
	mem_free(w.total);
	mem_free(w.suspended);
	map_free(w.known);
	cct_path_free(w.path);
	return c;
}

void callers_free(struct callers *c)
{
	if (!c)
		return;
	mem_free(c->of);
	mem_free(c->arcs);
	mem_free(c->into);
	mem_free(c->out_of);
	mem_free(c->first_into);
	mem_free(c->first_out);
	mem_free(c);
}

struct order { enum callers_key key; int is_out; };

static uint64_t value(const struct callers_arc *arc, const struct order *o)
{
	switch (o->key) {
	case CALLERS_TOTAL:
		return o->is_out ? arc->total_of : arc->of.total;
	case CALLERS_SELF:
		return arc->of.self;
	case CALLERS_CALLS:
		return arc->of.calls;
	case CALLERS_SUSPENDED:
		return o->is_out ? arc->suspended_of : arc->of.suspended;
	}
	return 0;
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct callers_arc *const *const ax = a, *const *const ay = b;
	const struct callers_arc *const x = *ax, *const y = *ay;
	const uint64_t vx = value(x, ctx), vy = value(y, ctx);

	if (vx != vy)
		return vx < vy ? 1 : -1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->resumes - y->resumes;
}

static const struct callers_arc **sorted(const struct callers *c,
					 const size_t *order, size_t count,
					 struct order by)
{
	const struct callers_arc **const arcs =
		mem_alloc((count + 1) * sizeof(*arcs));

	for (size_t i = 0; i < count; i++)
		arcs[i] = &c->arcs[order[i]];
	qsort_r(arcs, count, sizeof(*arcs), compare, &by);
	return arcs;
}

const struct callers_arc **callers_into(const struct callers *c, func_id f,
					enum callers_key key, size_t *count)
{
	const size_t first = c->first_into[f];

	*count = c->first_into[f + 1] - first;
	return sorted(c, c->into + first, *count, (struct order){ key, 0 });
}

const struct callers_arc **callers_out_of(const struct callers *c, func_id f,
					  enum callers_key key, size_t *count)
{
	const size_t first = c->first_out[f];

	*count = c->first_out[f + 1] - first;
	return sorted(c, c->out_of + first, *count, (struct order){ key, 1 });
}
