/* flat.c - the flat table: each node of the tree adds its figures to the row of
 * its group.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/flat.h"
#include "analyzer/model/hist.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows --------------------------------------------------------------- */

/* What adding up needs, beside the table. */
struct work {
	struct cct *cct;
	const struct groups *groups;
	struct cct_path *path;       /* of groups */
	struct node_totals totals;
	struct flat_row *row;    /* by group */
	uint8_t *seen;           /* by group: 1: it has a node; 2: and a
	                          * finished call */
	bool *is_in;             /* by node: is its thread counted? */
};

/* The shortest and the longest call of the row; 0 is a length, too. */
static void add_range(struct work *w, uint32_t group, const struct cct_node *n)
{
	struct flat_row *const row = &w->row[group];

	if (!(n->flags & CCT_TIMED))
		return;
	if (w->seen[group] < 2 || n->min < row->min)
		row->min = n->min;
	if (w->seen[group] < 2 || n->max > row->max)
		row->max = n->max;
	w->seen[group] = 2;
}

/* Is the node its group's outermost in its coroutine? A thread's root is in no
 * coroutine. */
static bool is_first(const struct work *w, node_id id)
{
	return cct_path_is_first(w->path, id) ||
	       !cct_get(w->cct, w->path->same[id])->parent;
}

/* Group 0 is none: time in no function, for most kinds of groups. What a node
 * did itself counts for its group in any case. A total counts only if the node
 * is the group's outermost on its path: the nodes of the group below it are
 * part of it. */
static void add_node(struct work *w, node_id id)
{
	const uint32_t group = w->groups->of[id];
	struct flat_row *const row = &w->row[group];

	assert(group <= w->groups->count);
	if (group == 0)
		return;
	if (!w->seen[group])
		w->seen[group] = 1;
	figures_add_own(&row->f, w->cct, id);
	if (w->groups->group[group].func == cct_get(w->cct, id)->func)
		figures_add_division(&row->f, w->cct, id);
	else if (cct_is_net(w->cct))
		cct_division_add_given(&row->f.given, w->cct, id);
	if (cct_path_is_outermost(w->path, id))
		figures_add_total(&row->f, &w->totals, id);
	else
		row->f.recursive += cct_get(w->cct, id)->calls;
	if (is_first(w, id))
		row->f.suspended += w->totals.suspended[id];
	add_range(w, group, cct_get(w->cct, id));
}

/* How the times of what is below a row are divided is no sum over its nodes. */
static void divide(struct work *w)
{
	const size_t nodes = cct_count(w->cct) + 1;
	uint32_t *const of = mem_alloc(nodes * sizeof(*of));
	double *variance;

	for (node_id id = 1; id < nodes; id++)
		of[id] = w->is_in[id] && cct_path_is_outermost(w->path, id) ?
			 w->groups->of[id] : 0;
	variance = cct_division_of_rows(w->cct, of, w->groups->count);
	for (uint32_t g = 1; g <= w->groups->count; g++)
		w->row[g].f.below_variance = variance[g];
	mem_free_all(of, variance);
}

/* A root's thread decides for all nodes below it. Parents come before their
 * children. */
static void add_all(struct flat *t, struct work *w)
{
	for (node_id id = 1; id <= cct_count(w->cct); id++) {
		const struct cct_node *const n = cct_get(w->cct, id);

		w->is_in[id] = n->parent ? w->is_in[n->parent] :
			       t->thread == CCT_ALL_THREADS ||
			       n->thread == t->thread;
		if (!w->is_in[id])
			continue;
		if (!n->parent && !w->groups->of[id])
			t->root_self += n->self;
		add_node(w, id);
	}
}

/* The groups that have a node, in the order of their numbers. */
static void collect(struct flat *t, const struct work *w)
{
	t->rows = mem_alloc((t->groups->count + 1) * sizeof(*t->rows));
	for (uint32_t g = 1; g <= t->groups->count; g++) {
		struct flat_row *const row = &t->rows[t->count];

		if (!w->seen[g])
			continue;
		*row = w->row[g];
		assert(row->f.self <= row->f.total && row->min <= row->max);
		assert(row->f.recursive <= row->f.calls);
		row->group = g;
		row->f.func = t->groups->group[g].func;
		t->self += row->f.self;
		t->cpu += row->f.cpu;
		t->blocked += figures_blocked(row->f.off, row->f.ready);
		t->calls += row->f.calls;
		t->count++;
	}
}

/* ---- percentiles -------------------------------------------------------- */

/* The nodes with finished calls as a list for each group: first[group],
 * next[node]. */
struct lists { node_id *first, *next; };

/* Lists, because the histograms of a group are added up in one array that is
 * used for one group after another. */
static struct lists list_nodes(const struct work *w)
{
	const node_id count = (node_id)cct_count(w->cct);
	struct lists l = {
		mem_alloc((w->groups->count + 1) * sizeof(*l.first)),
		mem_alloc((count + 1) * sizeof(*l.next)) };

	for (node_id id = 1; id <= count; id++) {
		const uint32_t group = w->groups->of[id];

		if (!w->is_in[id] || !(cct_get(w->cct, id)->flags & CCT_TIMED))
			continue;
		l.next[id] = l.first[group];
		l.first[group] = id;
	}
	return l;
}

void flat_quantiles(uint64_t *counts, uint64_t brief, ticks least, ticks most,
		    ticks *const to[3])
{
	static const unsigned permille[3] = { 500, 950, 990 };
	uint64_t all = brief;

	for (size_t i = 0; i < HIST_STEPS; i++)
		all += counts[i];
	/* Brief calls are the shortest ones. */
	counts[0] += brief;
	for (int i = 0; i < 3; i++)
		*to[i] = all == 0 ? 0 : all == brief ||
			 (double)brief * 1000 >= (double)all * permille[i] ?
			 FLAT_BRIEF : hist_quantile(counts, all, permille[i],
						    least, most);
}

/* Quantiles cannot be added up, but the histograms of nodes can. min and max
 * are exact, and so bound the quantiles. */
static void add_quantiles(struct flat *t, const struct work *w)
{
	struct lists l;

	if (!cct_has_hist(w->cct))
		return;
	t->has_quantiles = true;
	l = list_nodes(w);
	for (size_t i = 0; i < t->count; i++) {
		struct flat_row *const row = &t->rows[i];
		uint64_t counts[HIST_STEPS] = { 0 };

		for (node_id id = l.first[row->group]; id; id = l.next[id])
			cct_hist_counts(w->cct, id, counts);
		flat_quantiles(counts, row->f.counted.brief, row->min,
			       row->max, (ticks *[]){
			       &row->p50, &row->p95, &row->p99 });
	}
	mem_free_all(l.first, l.next);
}

/* ---- the table ---------------------------------------------------------- */

static void fill(struct flat *t)
{
	struct cct *const cct = t->session->cct;
	const size_t groups = t->groups->count + 1;
	struct work w = {
		.cct = cct, .groups = t->groups,
		.path = cct_path_new_of(cct, t->groups->of, groups),
		.row = mem_alloc(groups * sizeof(*w.row)),
		.seen = mem_alloc(groups),
		.is_in = mem_alloc((cct_count(cct) + 1) * sizeof(*w.is_in)) };

	node_totals_init(&w.totals, cct);
	add_all(t, &w);
	if (cct_is_net(cct))
		divide(&w);
	collect(t, &w);
	add_quantiles(t, &w);
	cct_path_free(w.path);
	node_totals_fini(&w.totals);
	mem_free_all(w.row, w.seen, w.is_in);
}

struct flat *flat_new(struct session *s, const struct flat_options *options)
{
	static const struct flat_options usual = { .thread = CCT_ALL_THREADS };
	const struct flat_options *const o = options ? options : &usual;
	struct flat *const t = mem_alloc(sizeof(*t));
	uint64_t time, unknown;

	t->session = s;
	t->thread = o->thread;
	t->groups = group_all(s, o->by);
	fill(t);
	t->has_switches = cct_knows_switches(s->cct, &time, &unknown);
	flat_sort(t, o->sort ? o->sort : metric_first(flat_views));
	return t;
}

void flat_free(struct flat *t)
{
	if (!t)
		return;
	group_free(t->groups);
	mem_free_all(t->rows, t);
}

const char *flat_name(const struct flat *t, const struct flat_row *row)
{
	return t->groups->group[row->group].name;
}

uint64_t flat_whole(const struct flat *t, const struct metric *m)
{
	uint64_t sum = 0;
	struct metric_value v;

	for (size_t i = 0; i < t->count; i++) {
		metric_get(m, NULL, &t->rows[i], &v);
		sum += v.count;
	}
	return sum;
}

struct order { const struct metric *metric; struct metric_source source; };

static int compare(const void *a, const void *b, void *ctx)
{
	const struct flat_row *const x = a, *const y = b;
	const struct order *const o = ctx;

	return metric_compare(o->metric, &o->source, x, y) ?: UP(f.func) ?:
	       UP(group);
}

void flat_sort(struct flat *t, const struct metric *metric)
{
	struct order o = { metric, { t->session, t, t->has_switches } };

	qsort_r(t->rows, t->count, sizeof(*t->rows), compare, &o);
}

/* ---- its columns -------------------------------------------------------- */

/* share and traced: of the rows' time, or of all time that was traced, that in
 * no function included. */
static METRIC_GETTER(get_share)
{
	const struct flat *const t = s->table;

	v->count = ((const struct flat_row *)row)->f.self;
	v->whole = t->self + (strcmp(m->name, "traced") ? 0 : t->root_self);
}

static METRIC_GETTER(get_cpu_share)
{
	v->count = ((const struct figures *)row)->cpu;
	v->whole = ((const struct flat *)s->table)->cpu;
}

static METRIC_GETTER(get_blocked_share)
{
	const struct figures *const f = row;

	v->count = figures_blocked(f->off, f->ready);
	v->whole = ((const struct flat *)s->table)->blocked;
}

/* Recursive calls count as calls, but not in total: the mean of a recursive
 * function is less than that of its outermost calls. */
static METRIC_GETTER(get_mean)
{
	const struct figures *const f = row;

	v->is_none = figures_timed(f) == 0;
	v->count = v->is_none ? 0 : f->total / figures_timed(f);
	v->real = v->is_none ? 0 : (double)f->total /
				   (double)figures_timed(f);
}

/* No brief call is longer than one that has records. */
static METRIC_GETTER(get_min)
{
	v->is_unknown = ((const struct figures *)row)->counted.brief > 0;
}

static METRIC_GETTER(get_max)
{
	v->is_unknown = ((const struct figures *)row)->counted.brief > 0 &&
			v->count == 0;
}

/* Without histograms the field is unknown. */
static METRIC_GETTER(get_quantile)
{
	v->is_unknown = v->count == FLAT_BRIEF ||
			(s && !((const struct flat *)s->table)->has_quantiles);
	if (v->count == FLAT_BRIEF)
		v->count = 0;
}

/* pid, tid or thread: the name for the text, else the number. The table is of
 * one thread. */
static METRIC_GETTER(get_thread)
{
	const struct flat *const t = s->table;
	const struct thread *const thread = &s->session->threads[t->thread];

	v->text = thread->name;
	v->count = m->name[0] == 't' ? thread->tid :
		   s->session->processes[thread->process].pid;
}

static METRIC_GETTER(get_name)
{
	v->text = flat_name(s->table, row);
}

#define AT(field) METRIC_AT(struct flat_row, field)
#define QUANTILE(name, help) \
	{ #name, METRIC_TIME, \
	  METRIC_SORTS | METRIC_QUANTILE | METRIC_KNOWN, \
	  NULL, NULL, help, AT(name), get_quantile }

/* In the order of "--columns all" and of the help. A new column is a row here,
 * and its name below if it is a usual one; .drop is for usual ones alone. */
static const struct metric metrics[] = {
	METRIC_SELF,
	METRIC_SELF_ERROR,
	METRIC_RAW_SELF,
	{ "share", METRIC_SHARE, METRIC_OF_TIME | METRIC_KNOWN,
	  .get = get_share, .help = "self as a share of all rows' self" },
	{ "traced", METRIC_SHARE, METRIC_OF_TIME | METRIC_KNOWN,
	  .get = get_share,
	  .help = "self as a share of all traced time" },
	METRIC_TOTAL,
	METRIC_TOTAL_ERROR,
	METRIC_RAW_TOTAL,
	METRIC_WALL,
	METRIC_SUSPENDED,
	METRICS_CPU,
	{ "cpu-share", METRIC_SHARE, METRIC_SWITCHES | METRIC_KNOWN, "share",
	  .get = get_cpu_share, .help = "cpu as a share of all rows' cpu" },
	{ "blocked-share", METRIC_SHARE, METRIC_SWITCHES | METRIC_KNOWN,
	  "share", .get = get_blocked_share,
	  .help = "blocked as a share of all rows' blocked" },
	METRIC_CALLS,
	METRIC_RECURSIVE,
	METRICS_HEAP,
	{ "mean", METRIC_MEAN, METRIC_SORTS | METRIC_KNOWN | METRIC_SEEN,
	  .get = get_mean,
	  .drop = 3,
	  .help = "total per call" },
	{ "min", METRIC_TIME, METRIC_SORTS | METRIC_KNOWN, AT(min),
	  .get = get_min, .help = "the shortest finished call" },
	QUANTILE(p50, "half of them took no longer"),
	QUANTILE(p95, "95% of them took no longer"),
	QUANTILE(p99, "99% of them took no longer"),
	{ "max", METRIC_TIME, METRIC_SORTS | METRIC_KNOWN, AT(max),
	  .get = get_max, .help = "the longest finished call" },
	METRIC_PLACE(struct flat_row, f.func, "", ""),
	{ "pid", METRIC_NUMBER, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the process, with --tables" },
	{ "tid", METRIC_NUMBER, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the thread's number" },
	{ "thread", METRIC_TEXT, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the thread's name" },
	{ "name", METRIC_TEXT, METRIC_SORTS | METRIC_NAME, "function",
	  "function", .get = get_name, .shrink = 24,
	  .help = "the function, or the group" },
	{ .name = NULL }
};

#define CSV "pid,tid,thread,name,language,module,file,line,calls,self,total," \
	"suspended,wall,mean,min,max,p50,p95,p99" METRICS_CPU_CSV ",share" \
	METRICS_NET_CSV

const struct metric_view flat_views[METRIC_RANKINGS] = {
	[METRIC_BY_TIME] = { metrics, "self,self-error,share,total,suspended,"
		"cpu,run-wait,blocked,calls,mean,language,file,name", CSV },
	[METRIC_BY_CPU] = { metrics, "cpu,cpu-error,cpu-share,run-wait,blocked,"
		"total,suspended,calls,mean,language,file,name", CSV },
	[METRIC_BY_WAITING] = { metrics, "blocked,blocked-share,run-wait,cpu,"
		"total,suspended,calls,mean,language,file,name", CSV },
};
