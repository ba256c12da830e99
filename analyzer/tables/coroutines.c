/* coroutines.c - coroutines, sorted and grouped. All figures are the session's;
 * only distributions are computed here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/coroutines.h"
#include "analyzer/base/order.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* 0 stands for a coroutine that never ran: it has no frame. */
static const char *body_name(const struct metric_source *s, func_id body)
{
	return body == 0 ? "[never ran]" :
	       func_get(s->session->funcs, body)->name;
}

/* The field is the body. In CSV the body of a coroutine that never ran is
 * empty. */
static METRIC_GETTER(get_body)
{
	v->brief = body_name(s, (func_id)v->count);
	v->text = v->count == 0 ? "" : v->brief;
}

/* ---- single ones -------------------------------------------------------- */

struct order { const struct metric *metric; struct metric_source source; };

/* Ties are broken by the coroutine's process and serial: serials are unique
 * within a process only. */
static int compare(const void *a, const void *b, void *ctx)
{
	const struct order *const o = ctx;
	const struct coroutine *const x =
		((const struct coroutine_row *)a)->coroutine;
	const struct coroutine *const y =
		((const struct coroutine_row *)b)->coroutine;

	return metric_compare(o->metric, &o->source, a, b) ?: UP(process) ?:
	       UP(serial);
}

struct coroutine_row *coroutine_rows(struct session *s,
				     const struct coroutine_own *own,
				     const struct cct_heap *heap,
				     const struct metric *metric)
{
	struct coroutine_row *const rows =
		mem_alloc((s->coroutine_count + 1) * sizeof(*rows));
	struct order o = { metric, { s, NULL, false } };

	for (size_t i = 0; i < s->coroutine_count; i++) {
		const struct coroutine *const c = &s->coroutines[i];

		rows[i] = (struct coroutine_row){
			.body = c->body, .pid = s->processes[c->process].pid,
			.inferred = c->inferred, .id = c->serial,
			.creator = c->creator, .vm = c->vm,
			.resumes = c->resumes, .active = c->active,
			.suspended = c->suspended, .coroutine = c };
		if (own)
			rows[i].own = own[i];
		if (heap)
			rows[i].heap = heap[i];
	}
	qsort_r(rows, s->coroutine_count, sizeof(*rows), compare, &o);
	return rows;
}

static const struct coroutine *of(const void *row)
{
	return ((const struct coroutine_row *)row)->coroutine;
}

static METRIC_GETTER(get_state)
{
	static const char *const states[] = {
		[COROUTINE_NEW] = "new", [COROUTINE_SUSPENDED] = "suspended",
		[COROUTINE_RUNNING] = "running",
		[COROUTINE_RETURNED] = "returned", [COROUTINE_ERROR] = "error",
		[COROUTINE_CLOSED] = "closed"
	};
	const size_t state = (size_t)of(row)->state;

	assert(state < sizeof(states) / sizeof(states[0]));
	v->text = states[state];
}

static METRIC_GETTER(get_kind)
{
	v->text = of(row)->is_native ? "native" : "lua";
	v->brief = of(row)->is_native ? "native" : "-";
}

/* "101 102", and " +3" if it ran on more threads than are known. */
static METRIC_GETTER(get_threads)
{
	const struct coroutine *const c = of(row);
	const uint32_t known = c->thread_count < 4 ? c->thread_count : 4;

	v->text = v->room;
	v->room[0] = '\0';
	for (uint32_t i = 0; i < known; i++)
		if (c->threads[i] < s->session->thread_count)
			text_addf(v->room, sizeof(v->room), "%s%" PRIu32,
				  v->room[0] ? " " : "",
				  s->session->threads[c->threads[i]].tid);
	if (c->thread_count > known)
		text_addf(v->room, sizeof(v->room), " +%" PRIu32,
			  c->thread_count - known);
}

static METRIC_GETTER(get_blocked)
{
	const struct coroutine_row *const r = row;

	v->count = figures_blocked(r->own.off, r->own.ready);
}

static METRIC_GETTER(get_cpu)
{
	const struct coroutine_row *const r = row;
	const ticks own = r->own.lua + r->own.native;

	v->count = own - MIN(r->own.off, own);
	v->is_unknown = s && !cct_knows_switches(s->session->cct, NULL, NULL);
}

static METRIC_GETTER(get_heap)
{
	const struct coroutine_row *const r = row;

	v->count = metric_of_heap(m, &r->heap);
	v->is_unknown = s && !cct_has_heap(s->session->cct);
}

#define AT(field) METRIC_AT(struct coroutine_row, field)

static const struct metric coroutine_metrics[] = {
	{ "active", METRIC_TIME, METRIC_SORTS | METRIC_CLOCKED, AT(active),
	  .help = "from each resume until it stops again" },
	{ "lua", METRIC_TIME, METRIC_REREAD, "in Lua", AT(own.lua), .drop = 1,
	  .help = "part of active in its own Lua code" },
	{ "native", METRIC_TIME, METRIC_REREAD, AT(own.native), .drop = 1,
	  .help = "part of active in its own native code" },
	{ "cpu", METRIC_TIME, METRIC_REREAD, .get = get_cpu,
	  .help = "part of both in which it ran" },
	{ "run-wait", METRIC_TIME, METRIC_REREAD | METRIC_DROP_EMPTY,
	  "run wait", AT(own.ready), .drop = 2,
	  .help = "part of both in which it had no core" },
	{ "blocked", METRIC_TIME, METRIC_REREAD | METRIC_DROP_EMPTY,
	  .get = get_blocked, .drop = 2,
	  .help = "part of both in which its thread slept" },
	{ "suspended", METRIC_TIME, METRIC_SORTS | METRIC_CLOCKED,
	  AT(suspended),
	  .help = "between a suspension and a resume" },
	{ "resumes", METRIC_COUNT, METRIC_SORTS, AT(resumes),
	  .help = "how often it was resumed" },
	METRICS_OWN_HEAP(get_heap),
	{ "state", METRIC_TEXT, .get = get_state, .drop = 3,
	  .help = "new/suspended/running/returned/error/closed" },
	{ "id", METRIC_NUMBER, METRIC_SORTS | METRIC_RISES, AT(id),
	  .help = "its number" },
	{ "creator", METRIC_NUMBER, METRIC_DASH, AT(creator), .drop = 4,
	  .help = "the coroutine that made it" },
	{ "kind", METRIC_TEXT, METRIC_DROP_EMPTY, .get = get_kind,
	  .help = "lua, or native: a fiber" },
	{ "pid", METRIC_NUMBER, AT(pid), .drop = 5, .help = "its process" },
	{ "threads", METRIC_TEXT, .get = get_threads, .drop = 2,
	  .help = "numbers of the threads it ran on" },
	{ "vm", METRIC_NUMBER, AT(vm),
	  .help = "its Lua state; of a fiber, the first" },
	{ "inferred", METRIC_NUMBER, AT(inferred),
	  .help = "switches only seen at the next event" },
	METRIC_PLACE(struct coroutine_row, body, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "body", "function", AT(body),
	  get_body, .shrink = 24, .help = "its outermost function" },
	{ .name = NULL }
};

const struct metric_view coroutine_view = {
	coroutine_metrics,
	"active,lua,native,run-wait,blocked,suspended,resumes,state,id,creator,"
	"kind,pid,threads,name",
	"pid,id,name,language,module,file,line,threads,vm,creator,state,"
	"resumes,active,suspended,inferred,kind"
};

/* ---- by body ------------------------------------------------------------ */

static int compare_body(const void *a, const void *b, void *session)
{
	const struct coroutine *const all =
		((const struct session *)session)->coroutines;

	return ORDER(all[*(const uint32_t *)a].body,
		     all[*(const uint32_t *)b].body);
}

ORDER_BY(compare_number, uint64_t, ORDER(*x, *y))

ORDER_BY(compare_group, struct coroutine_group, DOWN(active.sum) ?: UP(body))

/* By nearest rank. */
static uint64_t quantile(const uint64_t *sorted, size_t n, size_t percent)
{
	return sorted[(n * percent + 99) / 100 - 1];
}

/* How n values, one or more, are distributed. Sorts them. */
static struct coroutine_figure figure(uint64_t *values, size_t n)
{
	struct coroutine_figure f = { 0 };

	assert(n > 0);
	qsort(values, n, sizeof(*values), compare_number);
	for (size_t i = 0; i < n; i++)
		f.sum += values[i];
	f.p50 = quantile(values, n, 50);
	f.p95 = quantile(values, n, 95);
	f.p99 = quantile(values, n, 99);
	f.max = values[n - 1];
	assert(f.p50 <= f.p95 && f.p95 <= f.p99 && f.p99 <= f.max);
	return f;
}

/* ids: the indices of n coroutines of one body; values: room for n numbers. */
static struct coroutine_group group(const struct session *s,
				    const uint32_t *ids, size_t n,
				    uint64_t *values)
{
	const struct coroutine *const all = s->coroutines;
	struct coroutine_group g = { .body = all[ids[0]].body, .count = n };

	for (size_t i = 0; i < n; i++)
		values[i] = all[ids[i]].active;
	g.active = figure(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = all[ids[i]].suspended;
	g.suspended = figure(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = all[ids[i]].resumes;
	g.resumes = figure(values, n);
	return g;
}

struct coroutine_group *coroutine_groups(const struct session *s, size_t *count)
{
	const size_t n = s->coroutine_count;
	uint32_t *const ids = mem_alloc((n + 1) * sizeof(*ids));
	uint64_t *const values = mem_alloc((n + 1) * sizeof(*values));
	struct coroutine_group *groups = NULL;
	size_t room = 0;

	*count = 0;
	for (size_t i = 0; i < n; i++)
		ids[i] = (uint32_t)i;
	qsort_r(ids, n, sizeof(*ids), compare_body, (void *)(uintptr_t)s);
	for (size_t i = 0, end; i < n; i = end) {
		const func_id body = s->coroutines[ids[i]].body;

		for (end = i; end < n && s->coroutines[ids[end]].body == body; )
			end++;
		vec_need(&groups, &room, *count + 1);
		groups[(*count)++] = group(s, ids + i, end - i, values);
	}
	order_sort(groups, *count, compare_group);
	mem_free_all(ids, values);
	return groups;
}

/* The field is the sum. The CSV has the mean rounded to whole numbers. */
static METRIC_GETTER(get_mean)
{
	const struct coroutine_group *const g = row;

	assert(g->count > 0);
	v->real = (double)v->count / (double)g->count;
	v->count = (v->count + g->count / 2) / g->count;
}

#undef AT
#define AT(field) METRIC_AT(struct coroutine_group, field)
#define FIGURE(what, unit, mean_unit) \
	{ #what "-sum", unit, AT(what.sum) }, \
	{ #what "-mean", mean_unit, AT(what.sum), get_mean }, \
	{ #what "-p50", unit, AT(what.p50) }, \
	{ #what "-p95", unit, AT(what.p95) }, \
	{ #what "-p99", unit, AT(what.p99) }, \
	{ #what "-max", unit, AT(what.max) }

static const struct metric group_metrics[] = {
	{ "count", METRIC_COUNT, AT(count) },
	FIGURE(active, METRIC_TIME, METRIC_MEAN),
	FIGURE(suspended, METRIC_TIME, METRIC_MEAN),
	FIGURE(resumes, METRIC_COUNT, METRIC_COUNT),
	METRIC_PLACE(struct coroutine_group, body, "", ""),
	{ "function", METRIC_TEXT, AT(body), get_body },
	{ .name = NULL }
};

#define FIGURES(what) \
	what "-sum," what "-mean," what "-p50," what "-p95," what "-p99," \
	what "-max"

const struct metric_view coroutine_group_view = {
	group_metrics, "", "function,language,module,file,line,count,"
	FIGURES("active") "," FIGURES("suspended") "," FIGURES("resumes")
};

/* ---- three rows a group ------------------------------------------------- */

/* Only the first of a group's rows shows what all three have in common. */
static bool is_first(const struct coroutine_line *l)
{
	return l->figure == &l->group->active;
}

static METRIC_GETTER(get_line_count)
{
	v->count = ((const struct coroutine_line *)row)->group->count;
	v->is_blank = !is_first(row);
}

static METRIC_GETTER(get_line_name)
{
	const struct coroutine_line *const l = row;

	v->text = is_first(l) ? body_name(s, l->body) : "";
}

/* The figure that the metric is named after: a time, or a number of resumes. */
static METRIC_GETTER(get_line_figure)
{
	const struct coroutine_line *const l = row;
	const struct coroutine_figure *const f = l->figure;
	const bool is_time = f != &l->group->resumes;

	v->count = strcmp(m->name, "p50") == 0 ? f->p50 :
		   strcmp(m->name, "p95") == 0 ? f->p95 :
		   strcmp(m->name, "p99") == 0 ? f->p99 : f->max;
	v->unit = is_time ? METRIC_TIME : METRIC_COUNT;
	if (strcmp(m->name, "mean") != 0)
		return;
	v->real = (double)f->sum / (double)l->group->count;
	v->unit = is_time ? METRIC_MEAN : METRIC_REAL;
}

#define FIGURE_OF_LINE(name, ...) \
	{ name, METRIC_TIME, .get = get_line_figure, __VA_ARGS__ }

static const struct metric line_metrics[] = {
	{ "count", METRIC_COUNT, .get = get_line_count },
	{ "of", METRIC_TEXT, 0, "of each",
	  METRIC_AT(struct coroutine_line, title) },
	FIGURE_OF_LINE("mean", .drop = 0),
	FIGURE_OF_LINE("p50", .drop = 0),
	FIGURE_OF_LINE("p95", .drop = 1),
	FIGURE_OF_LINE("p99", .drop = 2),
	FIGURE_OF_LINE("max", .drop = 0),
	{ "name", METRIC_TEXT, METRIC_NAME, "body", .get = get_line_name,
	  .shrink = 24 },
	{ .name = NULL }
};

const struct metric_view coroutine_line_view = {
	line_metrics, "count,of,mean,p50,p95,p99,max,name", ""
};
