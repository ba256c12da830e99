/* callers.c - each node of the tree belongs to one arc, from its parent's
 * function to its own.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/callers.h"
#include "analyzer/base/map.h"
#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph ---------------------------------------------------------- */

struct work {
	struct callers *c;
	struct cct *cct;
	struct cct_path *path;
	struct map *known;        /* from and to, resumes: index + 1 */
	size_t room;
	struct node_totals totals;
	/* By node, of outermost ones: the number of its arc + 1; its func. */
	uint32_t *arc, *func;
};

/* Valid until the next one is added. */
static struct callers_arc *arc_of(struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const func_id from = cct_get(w->cct, n->parent)->func;
	const bool resumes = (n->flags & CCT_BODY) != 0;
	uint32_t *const at = map_put(w->known, (uint64_t)from << 32 | n->func,
				     (uint64_t)resumes);
	struct callers *const c = w->c;

	if (*at == 0) {
		*vec_add(&c->arcs, &w->room, &c->arc_count) =
			(struct callers_arc){
				.of.func = n->func, .from = from,
				.resumes = resumes };
		*at = (uint32_t)c->arc_count;
	}
	return &c->arcs[*at - 1];
}

static void take_heap(struct cct_heap *from, const struct cct_heap *less)
{
	from->taken.bytes -= less->taken.bytes;
	from->in_use.bytes -= less->in_use.bytes;
}

/* From here on the time is no longer the time of the callee that the path went
 * through from the outer call, but this call's own. What is subtracted here was
 * added there: in the end no figure is below 0. */
static void take_off(struct work *w, node_id id)
{
	const struct cct_path *const p = w->path;
	struct callers_arc *const arc = arc_of(w, p->branch[id]);
	struct figures own = { .calls = 0 }, *const there = &arc->there;

	figures_add_total(&own, &w->totals, id);
	assert(there->total >= own.total);
	there->total -= own.total;
	there->raw_total -= own.raw_total;
	there->total_variance -= own.total_variance;
	there->below_variance -= own.below_variance;
	there->total_cpu -= MIN(own.total_cpu, there->total_cpu);
	there->total_off -= MIN(own.total_off, there->total_off);
	there->total_ready -= MIN(own.total_ready, there->total_ready);
	take_heap(&there->total_heap, &own.total_heap);
	if (p->body[id] == p->body[p->branch[id]])
		arc->suspended_of -= w->totals.suspended[id];
}

/* Add a node to the arc from its parent's function, and to its function. */
static void add_node(struct work *w, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const struct node_totals *const t = &w->totals;
	const bool is_outermost = cct_path_is_outermost(w->path, id);
	struct figures f = {
		.recursive = is_outermost ? 0 : n->calls,
		.suspended = cct_path_is_first(w->path, id) ?
			     t->suspended[id] : 0
	};
	struct callers_arc *const arc = arc_of(w, id);

	figures_add_own(&f, w->cct, id);
	figures_add_division(&f, w->cct, id);
	if (is_outermost) {
		figures_add_total(&f, t, id);
		w->arc[id] = (uint32_t)(arc - w->c->arcs) + 1;
		w->func[id] = n->func;
	}
	figures_add(&arc->of, &f);
	figures_add(&w->c->of[n->func], &f);
	w->c->slept[n->func] += n->suspended;
	figures_add_total(&arc->there, t, id);
	arc->suspended_of += t->suspended[id];
	if (!is_outermost)
		take_off(w, id);
}

/* How the times of what is below a row are divided is no sum over its nodes. */
static void divide(struct work *w)
{
	struct callers *const c = w->c;
	double *const of = cct_division_of_rows(w->cct, w->func, c->functions);
	double *const arcs = cct_division_of_rows(w->cct, w->arc,
						  c->arc_count);

	for (size_t f = 1; f <= c->functions; f++)
		c->of[f].below_variance = of[f];
	for (size_t i = 0; i < c->arc_count; i++) {
		struct callers_arc *const arc = &c->arcs[i];

		arc->of.below_variance = arcs[i + 1];
		if (arc->there.total == arc->of.total)
			arc->there.below_variance = arcs[i + 1];
	}
	mem_free_all(of, arcs);
}

/* An arc leads from its caller to its callee. */
static func_id end_of(const struct callers *c, size_t arc, bool by_callee)
{
	return by_callee ? c->arcs[arc].of.func : c->arcs[arc].from;
}

/* Sort the arcs by one of their ends, by counting. first[] is shifted by one
 * while places are given out, and put back at the end. Arcs of one end keep
 * their order. */
static void group(const struct callers *c, bool by_callee, size_t *order,
		  size_t *first)
{
	for (size_t i = 0; i < c->arc_count; i++)
		first[end_of(c, i, by_callee) + 1]++;
	for (size_t f = 1; f <= c->functions + 1; f++)
		first[f] += first[f - 1];
	for (size_t i = c->arc_count; i-- > 0; )
		order[--first[end_of(c, i, by_callee) + 1]] = i;
	for (size_t f = 0; f <= c->functions; f++)
		first[f] = first[f + 1];
	first[c->functions + 1] = c->arc_count;
	assert(first[0] == 0);
}

struct callers *callers_new(struct cct *cct, size_t functions)
{
	const size_t nodes = cct_count(cct) + 1;
	struct callers *const c = mem_alloc(sizeof(*c));
	struct work w = { .c = c, .cct = cct, .known = map_new(),
			  .path = cct_path_new(cct, functions),
			  .arc = mem_alloc(nodes * sizeof(*w.arc)),
			  .func = mem_alloc(nodes * sizeof(*w.func)) };

	node_totals_init(&w.totals, cct);
	c->functions = functions;
	c->of = mem_alloc((functions + 1) * sizeof(*c->of));
	c->slept = mem_alloc((functions + 1) * sizeof(*c->slept));
	for (node_id id = 1; id < nodes; id++) {
		figures_add_own(&c->all, cct, id);
		if (cct_get(cct, id)->parent != 0)
			add_node(&w, id);
	}
	if (cct_is_net(cct))
		divide(&w);
	c->into = mem_alloc((c->arc_count + 1) * sizeof(*c->into));
	c->out_of = mem_alloc((c->arc_count + 1) * sizeof(*c->out_of));
	c->first_into = mem_alloc((functions + 2) * sizeof(size_t));
	c->first_out = mem_alloc((functions + 2) * sizeof(size_t));
	group(c, true, c->into, c->first_into);
	group(c, false, c->out_of, c->first_out);
	node_totals_fini(&w.totals);
	map_free(w.known);
	mem_free_all(w.arc, w.func);
	cct_path_free(w.path);
	return c;
}

void callers_free(struct callers *c)
{
	if (!c)
		return;
	mem_free_all(c->of, c->slept, c->arcs, c->into, c->out_of,
		     c->first_into, c->first_out, c);
}

bool callers_has(const struct callers *c, func_id f)
{
	return c->first_into[f + 1] > c->first_into[f];
}

/* ---- rows --------------------------------------------------------------- */

/* The order of the arcs is that of the tree, which must not show: func and
 * relation break ties. */
static int compare(const void *a, const void *b, void *metric)
{
	const struct callers_row *const x = a, *const y = b;

	return metric_compare(metric, NULL, x, y) ?: UP(f.func) ?:
	       strcmp(x->relation, y->relation);
}

/* An arc as it is seen from one of its ends. */
static struct callers_row row_of(const struct callers *c,
				 const struct callers_arc *arc, bool is_callee)
{
	struct callers_row row = {
		.f = arc->of, .of = is_callee ? arc->from : arc->of.func,
		.text = "[outside]", .all_calls = c->of[arc->of.func].calls };

	assert(arc->of.recursive <= arc->of.calls);
	row.all_total = c->of[row.of].total;
	row.all_cpu = c->of[row.of].total_cpu;
	if (is_callee) {
		row.relation = arc->resumes ? "resumed" : "callee";
		row.f.total = arc->there.total;
		row.f.raw_total = arc->there.raw_total;
		row.f.total_variance = arc->there.total_variance;
		row.f.below_variance = fmax(arc->there.below_variance, 0);
		row.f.total_cpu = arc->there.total_cpu;
		row.f.total_off = arc->there.total_off;
		row.f.total_ready = arc->there.total_ready;
		row.f.suspended = arc->suspended_of;
		row.f.total_heap = arc->there.total_heap;
	} else {
		row.relation = arc->resumes ? "resumer" : "caller";
		row.f.func = arc->from;
	}
	return row;
}

struct callers_row *callers_rows(const struct callers *c, func_id f,
				 bool of_callees, const struct metric *metric,
				 size_t *count)
{
	const size_t *const first = of_callees ? c->first_out : c->first_into;
	const size_t *const order = of_callees ? c->out_of : c->into;
	struct callers_row *rows;

	assert(f <= c->functions && first[f] <= first[f + 1]);
	*count = first[f + 1] - first[f];
	rows = mem_alloc((*count + 1) * sizeof(*rows));
	for (size_t i = 0; i < *count; i++)
		rows[i] = row_of(c, &c->arcs[order[first[f] + i]], of_callees);
	qsort_r(rows, *count, sizeof(*rows), compare,
		(void *)(uintptr_t)metric);
	return rows;
}

struct callers_row callers_own(const struct callers *c, func_id f)
{
	struct callers_row row = {
		.f = c->of[f], .of = f, .relation = "function", .text = "",
		.all_calls = c->all.calls, .all_total = c->all.self,
		.all_cpu = c->all.cpu };

	row.f.func = f;
	return row;
}

/* ---- their columns ------------------------------------------------------ */

/* The table tells a function's calls of itself apart. */
static METRIC_GETTER(get_relation)
{
	const struct callers_row *const r = row;

	v->text = r->relation;
	if (r->f.func == r->of && strcmp(r->relation, "caller") == 0)
		v->brief = "itself";
}

static METRIC_GETTER(get_share)
{
	const struct callers_row *const r = row;
	const bool of_calls = strcmp(m->name, "calls-share") == 0;
	const bool of_cpu = strcmp(m->name, "cpu-share") == 0;

	v->count = of_calls ? r->f.calls : of_cpu ? r->f.total_cpu : r->f.total;
	v->whole = of_calls ? r->all_calls : of_cpu ? r->all_cpu : r->all_total;
}

/* The table indents callers and callees. */
static METRIC_GETTER(get_name)
{
	const struct callers_row *const r = row;
	const bool is_own = strcmp(r->relation, "function") == 0;

	v->text = r->f.func == 0 ? r->text :
		  func_get(s->session->funcs, r->f.func)->name;
	snprintf(v->room, sizeof(v->room), "%s%s", is_own ? "" : "    ",
		 v->text);
	v->brief = v->room;
}

static const struct metric metrics[] = {
	METRIC_TOTAL,
	METRIC_TOTAL_ERROR,
	METRIC_RAW_TOTAL,
	{ "share", METRIC_SHARE, METRIC_OF_TIME, .get = get_share, .drop = 1,
	  .help = "share of the function's total" },
	METRIC_SELF,
	METRIC_SELF_ERROR,
	METRIC_RAW_SELF,
	METRICS_CPU,
	{ "cpu-share", METRIC_SHARE, METRIC_SWITCHES, "share",
	  .get = get_share, .drop = 1,
	  .help = "share of the function's total-cpu" },
	METRIC_SUSPENDED,
	METRIC_CALLS,
	{ "calls-share", METRIC_SHARE, 0, "share", .get = get_share, .drop = 3,
	  .help = "share of the callee's calls" },
	METRIC_RECURSIVE,
	METRICS_HEAP,
	METRIC_PLACE(struct callers_row, f.func, "", "other_"),
	{ "relation", METRIC_TEXT, 0, "", .get = get_relation,
	  .help = "function/caller/resumer/callee/resumed" },
	{ "function", METRIC_TEXT, METRIC_AT(struct callers_row, of),
	  metric_function, .help = "the function asked for; of-...: its" },
	METRIC_PLACE(struct callers_row, of, "of-", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "other",
	  .get = get_name, .shrink = 24, .help = "its caller or callee" },
	{ .name = NULL }
};

#define CALLS "relation,calls,calls-share,recursive,"
#define REST "suspended,language,name", \
	"relation,function,of-language,of-module,of-file,of-line,name," \
	"language,module,file,line,calls,recursive,self,total,suspended" \
	METRICS_NET_CSV METRICS_CPU_CSV

const struct metric_view callers_views[METRIC_RANKINGS] = {
	[METRIC_BY_TIME] = { metrics, CALLS
		"total,total-error,share,self," REST },
	[METRIC_BY_CPU] = { metrics, CALLS "total-cpu,total-cpu-error,"
		"cpu-share,total-run-wait,total-blocked,cpu," REST },
	[METRIC_BY_WAITING] = { metrics, CALLS "total-blocked,total-run-wait,"
		"total-cpu,blocked," REST },
};
