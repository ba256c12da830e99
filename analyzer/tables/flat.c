/* flat.c - the flat table: each node of the tree adds its figures to the row of
 * its group.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/flat.h"
#include "analyzer/model/hist.h"
#include "analyzer/base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums of subtrees --------------------------------------------------- */

/* By node: sums over the node and all below it. off and unknown are NULL if
 * nothing is known about switches. */
struct sums {
	uint64_t *total, *suspended, *off, *unknown;
	struct net_totals net;
};

/* The two pairs of arrays are one block each. Children have larger ids than
 * their parents, so a walk from the last id to the first adds up subtrees. */
static struct sums sum_up(struct cct *t)
{
	const size_t nodes = cct_count(t) + 1;
	struct sums s = { .total = mem_alloc(2 * nodes * sizeof(uint64_t)) };

	s.suspended = s.total + nodes;
	cct_totals(t, s.total, s.suspended);
	net_totals_init(&s.net, t);
	if (!cct_has_cpu(t))
		return s;
	s.off = mem_alloc(2 * nodes * sizeof(uint64_t));
	s.unknown = s.off + nodes;
	for (size_t id = nodes - 1; id > 0; id--) {
		const node_id parent = cct_get(t, (node_id)id)->parent;
		const struct cct_cpu cpu = cct_cpu_of(t, (node_id)id);

		s.off[id] += cpu.off;
		s.unknown[id] += cpu.unknown;
		if (parent) {
			s.off[parent] += s.off[id];
			s.unknown[parent] += s.unknown[id];
		}
	}
	return s;
}

/* What is left on the CPU. A signal handler's time was subtracted from what it
 * interrupted, but its time off the CPU was not: that may be more than is
 * left. */
static ticks on_cpu(ticks whole, ticks off, ticks unknown)
{
	return whole > off + unknown ? whole - off - unknown : 0;
}

/* ---- rows --------------------------------------------------------------- */

/* What adding up needs, beside the table. */
struct work {
	struct cct *cct;
	const struct groups *groups;
	struct cct_path *path;       /* of groups */
	struct sums sums;
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

/* What a node did itself counts for its group in any case. */
static void add_self(struct work *w, struct flat_row *row, node_id id)
{
	const struct cct_node *const n = cct_get(w->cct, id);
	const struct cct_cpu cpu = cct_cpu_of(w->cct, id);

	row->f.calls += n->calls;
	row->f.self += n->self;
	figures_add_net_self(&row->f, w->cct, id);
	if (!w->sums.off)
		return;
	row->off += cpu.off;
	row->cpu += on_cpu(n->self, cpu.off, cpu.unknown);
}

/* Only for a group's outermost node on its path: the nodes of the group below
 * it are part of its total. */
static void add_total(struct work *w, struct flat_row *row, node_id id)
{
	row->f.total += w->sums.total[id];
	figures_add_net_total(&row->f, &w->sums.net, id);
	if (!w->sums.off)
		return;
	row->total_off += w->sums.off[id];
	row->total_cpu += on_cpu(w->sums.total[id], w->sums.off[id],
				 w->sums.unknown[id]);
}

/* Is the node its group's outermost in its coroutine? A thread's root is in no
 * coroutine. */
static bool is_first(const struct work *w, node_id id)
{
	return cct_path_is_first(w->path, id) ||
	       !cct_get(w->cct, w->path->same[id])->parent;
}

/* Group 0 is none: time in no function, for most kinds of groups. */
static void add_node(struct work *w, node_id id)
{
	const uint32_t group = w->groups->of[id];
	struct flat_row *const row = &w->row[group];

	assert(group <= w->groups->count);
	if (group == 0)
		return;
	if (!w->seen[group])
		w->seen[group] = 1;
	add_self(w, row, id);
	if (cct_path_is_outermost(w->path, id))
		add_total(w, row, id);
	else
		row->f.recursive += cct_get(w->cct, id)->calls;
	if (is_first(w, id))
		row->f.suspended += w->sums.suspended[id];
	add_range(w, group, cct_get(w->cct, id));
}

/* Without switches, all of the time is unknown. */
static void add_root(struct flat *t, const struct work *w, node_id root)
{
	if (!w->groups->of[root])
		t->root_self += cct_get(w->cct, root)->self;
	t->unknown += w->sums.off ? w->sums.unknown[root] :
		      w->sums.total[root];
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
		if (!n->parent)
			add_root(t, w, id);
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
		uint64_t counts[HIST_STEPS] = { 0 }, n = 0;

		for (node_id id = l.first[row->group]; id; id = l.next[id])
			cct_hist_counts(w->cct, id, counts);
		for (size_t k = 0; k < HIST_STEPS; k++)
			n += counts[k];
		if (n == 0)
			continue;
		row->p50 = hist_quantile(counts, n, 500, row->min, row->max);
		row->p95 = hist_quantile(counts, n, 950, row->min, row->max);
		row->p99 = hist_quantile(counts, n, 990, row->min, row->max);
		assert(row->p50 <= row->p95 && row->p95 <= row->p99);
	}
	mem_free(l.first);
	mem_free(l.next);
}

/* ---- the table ---------------------------------------------------------- */

static void fill(struct flat *t)
{
	struct cct *const cct = t->session->cct;
	const size_t groups = t->groups->count + 1;
	struct work w = {
		.cct = cct, .groups = t->groups,
		.path = cct_path_new_of(cct, t->groups->of, groups),
		.sums = sum_up(cct),
		.row = mem_alloc(groups * sizeof(*w.row)),
		.seen = mem_alloc(groups),
		.is_in = mem_alloc((cct_count(cct) + 1) * sizeof(*w.is_in)) };

	add_all(t, &w);
	collect(t, &w);
	add_quantiles(t, &w);
	cct_path_free(w.path);
	mem_free(w.sums.total);
	mem_free(w.sums.off);
	net_totals_fini(&w.sums.net);
	mem_free(w.row);
	mem_free(w.seen);
	mem_free(w.is_in);
}

struct flat *flat_new(struct session *s, const struct flat_options *options)
{
	static const struct flat_options usual = { .thread = CCT_ALL_THREADS };
	const struct flat_options *const o = options ? options : &usual;
	struct flat *const t = mem_alloc(sizeof(*t));

	t->session = s;
	t->thread = o->thread;
	t->groups = group_all(s, o->by);
	fill(t);
	assert(t->unknown <= t->self + t->root_self);
	t->has_switches = t->unknown < (t->self + t->root_self) / 10;
	flat_sort(t, o->sort ? o->sort : metric_sorting(flat_view.metrics, 0));
	return t;
}

void flat_free(struct flat *t)
{
	if (!t)
		return;
	group_free(t->groups);
	mem_free(t->rows);
	mem_free(t);
}

const char *flat_name(const struct flat *t, const struct flat_row *row)
{
	return t->groups->group[row->group].name;
}

struct order { const struct metric *metric; struct metric_source source; };

static int compare(const void *a, const void *b, void *ctx)
{
	const struct flat_row *const x = a, *const y = b;
	const struct order *const o = ctx;
	const int order = metric_compare(o->metric, &o->source, x, y);

	if (order != 0)
		return order;
	if (x->f.func != y->f.func)
		return x->f.func < y->f.func ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

void flat_sort(struct flat *t, const struct metric *metric)
{
	struct order o = { metric, { t->session, t } };

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

/* Recursive calls count as calls, but not in total: the mean of a recursive
 * function is less than that of its outermost calls. */
static METRIC_GETTER(get_mean)
{
	const struct figures *const f = row;

	v->is_none = f->calls == 0;
	v->count = v->is_none ? 0 : f->total / f->calls;
	v->real = v->is_none ? 0 : (double)f->total / (double)f->calls;
}

/* Without switches or histograms the field is unknown, not 0: a time of 0 would
 * claim that there was none. */
static METRIC_GETTER(get_if_known)
{
	const struct flat *const t = s->table;

	v->is_unknown = m->flags & METRIC_QUANTILE ? !t->has_quantiles :
			!t->has_switches;
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
#define SWITCHES(name, title, field, help, ...) \
	{ name, METRIC_TIME, METRIC_SORTS | METRIC_SWITCHES, title, NULL, \
	  help, AT(field), get_if_known, __VA_ARGS__ }
#define QUANTILE(name, help) \
	{ #name, METRIC_TIME, METRIC_SORTS | METRIC_QUANTILE, NULL, NULL, \
	  help, AT(name), get_if_known }

/* In the order of "--columns all" and of the help. A new column is a row here,
 * and its name below if it is a usual one; .drop is for usual ones alone. */
static const struct metric metrics[] = {
	METRIC_SELF,
	METRIC_SELF_ERROR,
	METRIC_RAW_SELF,
	{ "share", METRIC_SHARE, METRIC_OF_TIME, .get = get_share,
	  .help = "self as a share of all rows' self" },
	{ "traced", METRIC_SHARE, METRIC_OF_TIME, .get = get_share,
	  .help = "self as a share of all traced time" },
	METRIC_TOTAL,
	METRIC_TOTAL_ERROR,
	METRIC_RAW_TOTAL,
	METRIC_WALL,
	METRIC_SUSPENDED,
	SWITCHES("cpu", NULL, cpu, "part of self in which the thread ran",
		 .drop = 6),
	SWITCHES("off-cpu", NULL, off, "part of self in which it did not",
		 .drop = 5),
	SWITCHES("total-cpu", "total cpu", total_cpu,
		 "part of total in which the thread ran", .drop = 0),
	SWITCHES("total-off-cpu", "total off", total_off,
		 "part of total in which it did not", .drop = 0),
	METRIC_CALLS,
	METRIC_RECURSIVE,
	{ "mean", METRIC_MEAN, METRIC_SORTS, .get = get_mean, .drop = 3,
	  .help = "total per call" },
	{ "min", METRIC_TIME, METRIC_SORTS, AT(min),
	  .help = "the shortest finished call" },
	QUANTILE(p50, "half of them took no longer"),
	QUANTILE(p95, "95% of them took no longer"),
	QUANTILE(p99, "99% of them took no longer"),
	{ "max", METRIC_TIME, METRIC_SORTS, AT(max),
	  .help = "the longest finished call" },
	METRIC_PLACE(struct flat_row, f.func, "", ""),
	{ "pid", METRIC_NUMBER, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the process, with --by-thread" },
	{ "tid", METRIC_NUMBER, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the thread's number" },
	{ "thread", METRIC_TEXT, METRIC_OF_THREAD, .get = get_thread,
	  .help = "the thread's name" },
	{ "name", METRIC_TEXT, METRIC_SORTS | METRIC_NAME, "function",
	  "function", .get = get_name, .shrink = 24,
	  .help = "the function, or the group" },
	{ .name = NULL }
};

const struct metric_view flat_view = {
	metrics,
	"self,self-error,share,total,suspended,cpu,off-cpu,calls,mean,"
	"language,file,name",
	"pid,tid,thread,name,language,module,file,line,calls,self,total,"
	"suspended,wall,mean,min,max,p50,p95,p99,cpu,off-cpu,total-cpu,"
	"total-off-cpu,share" METRICS_NET_CSV
};
