/* lines.c - adds up samples by source line.
 * SPDX-License-Identifier: MIT */
#include "analyzer/tables/lines.h"

#include "analyzer/base/order.h"
#include "analyzer/base/vec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- places ------------------------------------------------------------- */

ORDER_BY(by_function, struct lines_place, UP(func) ?: UP(place) ?: UP(is_own))

/* What is added up. */
struct places {
	const uint8_t *wanted;   /* by func_id */
	struct lines_place *at; size_t count;
	double all;
};

static void add_place(struct places *p, func_id func, uint32_t place,
		      bool is_own, double samples)
{
	p->all += samples;
	if (p->wanted[func] && samples > 0)
		p->at[p->count++] = (struct lines_place){
			.func = func, .place = place, .is_own = is_own,
			.samples = samples };
}

/* noted: by func_id, the functions that have notes. */
static void add_notes(struct places *p, const struct session *s,
		      uint8_t *noted)
{
	for (uint32_t i = 0; i < s->line_count; i++) {
		const struct noted_line *const l = &s->lines[i];

		noted[l->func] = 1;
		if (p->wanted[l->func])
			p->at[p->count++] = (struct lines_place){
				.func = l->func, .place = i, .is_noted = true,
				.samples = (double)l->notes };
	}
}

static bool has_reference(const struct session *s)
{
	return s->net.is_net & NET_REFERENCE;
}

double lines_period(const struct session *s)
{
	return has_reference(s) ? s->reference.ns / (double)s->reference.samples
				: (double)s->net.period;
}

static void add_reference(struct places *p, const struct session *s)
{
	for (size_t i = 0; i < s->reference.count; i++) {
		const struct reference_count *const c = &s->reference.at[i];

		if (c->func)
			add_place(p, c->func, c->place, true,
				  c->ns / lines_period(s));
	}
}

/* How many samples it counts as. One that stands for several periods counts
 * several times. */
static double weight_of(const struct session *s, const struct cct_sample *at)
{
	const uint64_t period = s->net.period;
	const double tick = s->reference.scale * (double)s->tick_hz / 1e9;

	if (has_reference(s))
		return at->worth / (tick * lines_period(s));
	return period == 0 ? 1 : (double)((at->period + period / 2) / period);
}

struct lines_place *lines_places(const struct session *s, const uint8_t *wanted,
				 size_t *count, uint64_t *all)
{
	const size_t samples = cct_sample_count(s->cct);
	struct places p = { .wanted = wanted, .at = mem_alloc(
		(samples + s->reference.count + s->line_count + 1) *
		sizeof(*p.at)) };
	uint8_t *const noted = mem_alloc(func_count(s->funcs) + 1);
	size_t kept = 0;

	add_notes(&p, s, noted);
	if (has_reference(s))
		add_reference(&p, s);
	for (size_t i = 0; i < samples; i++) {
		const struct cct_sample *const at = cct_sample_get(s->cct, i);
		const func_id func = cct_get(s->cct, at->node)->func;

		if (!noted[func])
			add_place(&p, func, at->place, false,
				  weight_of(s, at));
	}
	mem_free(noted);
	qsort(p.at, p.count, sizeof(*p.at), by_function);
	for (size_t i = 0; i < p.count; i++) {
		if (kept > 0 && by_function(&p.at[kept - 1], &p.at[i]) == 0)
			p.at[kept - 1].samples += p.at[i].samples;
		else
			p.at[kept++] = p.at[i];
	}
	*count = kept;
	*all = (uint64_t)(p.all + 0.5);
	return p.at;
}

/* ---- rows --------------------------------------------------------------- */

void lines_add(struct lines *l, const struct lines_row *row)
{
	struct lines_row own = { .kind = LINES_OWN, .name = "", .module = "",
				 .own_line = row->own_line, .file = l->file,
				 .line = row->own_line,
				 .samples = row->samples };

	if (row->kind == LINES_PROBE)
		l->probe += row->samples;
	else if (row->kind == LINES_BELOW)
		l->below += row->samples;
	else
		l->own += row->samples;
	if (row->kind == LINES_INLINED)
		*vec_add(&l->rows, &l->room, &l->count) = own;
	*vec_add(&l->rows, &l->room, &l->count) = *row;
}

/* Where a row stands: the function's lines are one part of the table. */
static int part_of(const struct lines_row *r)
{
	return r->kind == LINES_INLINED ? LINES_OWN : (int)r->kind;
}

/* 0: the rows are of one line. */
ORDER_BY(by_place, struct lines_row, ORDER(part_of(x), part_of(y)) ?:
	 UP(own_line) ?: UP(kind) ?: strcmp(x->name, y->name) ?:
	 strcmp(x->module, y->module) ?: strcmp(x->file, y->file) ?:
	 (x->kind == LINES_BELOW || x->kind == LINES_PROBE ? 0 : UP(line)))

/* Elsewhere than in the function, the heaviest comes first. */
ORDER_BY(by_weight, struct lines_row,
	 (part_of(x) != LINES_OWN && x->kind == y->kind ? DOWN(samples) : 0) ?:
	 by_place(a, b))

void lines_finish(struct lines *l, const struct text_file *source)
{
	size_t kept = 0;

	if (l->count == 0)
		return;
	qsort(l->rows, l->count, sizeof(*l->rows), by_place);
	for (size_t i = 0; i < l->count; i++) {
		if (kept > 0 &&
		    by_place(&l->rows[i], &l->rows[kept - 1]) == 0)
			l->rows[kept - 1].samples += l->rows[i].samples;
		else
			l->rows[kept++] = l->rows[i];
	}
	l->count = kept;
	qsort(l->rows, l->count, sizeof(*l->rows), by_weight);
	for (size_t i = 0; i < l->count; i++) {
		struct lines_row *const r = &l->rows[i];

		if (r->kind == LINES_OWN && r->line > 0 &&
		    r->line <= source->count)
			r->text = source->lines[r->line - 1];
	}
}

void lines_fini(struct lines *l)
{
	mem_free(l->rows);
}

/* ---- columns ------------------------------------------------------------ */

static METRIC_GETTER(get_of)
{
	v->text = ((const struct lines *)s->table)->of;
}

static METRIC_GETTER(get_kind)
{
	static const char *const kinds[] = {
		[LINES_OWN] = "line", [LINES_INLINED] = "inlined",
		[LINES_BELOW] = "below", [LINES_PROBE] = "recording",
	};

	v->text = kinds[((const struct lines_row *)row)->kind];
}

/* A line without samples is there to be read. */
static METRIC_GETTER(get_samples)
{
	v->is_blank = v->count == 0;
}

/* What shares are of; 0 for the recording's own. */
static uint64_t whole_of(const struct metric_source *s,
			 const struct lines_row *r)
{
	const struct lines *const l = s->table;

	return r->kind == LINES_PROBE ? 0 : l->own + l->below;
}

static METRIC_GETTER(get_share)
{
	const struct lines_row *const r = row;

	v->count = r->samples;
	v->whole = whole_of(s, r);
	v->is_unknown = v->whole == 0;
	v->is_blank = r->samples == 0;
}

/* One standard error of the share, in percent: n of N independent samples. Half
 * a sample more in and out keeps all of a few from looking certain. */
static METRIC_GETTER(get_error)
{
	const struct lines_row *const r = row;
	const double whole = (double)whole_of(s, r);
	const double part = ((double)r->samples + 0.5) / (whole + 1);

	v->real = 100 * sqrt(part * (1 - part) / (whole + 1));
	v->is_unknown = whole <= 0;
	v->is_blank = r->samples == 0;
	metric_show(v, "%.1f%%", v->real);
}

static METRIC_GETTER(get_line)
{
	const struct lines_row *const r = row;

	v->is_blank = r->kind != LINES_OWN || r->line == 0;
}

static METRIC_GETTER(get_own_line)
{
	v->is_unknown = v->count == 0;
}

/* In a table, what stands for the code: its source, or what it is called. */
static METRIC_GETTER(get_text)
{
	const struct lines_row *const r = row;
	const char *const name = r->name[0] ? r->name : "[no name]";

	v->text = r->text ? r->text : "";
	v->brief = v->room;
	if (r->text)
		v->brief = r->text;
	else if (r->kind == LINES_OWN)
		snprintf(v->room, sizeof(v->room), "%s", r->line == 0 ?
			 "[no line is known]" : "");
	else if (r->kind == LINES_INLINED)
		snprintf(v->room, sizeof(v->room), "  > %s%s%.1000s:%u",
			 r->name, r->name[0] ? "  " : "",
			 text_base_name(r->file), r->line);
	else
		snprintf(v->room, sizeof(v->room), "%.1000s%s%.1000s", name,
			 r->module[0] ? "  " : "", text_base_name(r->module));
}

static const struct metric metrics[] = {
	{ "of", METRIC_TEXT, .get = get_of },
	{ "kind", METRIC_TEXT, .get = get_kind },
	{ "own-line", METRIC_NUMBER, METRIC_AT(struct lines_row, own_line),
	  .get = get_own_line },
	{ "function", METRIC_TEXT, METRIC_AT(struct lines_row, name) },
	{ "module", METRIC_TEXT, METRIC_AT(struct lines_row, module) },
	{ "file", METRIC_TEXT, METRIC_AT(struct lines_row, file) },
	{ "line", METRIC_NUMBER, METRIC_AT(struct lines_row, line),
	  .get = get_line },
	{ "samples", METRIC_COUNT, METRIC_AT(struct lines_row, samples),
	  .get = get_samples },
	{ "share", METRIC_SHARE, .get = get_share },
	{ "error", METRIC_REAL, .title = "+-", .get = get_error,
	  .decimals = 4 },
	{ "source", METRIC_TEXT, METRIC_NAME, .get = get_text, .shrink = 24 },
	{ .name = NULL }
};

const struct metric_view lines_view = {
	metrics, "samples,share,error,line,source",
	"of,kind,own-line,function,module,file,line,samples,share,error,source"
};
