/* metric.c - values of rows, the choice of columns, and what is known of a
 * function in every table.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/metric.h"
#include "analyzer/base/err.h"
#include "analyzer/base/guess.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- values ------------------------------------------------------------- */

/* A field of 1, 4 or 8 bytes: a bool, an id or a count. */
static uint64_t number_at(const struct metric *m, const void *row)
{
	const char *const at = (const char *)row + m->at;
	uint64_t wide;
	uint32_t narrow;

	if (m->size == sizeof(bool))
		return *(const bool *)at;
	if (m->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	assert(m->size == sizeof(wide));
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

void metric_show(struct metric_value *v, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(v->room, sizeof(v->room), format, args);
	va_end(args);
	v->unit = METRIC_TEXT;
	v->text = v->room;
}

/* Is it the row of a function in which a sampled VM was? */
static bool is_sampled(const struct session *s, const struct figures *f)
{
	return f->func != 0 && f->func <= func_count(s->funcs) &&
	       func_get(s->funcs, f->func)->noted;
}

/* Of a Lua function that was sampled at times there were more calls than are
 * known, and how long one took is not. */
static void show_sampled(const struct session *s, const struct figures *f,
			 struct metric_value *v)
{
	const bool is_lua = func_get(s->funcs, f->func)->kind == FUNC_LUA;

	v->is_unknown = v->count == 0 || (is_lua && v->unit == METRIC_MEAN);
	v->is_least = is_lua && !v->is_unknown;
}

/* A getter sets only what it knows, so all else is reset here; room is not,
 * because zeroing 2200 bytes for every cell would be slow. */
void metric_get(const struct metric *m, const struct metric_source *s,
		const void *row, struct metric_value *v)
{
	v->count = v->whole = 0;
	v->real = 0;
	v->text = v->brief = NULL;
	v->is_none = v->is_unknown = v->is_blank = v->is_least = false;
	v->unit = m->unit;
	if (m->unit == METRIC_TEXT && !m->get)
		memcpy(&v->text, (const char *)row + m->at, sizeof(v->text));
	else if (m->size > 0)
		v->count = number_at(m, row);
	if (m->get)
		m->get(s, m, row, v);
	if ((m->flags & METRIC_KNOWN) && figures_are_untimed(row))
		v->is_unknown = true;
	if ((m->flags & METRIC_SEEN) && s && is_sampled(s->session, row))
		show_sampled(s->session, row, v);
	if (s && metric_is_timed(m) && !session_has_times(s->session))
		v->is_unknown = true;
	assert(m->unit != METRIC_TEXT || v->text || v->is_unknown);
}

const struct metric *metric_find(const struct metric_view *view,
				 const char *name)
{
	const struct metric *m = view->metrics;

	while (m->name && strcmp(m->name, name) != 0)
		m++;
	return m->name ? m : NULL;
}

int metric_compare(const struct metric *m, const struct metric_source *s,
		   const void *x, const void *y)
{
	struct metric_value vx, vy;
	int rises;

	metric_get(m, s, x, &vx);
	metric_get(m, s, y, &vy);
	if (m->unit == METRIC_TEXT)
		return strcmp(vx.text, vy.text);
	if (m->decimals > 0)
		rises = (vx.real > vy.real) - (vx.real < vy.real);
	else
		rises = (vx.count > vy.count) - (vx.count < vy.count);
	return m->flags & METRIC_RISES ? rises : -rises;
}

const struct metric *metric_first(const struct metric_view *view)
{
	const size_t length = strcspn(view->table, ",");
	const struct metric *m = view->metrics;

	while (strncmp(m->name, view->table, length) != 0 ||
	       m->name[length] != '\0')
		m++;
	return m;
}

const struct metric *metric_offered(const struct metric *m, unsigned flags,
				    unsigned lacks, size_t i)
{
	for (; m->name; m++)
		if ((m->flags & (flags | lacks)) == flags && i-- == 0)
			return m;
	return NULL;
}

const struct metric *metric_sorting(const struct metric *m, size_t i)
{
	return metric_offered(m, METRIC_SORTS, 0, i);
}

/* ---- columns ------------------------------------------------------------ */

/* "total-off-cpu" is total_off_cpu_ns in CSV, "in-use" in_use_bytes. */
static void set_key(struct metric_column *c, const struct metric *m)
{
	snprintf(c->key, sizeof(c->key), "%s%s", m->key ? m->key : m->name,
		 m->key ? "" : m->unit == METRIC_BYTES ? "_bytes" :
		 m->unit == METRIC_TIME || m->unit == METRIC_MEAN ? "_ns" : "");
	for (char *at = c->key; !m->key && *at != '\0'; at++)
		if (*at == '-')
			*at = '_';
}

/* Insert a column, unless it is there already. */
static void insert(struct metric_columns *c, size_t at, const struct metric *m)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->column[i].metric == m)
			return;
	assert(c->count < METRIC_COLUMNS && at <= c->count);
	memmove(&c->column[at + 1], &c->column[at],
		(c->count - at) * sizeof(*c->column));
	c->column[at].metric = m;
	c->column[at].title = m->title ? m->title : m->name;
	set_key(&c->column[at], m);
	c->count++;
}

bool metric_has(const struct metric_columns *c, unsigned flags)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->column[i].metric->flags & flags)
			return true;
	return false;
}

void metric_remove(struct metric_columns *c, unsigned flags)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->count; i++)
		if (!(c->column[i].metric->flags & flags))
			c->column[kept++] = c->column[i];
	c->count = kept;
}

/* Where a metric beside the usual ones goes: figures before the texts at the
 * end, texts before the row's name. */
static size_t place_for(const struct metric_columns *c, const struct metric *m)
{
	size_t at = c->count;

	while (at > 0 && c->column[at - 1].metric->unit == METRIC_TEXT &&
	       (m->unit != METRIC_TEXT ||
		(c->column[at - 1].metric->flags & METRIC_NAME)))
		at--;
	return at;
}

/* Is it the column's name, or its key in CSV? */
static bool is_named(const struct metric *m, const char *name, size_t length)
{
	struct metric_column c;

	set_key(&c, m);
	return (strlen(m->name) == length &&
		strncmp(m->name, name, length) == 0) ||
	       (strlen(c.key) == length && strncmp(c.key, name, length) == 0);
}

/* Say which columns there are. Always -1. */
static int no_column(const struct metric *all, unsigned lacks,
		     const char *name, size_t length)
{
	char names[600] = "", wanted[101], text[GUESS_TEXT];
	struct guess guess;

	snprintf(wanted, sizeof(wanted), "%.*s", (int)(length < 100 ? length :
						       100), name);
	guess_init(&guess, wanted);
	for (const struct metric *m = all; m->name; m++) {
		if (m->flags & lacks)
			continue;
		guess_offer(&guess, m->name, strlen(m->name));
		text_addf(names, sizeof(names), "%s, ", m->name);
	}
	guess_text(&guess, NULL, text, sizeof(text));
	return text[0] != '\0' ?
	       err_add("--columns: there is no column \"%s\"%s", wanted, text) :
	       err_add("--columns: there is no column \"%s\"; there are %sand "
		       "all", wanted, names);
}

/* Add the metrics that are named; beside: where they belong among the usual
 * ones, not at the end. A name may begin with +. 0, or -1 with the cause in the
 * chain. */
static int add_named(struct metric_columns *c, const struct metric *all,
		     const char *names, unsigned lacks, bool beside)
{
	for (const char *at = names; ; at++) {
		const struct metric *m = all;

		at += *at == '+';
		const size_t length = strcspn(at, ",");

		while (m->name && ((m->flags & lacks) ||
				   !is_named(m, at, length)))
			m++;
		if (!m->name)
			return no_column(all, lacks, at, length);
		insert(c, beside ? place_for(c, m) : c->count, m);
		at += length;
		if (*at == '\0')
			return 0;
	}
}

/* All metrics that the rows do not lack, in the order of the table of
 * metrics. */
static void add_all(struct metric_columns *c, const struct metric *all,
		    unsigned lacks)
{
	for (; all->name; all++)
		if (!(all->flags & lacks))
			insert(c, c->count, all);
}

/* A table ends with the first metric that names its rows. */
static void end_with_name(struct metric_columns *c, const struct metric *all)
{
	for (; all->name; all++)
		if (all->flags & METRIC_NAME) {
			metric_remove(c, METRIC_NAME);
			insert(c, c->count, all);
			return;
		}
}

/* The usual columns may be among those that the rows lack, and go silently; a
 * column that the user names must not. */
int metric_choose(struct metric_columns *c, const struct metric_view *view,
		  const struct metric_choice *choice)
{
	const struct metric *const all = view->metrics;
	const char *const names = choice->names;
	const bool is_all = names && strcmp(names, "all") == 0;
	const bool is_usual = !names || names[0] == '+';

	c->count = 0;
	if (is_all)
		add_all(c, all, choice->lacks);
	if (is_usual && add_named(c, all, choice->csv ? view->csv :
				  view->table, 0, false) != 0)
		return -1;
	metric_remove(c, choice->lacks);
	if (names && !is_all &&
	    add_named(c, all, names, choice->lacks,
		      is_usual && !choice->csv) != 0)
		return -1;
	if (is_usual && choice->sort)
		insert(c, place_for(c, choice->sort), choice->sort);
	if (!choice->csv)
		end_with_name(c, all);
	return 0;
}

void metric_rename(struct metric_columns *c, const char *name,
		   const char *title, const char *key)
{
	for (size_t i = 0; i < c->count; i++) {
		struct metric_column *const column = &c->column[i];

		if (strcmp(column->metric->name, name) != 0)
			continue;
		if (title)
			column->title = title;
		if (key)
			snprintf(column->key, sizeof(column->key), "%s", key);
	}
}

/* ---- what rows of functions have in common ------------------------------ */

static struct cct_heap *heap_totals(struct cct *t, size_t nodes)
{
	struct cct_heap *const total = mem_alloc(nodes * sizeof(*total));

	for (size_t id = nodes - 1; id > 0; id--) {
		const struct cct_heap own = cct_heap_of(t, (node_id)id);

		cct_heap_join(&total[id], &own);
		cct_heap_join(&total[cct_get(t, (node_id)id)->parent],
			      &total[id]);
	}
	return total;
}

void node_totals_init(struct node_totals *p, struct cct *t)
{
	const size_t nodes = cct_count(t) + 1;

	*p = (struct node_totals){
		.total = mem_alloc(nodes * sizeof(*p->total)),
		.suspended = mem_alloc(nodes * sizeof(*p->suspended)) };
	cct_totals(t, p->total, p->suspended);
	if (cct_is_net(t)) {
		p->raw = mem_alloc(nodes * sizeof(*p->raw));
		p->variance = mem_alloc(nodes * sizeof(*p->variance));
		cct_net_totals(t, p->raw, p->variance);
		p->below = cct_division_below(t);
	}
	if (cct_has_heap(t))
		p->heap = heap_totals(t, nodes);
	if (!cct_has_cpu(t))
		return;
	p->off = mem_alloc(nodes * sizeof(*p->off));
	p->ready = mem_alloc(nodes * sizeof(*p->ready));
	p->unknown = mem_alloc(nodes * sizeof(*p->unknown));
	/* Children have larger ids than their parents. */
	for (size_t id = nodes - 1; id > 0; id--) {
		const node_id parent = cct_get(t, (node_id)id)->parent;
		const struct cct_cpu cpu = cct_cpu_of(t, (node_id)id);

		p->off[id] += cpu.off;
		p->ready[id] += cpu.ready;
		p->unknown[id] += cpu.unknown;
		p->off[parent] += p->off[id];
		p->ready[parent] += p->ready[id];
		p->unknown[parent] += p->unknown[id];
	}
}

void node_totals_fini(struct node_totals *p)
{
	mem_free_all(p->total, p->suspended, p->raw, p->variance, p->below,
		     p->off, p->ready, p->unknown, p->heap);
}

void node_totals_cut(struct node_totals *p, struct cct *t, node_id id,
		     bool own)
{
	const struct cct_cpu cpu = cct_cpu_of(t, id);

	p->total[id] = own ? cct_get(t, id)->self : 0;
	if (p->raw) {
		struct cct_division given = { .all = 0 };

		if (own)
			cct_division_add_given(&given, t, id);
		p->raw[id] = own ? cct_sampled_of(t, id)->raw : 0;
		p->variance[id] = own ? cct_sampled_of(t, id)->variance : 0;
		p->below[id] = cct_division_variance(&given);
	}
	if (p->off) {
		p->off[id] = own ? cpu.off : 0;
		p->ready[id] = own ? cpu.ready : 0;
		p->unknown[id] = own ? cpu.unknown : 0;
	}
	if (p->heap)
		p->heap[id] = own ? cct_heap_of(t, id) :
				    (struct cct_heap){ 0 };
}

/* What is left on the CPU. A signal handler's time was subtracted from what it
 * interrupted, but its time off the CPU was not: that may be more than is
 * left. */
static ticks on_cpu(ticks whole, ticks off, ticks unknown)
{
	return whole > off + unknown ? whole - off - unknown : 0;
}

void figures_add_self(struct figures *f, struct cct *t, node_id id)
{
	const struct cct_cpu cpu = cct_cpu_of(t, id);

	f->self += cct_get(t, id)->self;
	if (cct_is_net(t)) {
		f->raw_self += cct_sampled_of(t, id)->raw;
		f->self_variance += cct_sampled_of(t, id)->variance;
	}
	if (cct_has_cpu(t)) {
		f->off += cpu.off;
		f->ready += cpu.ready;
		f->cpu += on_cpu(cct_get(t, id)->self, cpu.off, cpu.unknown);
	}
	if (cct_has_heap(t)) {
		const struct cct_heap heap = cct_heap_of(t, id);

		cct_heap_join(&f->heap, &heap);
	}
}

void figures_add_total(struct figures *f, const struct node_totals *p,
		       node_id id)
{
	f->total += p->total[id];
	if (p->raw) {
		f->raw_total += p->raw[id];
		f->total_variance += p->variance[id];
		f->below_variance += p->below[id];
	}
	if (p->off) {
		f->total_off += p->off[id];
		f->total_ready += p->ready[id];
		f->total_cpu += on_cpu(p->total[id], p->off[id],
				       p->unknown[id]);
	}
	if (p->heap)
		cct_heap_join(&f->total_heap, &p->heap[id]);
}

void figures_add_division(struct figures *f, struct cct *t, node_id id)
{
	if (!cct_is_net(t))
		return;
	cct_division_add(&f->division, &cct_sampled_of(t, id)->division);
	cct_division_add_given(&f->given, t, id);
}

void figures_add(struct figures *f, const struct figures *more)
{
	f->calls += more->calls;
	f->counted.untimed += more->counted.untimed;
	f->counted.brief += more->counted.brief;
	f->recursive += more->recursive;
	f->self += more->self;
	f->total += more->total;
	f->suspended += more->suspended;
	f->raw_self += more->raw_self;
	f->raw_total += more->raw_total;
	f->self_variance += more->self_variance;
	f->total_variance += more->total_variance;
	cct_division_add(&f->division, &more->division);
	cct_division_add(&f->given, &more->given);
	f->below_variance += more->below_variance;
	f->cpu += more->cpu;
	f->off += more->off;
	f->ready += more->ready;
	f->total_cpu += more->total_cpu;
	f->total_off += more->total_off;
	f->total_ready += more->total_ready;
	cct_heap_join(&f->heap, &more->heap);
	cct_heap_join(&f->total_heap, &more->total_heap);
}

void figures_add_own(struct figures *f, struct cct *t, node_id id)
{
	const struct cct_counted counted = cct_counted_of(t, id);

	f->calls += cct_get(t, id)->calls;
	f->counted.untimed += counted.untimed;
	f->counted.brief += counted.brief;
	figures_add_self(f, t, id);
}

/* The scale of a reference is wrong by as much for all that a total has: of a
 * sum of functions, it is no chance that cancels. */
static double variance_of_scale(const struct metric_source *s, ticks time)
{
	const struct reference *const r = !s || !s->session ? NULL :
					  &s->session->reference;
	const double error = !r || r->scale <= 0 ||
		!(s->session->net.is_net & NET_REFERENCE) ? 0 :
		(double)time * r->error / r->scale;

	return error * error;
}

/* The table has the error as a part of the time; if it is more than the time,
 * which may then be 0, as what it is. */
METRIC_GETTER(metric_error)
{
	const struct figures *const f = row;
	const bool of_total = m->name[0] == 't';
	const bool of_cpu = (m->flags & METRIC_SWITCHES) != 0;
	const double variance = of_total ? f->total_variance +
		f->below_variance +
		variance_of_scale(s, on_cpu(f->total, f->total_off, 0)) :
		f->self_variance +
		cct_division_variance(&f->given);

	v->count = (uint64_t)(sqrt(variance +
		cct_division_variance(&f->division)) + 0.5);
	v->whole = of_total ? of_cpu ? f->total_cpu : f->total :
		   of_cpu ? f->cpu : f->self;
	v->unit = v->count > v->whole ? METRIC_TIME : METRIC_SHARE;
	v->is_none = v->count == 0 && v->whole == 0;
}

/* Without switches the field is unknown, not 0: a time of 0 would claim that
 * there was none. */
METRIC_GETTER(metric_if_known)
{
	v->is_unknown = s && !s->has_switches;
}

METRIC_GETTER(metric_blocked)
{
	const struct figures *const f = row;
	const bool of_total = m->name[0] == 't';

	v->count = of_total ? figures_blocked(f->total_off, f->total_ready) :
			      figures_blocked(f->off, f->ready);
	metric_if_known(s, m, row, v);
}

/* What a damaged trace says may be beyond all numbers. */
static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)(fmin(value, 1e18) + 0.5) : 0;
}

uint64_t metric_of_heap(const struct metric *m, const struct cct_heap *h)
{
	const char *const name = m->name[0] == 't' ? m->name + 6 : m->name;
	const struct heap_sum *const sum = name[0] == 'a' ? &h->taken :
					   name[0] == 'i' ? &h->in_use :
							    &h->freed;

	return whole(strstr(name, "error") ? cct_heap_error(sum) :
		     m->unit == METRIC_COUNT ? sum->blocks : sum->bytes);
}

METRIC_GETTER(metric_heap)
{
	const struct figures *const f = row;

	v->count = metric_of_heap(m, m->name[0] == 't' ? &f->total_heap :
							 &f->heap);
	v->is_unknown = s && !cct_has_heap(s->session->cct);
}

METRIC_GETTER(metric_wall)
{
	const struct figures *const f = row;

	v->count = f->total + f->suspended;
}

/* The function whose id metric_get read. */
static const struct func *func_of(const struct metric_source *s,
				  const struct metric_value *v)
{
	return v->count == 0 ? NULL :
	       func_get(s->session->funcs, (func_id)v->count);
}

METRIC_GETTER(metric_function)
{
	const struct func *const f = func_of(s, v);

	v->text = f ? f->name : "";
}

METRIC_GETTER(metric_language)
{
	const struct func *const f = func_of(s, v);

	v->text = f ? func_language(f) : "";
}

METRIC_GETTER(metric_module)
{
	const struct func *const f = func_of(s, v);

	v->text = "";
	if (!f || f->kind != FUNC_NATIVE)
		return;
	v->text = func_elf(s->session->funcs, f->module)->path;
	v->brief = v->text[0] != '\0' ? text_base_name(v->text) : "[unnamed]";
}

const char *metric_place(char *to, size_t size, const struct func *f)
{
	const char *const name = f->file[0] == '[' ? f->file :
				 text_base_name(f->file);

	if (f->file[0] == '\0' || f->file_line == 0)
		snprintf(to, size, "%s", name);
	else
		snprintf(to, size, "%s:%" PRIu32, name, f->file_line);
	return to;
}

METRIC_GETTER(metric_file)
{
	const struct func *const f = func_of(s, v);

	v->text = f ? f->file : "";
	if (f)
		v->brief = metric_place(v->room, sizeof(v->room), f);
}

METRIC_GETTER(metric_line)
{
	const struct func *const f = func_of(s, v);

	v->count = f ? f->file_line : 0;
}
