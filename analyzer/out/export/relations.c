/* relations.c - the list of tables and their columns. Rows are those of the
 * session and of its tables; no figure is computed here.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/export/relations.h"

#include "analyzer/base/mem.h"
#include "analyzer/tables/coroutines.h"
#include "analyzer/tables/flat.h"
#include "analyzer/tables/nodes.h"
#include "analyzer/watch/resumes.h"
#include "analyzer/watch/slow/slow_list.h"

#include <assert.h>

/* ---- columns of rows that are the session's own ------------------------- */

/* The position of the row: from 1 on. */
static METRIC_GETTER(get_id)
{
	const struct relation *const r = s->table;

	v->count = (size_t)((const char *)row - r->rows) / r->size + 1;
}

/* The field is an index: the row's id is one more. */
static METRIC_GETTER(get_reference)
{
	v->count++;
}

static METRIC_GETTER(get_if_any)
{
	v->is_unknown = v->count == 0;
}

/* The note of the metric's name. */
static METRIC_GETTER(get_note)
{
	const char *const text = session_note(s->session, m->name);

	v->text = text ? text : "";
}

static METRIC_GETTER(get_date)
{
	v->count = session_real(s->session, session_first_tick(s->session));
}

static METRIC_GETTER(get_duration)
{
	v->count = session_duration(s->session);
}

static METRIC_GETTER(get_complete)
{
	v->count = ((const struct relation *)s->table)->from->lost_count == 0;
}

#define AT(field) METRIC_AT(struct session, field)
#define COUNT(type, name, field, what) \
	{ name, METRIC_COUNT, .help = what, METRIC_AT(struct type, field) }

static const struct metric session_metrics[] = {
	{ "command", METRIC_TEXT, .get = get_note, .help = "what was run" },
	{ "host", METRIC_TEXT, .get = get_note, .help = "where" },
	{ "date", METRIC_NUMBER, 0, NULL, "date_ns", .get = get_date,
	  .help = "the first record, in ns since 1970" },
	{ "duration", METRIC_NUMBER, 0, NULL, "duration_ns",
	  .get = get_duration, .help = "until the last record" },
	COUNT(session, "calls", calls, "calls of all functions"),
	COUNT(session, "counted", counted, "of them, without times"),
	COUNT(session, "records", records, "records in the trace"),
	{ "complete", METRIC_NUMBER, .get = get_complete,
	  .help = "1: nothing is known to be missing" },
	{ "net", METRIC_NUMBER, AT(net.is_net),
	  .help = "self and total are net times: 1 by samples, "
	          "2 by calibration, 3 by both; 0: they are raw" },
	{ .name = NULL }
};
#undef AT

#define AT(field) METRIC_AT(struct process, field)
static const struct metric process_metrics[] = {
	{ "id", METRIC_NUMBER, .get = get_id },
	{ "pid", METRIC_NUMBER, AT(pid) },
	{ "path", METRIC_TEXT, AT(path) },
	{ "date", METRIC_NUMBER, 0, NULL, "date_ns", NULL, AT(start),
	  get_if_any },
	{ .name = NULL }
};
#undef AT

static METRIC_GETTER(get_thread_name)
{
	v->text = ((const struct thread *)row)->name;
}

#define AT(field) METRIC_AT(struct thread, field)
static const struct metric thread_metrics[] = {
	{ "id", METRIC_NUMBER, .get = get_id },
	{ "process", METRIC_NUMBER, AT(process), get_reference },
	{ "tid", METRIC_NUMBER, AT(tid) },
	{ "name", METRIC_TEXT, .get = get_thread_name },
	COUNT(thread, "calls", calls, "calls"),
	{ "traced", METRIC_TIME, AT(traced) },
	{ "cpu", METRIC_NUMBER, 0, NULL, "cpu_ns", NULL, AT(cpu_ns) },
	COUNT(thread, "records", records, "records"),
	COUNT(thread, "missing-chunks", missing_chunks, "chunks lost"),
	COUNT(thread, "missing-records", missing_records, "records lost"),
	COUNT(thread, "gaps", gaps, "places where records are missing"),
	COUNT(thread, "open", open, "calls open at the end"),
	{ .name = NULL }
};
#undef AT

#define AT(field) METRIC_AT(struct label, field)
static const struct metric label_metrics[] = {
	{ "process", METRIC_NUMBER, AT(process), get_if_any },
	{ "key", METRIC_TEXT, AT(key) },
	{ "value", METRIC_TEXT, AT(value) },
	{ .name = NULL }
};
#undef AT

/* A row is a pointer to a sentence. */
static const struct metric sentence_metrics[] = {
	{ "sentence", METRIC_TEXT, .at = 0, .size = sizeof(const char *) },
	{ .name = NULL }
};

/* What coroutines and functions have beside the columns of their tables. */
static METRIC_GETTER(get_process)
{
	v->count = ((const struct coroutine_row *)row)->coroutine->process + 1;
}

static const struct metric coroutine_metrics[] = {
	{ "process", METRIC_NUMBER, .get = get_process },
	{ "body", METRIC_NUMBER, METRIC_AT(struct coroutine_row, body),
	  get_if_any },
	{ .name = NULL }
};

static const struct metric function_metrics[] = {
	{ "id", METRIC_NUMBER, METRIC_AT(struct flat_row, f.func) },
	{ .name = NULL }
};

/* ---- columns of single moments ------------------------------------------ */

/* Since the first record; the field is a tick. */
static METRIC_GETTER(get_moment)
{
	const ticks first = session_first_tick(s->session);

	v->count = v->count > first ? v->count - first : 0;
}

/* The field is an index. A trace that is still written may have more threads
 * when it is read again. */
static METRIC_GETTER(get_thread)
{
	v->is_unknown = v->count >= s->session->thread_count;
	v->count++;
}

static METRIC_GETTER(get_end)
{
	v->text = slow_list_end(((const struct slow_call *)row)->end);
}

static METRIC_GETTER(get_stack)
{
	const struct relation *const r = s->table;

	v->text = r->stacks[(size_t)((const char *)row - r->rows) / r->size];
}

#define AT(field) METRIC_AT(struct slow_call, field)
static const struct metric slow_metrics[] = {
	{ "id", METRIC_NUMBER, .get = get_id },
	{ "function", METRIC_NUMBER, AT(func), get_if_any },
	{ "process", METRIC_NUMBER, AT(process), get_reference },
	{ "thread", METRIC_NUMBER, AT(thread), get_thread },
	{ "coroutine", METRIC_NUMBER, AT(coroutine), get_if_any },
	{ "start", METRIC_TIME, AT(begin), get_moment },
	{ "total", METRIC_TIME, AT(total) },
	{ "self", METRIC_TIME, AT(self) },
	{ "suspended", METRIC_TIME, AT(suspended) },
	{ "end", METRIC_TEXT, .get = get_end },
	{ "is-partial", METRIC_NUMBER, AT(is_partial) },
	{ "level", METRIC_NUMBER, AT(level) },
	{ "stack", METRIC_TEXT, .get = get_stack },
	{ .name = NULL }
};
#undef AT

#define AT(field) METRIC_AT(struct resumes_row, field)
static const struct metric resume_metrics[] = {
	{ "process", METRIC_NUMBER, AT(process), get_reference },
	{ "coroutine", METRIC_NUMBER, AT(coroutine) },
	{ "resumer", METRIC_NUMBER, AT(by), get_if_any },
	{ "resumes", METRIC_COUNT, AT(resumes) },
	{ "inferred", METRIC_COUNT, AT(inferred) },
	{ "first", METRIC_TIME, AT(first), get_moment },
	{ "last", METRIC_TIME, AT(last), get_moment },
	{ "slept", METRIC_TIME, AT(slept) },
	{ "longest-sleep", METRIC_TIME, AT(longest) },
	{ .name = NULL }
};
#undef AT

/* ---- the tables --------------------------------------------------------- */

/* Add columns of a view by their names: all of them, if names is NULL. */
static void add_columns(struct relation *r, const struct metric *metrics,
			const char *names)
{
	const struct metric_view view = { metrics, NULL, names };
	struct metric_columns more;
	const int status = metric_choose(&more, &view,
		&(struct metric_choice){ .names = names ? NULL : "all",
					 .csv = true });

	assert(status == 0);
	(void)status;
	for (size_t i = 0; i < more.count; i++)
		r->columns.column[r->columns.count++] = more.column[i];
}

static struct relation *add(struct relations *all, const char *name,
			    const void *rows, size_t size, size_t count)
{
	struct relation *const r = &all->list[all->count++];

	assert(all->count <= RELATIONS);
	*r = (struct relation){ .name = name, .from = all->from, .rows = rows,
				.size = size, .count = count,
				.source = { all->from->session, r,
					    all->has_switches } };
	return r;
}

static void add_plain(struct relations *all)
{
	const struct export_from *const from = all->from;
	struct session *const s = from->session;

	add_columns(add(all, "sessions", s, sizeof(*s), 1),
		    session_metrics, NULL);
	add_columns(add(all, "labels", s->labels, sizeof(*s->labels),
			s->label_count), label_metrics, NULL);
	add_columns(add(all, "processes", s->processes,
			sizeof(*s->processes), s->process_count),
		    process_metrics, NULL);
	add_columns(add(all, "threads", s->threads, sizeof(*s->threads),
			s->thread_count), thread_metrics, NULL);
	add_columns(add(all, "losses", from->lost, sizeof(*from->lost),
			from->lost_count), sentence_metrics, NULL);
	add_columns(add(all, "notes", from->notes, sizeof(*from->notes),
			from->note_count), sentence_metrics, NULL);
}

static void add_functions(struct relations *all, struct session *s)
{
	struct flat *const flat = flat_new(s, NULL);
	struct relation *const r = add(all, "functions", flat->rows,
				       sizeof(*flat->rows), flat->count);

	all->flat = flat;
	r->source.table = flat;
	add_columns(r, function_metrics, NULL);
	add_columns(r, flat_views[METRIC_BY_TIME].metrics,
		    "name,language,module,file,line,calls,recursive,self,"
		    "total,suspended,min,p50,p95,p99,max" METRICS_CPU_CSV
		    METRICS_NET_CSV METRICS_HEAP_CSV);
	metric_rename(&r->columns, "name", NULL, "name");
}

static void add_nodes(struct relations *all, struct session *s)
{
	struct nodes *const nodes = nodes_new(s);
	struct relation *const r = add(all, "nodes", NULL, 0,
				       nodes_count(nodes));

	all->nodes = r->nodes = nodes;
	r->source.table = nodes;
	add_columns(r, nodes_view.metrics, "id,parent,thread,function,depth,"
		    "is-body,is-outermost,calls,self,total,suspended,slept"
		    METRICS_CPU_CSV ",min,p50,p95,p99,max" METRICS_NET_CSV
		    METRICS_HEAP_CSV);
}

/* Their times in Lua and in native code would take reading the trace again. */
static void add_coroutines(struct relations *all, struct session *s)
{
	struct relation *r;

	all->coroutines = coroutine_rows(s, NULL, NULL,
		metric_find(&coroutine_view, "id"));
	r = add(all, "coroutines", all->coroutines,
		sizeof(*all->coroutines), s->coroutine_count);
	add_columns(r, coroutine_metrics, NULL);
	add_columns(r, coroutine_view.metrics, "id,kind,vm,creator,state,"
		    "resumes,active,suspended,inferred,threads");
}

/* Texts are made once: a row's value may not own memory. */
static void add_moments(struct relations *all, struct session *s)
{
	const struct export_from *const from = all->from;
	const size_t count = from->slow ? from->slow->count : 0;
	struct relation *const r = add(all, "slow_calls", from->slow ?
				       from->slow->calls : NULL,
				       sizeof(*from->slow->calls), count);

	all->stacks = r->stacks = mem_alloc((count + 1) * sizeof(char *));
	for (size_t i = 0; i < count; i++)
		all->stacks[i] = stack_table_text(from->slow->stacks, s->funcs,
			from->slow->calls[i].stack, ";");
	add_columns(r, slow_metrics, NULL);
	add_columns(add(all, "resumes", from->resumes, sizeof(*from->resumes),
			from->resume_count), resume_metrics, NULL);
}

void relations_init(struct relations *all, const struct export_from *from)
{
	*all = (struct relations){
		.from = from, .has_switches = cct_knows_switches(
			from->session->cct, NULL, NULL) };
	add_plain(all);
	add_functions(all, from->session);
	add_nodes(all, from->session);
	add_coroutines(all, from->session);
	add_moments(all, from->session);
}

void relations_fini(struct relations *all)
{
	flat_free(all->flat);
	nodes_free(all->nodes);
	mem_free(all->coroutines);
	for (size_t i = 0; all->stacks[i]; i++)
		mem_free(all->stacks[i]);
	mem_free(all->stacks);
}

const void *relation_row(const struct relation *r, size_t i)
{
	return r->nodes ? (const void *)nodes_row(r->nodes, i) :
	       r->rows + i * r->size;
}

struct out_value relation_value(const struct relation *r, size_t column,
				const void *row, struct metric_value *room)
{
	const struct metric *const m = r->columns.column[column].metric;

	if ((m->flags & METRIC_NET) && !cct_is_net(r->source.session->cct))
		return (struct out_value){ .kind = OUT_NONE };
	return out_value_get(m, &r->source, row, room);
}
