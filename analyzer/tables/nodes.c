/* nodes.c - figures of single nodes. Rows are made one at a time: there may be
 * millions.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/nodes.h"

#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "analyzer/tables/flat.h"

#include <string.h>

struct nodes {
	struct session *session;
	struct node_totals totals;
	struct cct_path *path;
	uint32_t *thread, *depth; /* by node: what it has from its parent */
	bool has_quantiles;
	struct node_row row;
};

struct nodes *nodes_new(struct session *s)
{
	const size_t room = cct_count(s->cct) + 1;
	struct nodes *const n = mem_alloc(sizeof(*n));

	n->session = s;
	node_totals_init(&n->totals, s->cct);
	n->path = cct_path_new(s->cct, func_count(s->funcs));
	n->thread = mem_alloc(room * sizeof(*n->thread));
	n->depth = mem_alloc(room * sizeof(*n->depth));
	n->has_quantiles = cct_has_hist(s->cct);
	return n;
}

void nodes_free(struct nodes *n)
{
	if (!n)
		return;
	node_totals_fini(&n->totals);
	cct_path_free(n->path);
	mem_free_all(n->thread, n->depth, n);
}

size_t nodes_count(const struct nodes *n)
{
	return cct_count(n->session->cct);
}

/* ---- rows --------------------------------------------------------------- */

/* One call, or calls of one length, need no histogram: most nodes have such. */
static void set_quantiles(struct nodes *n, node_id id)
{
	struct node_row *const row = &n->row;
	const uint64_t brief = row->f.counted.brief;
	uint64_t counts[HIST_STEPS];

	row->p50 = row->p95 = row->p99 = row->min;
	if ((row->min == row->max && brief == 0) || !n->has_quantiles)
		return;
	memset(counts, 0, sizeof(counts));
	cct_hist_counts(n->session->cct, id, counts);
	flat_quantiles(counts, brief, row->min, row->max,
		       (ticks *[]){ &row->p50, &row->p95, &row->p99 });
}

static void set_figures(struct nodes *n, node_id id)
{
	const struct cct_node *const c = cct_get(n->session->cct, id);
	struct figures *const f = &n->row.f;

	f->func = c->func;
	figures_add_own(f, n->session->cct, id);
	figures_add_division(f, n->session->cct, id);
	figures_add_total(f, &n->totals, id);
	f->recursive = n->row.is_outermost ? 0 : c->calls;
	f->suspended = n->totals.suspended[id];
	n->row.slept = c->suspended;
	n->row.min = c->min;
	n->row.max = c->max;
}

/* Threads that are not in the list stand for all. */
const struct node_row *nodes_row(struct nodes *n, size_t i)
{
	const node_id id = (node_id)i + 1;
	const struct cct_node *const c = cct_get(n->session->cct, id);
	const bool is_root = c->parent == 0;

	n->depth[id] = is_root ? 0 : n->depth[c->parent] + 1;
	n->thread[id] = !is_root ? n->thread[c->parent] :
			c->thread < n->session->thread_count ? c->thread + 1 :
			0;
	n->row = (struct node_row){
		.number = id, .parent = c->parent, .thread = n->thread[id],
		.depth = n->depth[id], .is_body = (c->flags & CCT_BODY) != 0,
		.is_outermost = cct_path_is_outermost(n->path, id) };
	set_figures(n, id);
	set_quantiles(n, id);
	return &n->row;
}

/* ---- their columns ------------------------------------------------------ */

/* 0 stands for none. */
static METRIC_GETTER(get_if_any)
{
	v->is_unknown = v->count == 0;
}

/* Without histograms the field is unknown. */
static METRIC_GETTER(get_quantile)
{
	v->is_unknown = v->count == FLAT_BRIEF ||
			!((const struct nodes *)s->table)->has_quantiles;
}

/* No brief call is longer than one that has records. */
static METRIC_GETTER(get_bound)
{
	v->is_unknown = ((const struct figures *)row)->counted.brief > 0 &&
			(v->count == 0 || m->name[1] == 'i');
}

static METRIC_GETTER(get_thread_name)
{
	const struct node_row *const r = row;

	v->text = r->thread == 0 ? "" :
		  s->session->threads[r->thread - 1].name;
}

#define AT(field) METRIC_AT(struct node_row, field)
#define QUANTILE(name, help) \
	{ #name, METRIC_TIME, METRIC_QUANTILE | METRIC_KNOWN, NULL, NULL, \
	  help, AT(name), get_quantile }

static const struct metric metrics[] = {
	{ "id", METRIC_NUMBER, .help = "the node's number", AT(number) },
	{ "parent", METRIC_NUMBER, .help = "the node above it; none: a thread",
	  AT(parent), get_if_any },
	{ "thread", METRIC_NUMBER, .help = "its thread; none: all threads",
	  AT(thread), get_if_any },
	{ "thread-name", METRIC_TEXT, .help = "the thread's name",
	  .get = get_thread_name },
	{ "function", METRIC_NUMBER, .help = "its function; none: a thread",
	  AT(f.func), get_if_any },
	{ "depth", METRIC_NUMBER, .help = "0: a thread", AT(depth) },
	{ "is-body", METRIC_NUMBER, .help = "1: outermost in a coroutine",
	  AT(is_body) },
	{ "is-outermost", METRIC_NUMBER, .help = "1: its function is not open "
	  "above it", AT(is_outermost) },
	METRIC_CALLS,
	METRIC_SELF,
	METRIC_SELF_ERROR,
	METRIC_RAW_SELF,
	METRIC_TOTAL,
	METRIC_TOTAL_ERROR,
	METRIC_RAW_TOTAL,
	METRIC_SUSPENDED,
	{ "slept", METRIC_TIME, .help = "suspended as the innermost frame",
	  AT(slept) },
	METRICS_CPU,
	METRICS_HEAP,
	{ "min", METRIC_TIME, METRIC_KNOWN, NULL, NULL,
	  "the shortest finished call", AT(min), get_bound },
	QUANTILE(p50, "half of them took no longer"),
	QUANTILE(p95, "95% of them took no longer"),
	QUANTILE(p99, "99% of them took no longer"),
	{ "max", METRIC_TIME, METRIC_KNOWN, NULL, NULL,
	  "the longest finished call", AT(max), get_bound },
	METRIC_PLACE(struct node_row, f.func, "", ""),
	{ "name", METRIC_TEXT, .help = "its function", AT(f.func),
	  metric_function },
	{ .name = NULL }
};

const struct metric_view nodes_view = {
	metrics,
	"name,self,total,calls",
	"id,parent,thread,thread-name,depth,is-body,is-outermost,name,language,"
	"module,file,line,calls,self,total,suspended,slept" METRICS_CPU_CSV
	",min,p50,p95,p99,max" METRICS_NET_CSV METRICS_HEAP_CSV
};
