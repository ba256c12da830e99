/* out_value.c - what a metric's unit means for programs.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/out_value.h"

#include "analyzer/out/out_json.h"

#include <inttypes.h>

enum out_kind out_value_kind(const struct metric *m)
{
	if (m->unit == METRIC_TEXT)
		return OUT_TEXT;
	return m->decimals > 0 || m->unit == METRIC_SHARE ? OUT_REAL :
	       OUT_INTEGER;
}

/* Shares have more places than in a table. */
static void set_real(struct out_value *to, const struct metric *m,
		     const struct session *s, const struct metric_value *v)
{
	to->decimals = m->unit == METRIC_SHARE ? 4 : m->decimals;
	if (m->unit == METRIC_SHARE)
		to->real = v->whole == 0 ? 0 :
			   100.0 * (double)v->count / (double)v->whole;
	else if (m->unit == METRIC_MEAN)
		to->real = v->real * (1e9 / (double)s->tick_hz);
	else
		to->real = v->real;
}

/* An unknown value is none, not 0, which would be averaged with the others. */
struct out_value out_value_get(const struct metric *m,
			       const struct metric_source *s, const void *row,
			       struct metric_value *v)
{
	struct out_value to = { .kind = out_value_kind(m) };

	metric_get(m, s, row, v);
	if (v->is_unknown)
		to.kind = OUT_NONE;
	else if (to.kind == OUT_REAL)
		set_real(&to, m, s->session, v);
	else if (to.kind == OUT_TEXT)
		to.text = v->text;
	else if (m->unit == METRIC_TIME || m->unit == METRIC_MEAN)
		to.integer = session_ns(s->session, v->count);
	else
		to.integer = v->count;
	return to;
}

void out_value_csv(struct out_csv *csv, const struct out_value *v)
{
	if (v->kind == OUT_INTEGER)
		out_csv_number(csv, v->integer);
	else if (v->kind == OUT_REAL)
		out_csv_real(csv, v->real, v->decimals);
	else
		out_csv_text(csv, v->kind == OUT_NONE ? "" : v->text);
}

void out_value_json(FILE *to, const struct out_value *v)
{
	if (v->kind == OUT_NONE)
		fputs("null", to);
	else if (v->kind == OUT_INTEGER)
		fprintf(to, "%" PRIu64, v->integer);
	else if (v->kind == OUT_REAL)
		fprintf(to, "%.*f", (int)v->decimals, v->real);
	else
		out_json_text(to, v->text);
}
