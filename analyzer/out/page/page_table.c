/* page_table.c - the page's scripts show a column as its metric says, so that a
 * new metric is there without a change of theirs.
 * SPDX-License-Identifier: MIT */
#include "analyzer/out/page/page_table.h"

#include "analyzer/out/out_json.h"

#include <inttypes.h>
#include <math.h>

/* The words for enum metric_unit in the page's scripts. A mean is a time. */
static const char *unit_name(enum metric_unit unit)
{
	static const char *const names[] = {
		[METRIC_TIME] = "time", [METRIC_MEAN] = "time",
		[METRIC_BYTES] = "bytes",
		[METRIC_COUNT] = "count", [METRIC_REAL] = "real",
		[METRIC_NUMBER] = "number", [METRIC_SHARE] = "share",
		[METRIC_TEXT] = "text"
	};

	return names[unit];
}

static void put_real(FILE *to, double value)
{
	if (isfinite(value))
		fprintf(to, "%.6g", value);
	else
		fputs("null", to);
}

/* By the metric's own unit: a getter may choose another one for people. */
static void put_value(FILE *to, enum metric_unit unit,
		      const struct metric_value *v)
{
	if (v->is_unknown || v->is_none)
		fputs("null", to);
	else if (unit == METRIC_TEXT)
		out_json_text(to, v->text);
	else if (unit == METRIC_SHARE)
		put_real(to, v->whole == 0 ? 0 :
			 (double)v->count / (double)v->whole);
	else if (unit == METRIC_REAL || unit == METRIC_MEAN)
		put_real(to, v->real);
	else
		fprintf(to, "%" PRIu64, v->count);
}

static bool is_left_out(const struct page_table *r, const struct metric *m)
{
	return (m->flags & (METRIC_NAME | METRIC_OF_FUNC | r->without)) != 0;
}

static void put_column(FILE *to, const struct metric *m)
{
	fputs("{\"name\":", to);
	out_json_text(to, m->name);
	fputs(",\"title\":", to);
	out_json_text(to, m->title ? m->title : m->name);
	fprintf(to, ",\"unit\":\"%s\",\"help\":", unit_name(m->unit));
	out_json_text(to, m->help ? m->help : "");
	putc('}', to);
}

static const void *row_at(const struct page_table *r, size_t i)
{
	return (const char *)r->rows + i * r->size;
}

static void put_values(FILE *to, const struct page_table *r,
		       const struct metric *m)
{
	struct metric_value value;

	putc('[', to);
	for (size_t i = 0; i < r->count; i++) {
		metric_get(m, &r->source, row_at(r, i), &value);
		if (i > 0)
			putc(',', to);
		put_value(to, m->unit, &value);
	}
	putc(']', to);
}

void page_table_put(FILE *to, const struct page_table *r)
{
	const char *between = "";

	fputs("{\"columns\":[", to);
	for (const struct metric *m = r->metrics; m->name; m++)
		if (!is_left_out(r, m)) {
			fputs(between, to);
			put_column(to, m);
			between = ",";
		}
	fputs("],\n\"values\":[", to);
	between = "";
	for (const struct metric *m = r->metrics; m->name; m++)
		if (!is_left_out(r, m)) {
			fputs(between, to);
			put_values(to, r, m);
			between = ",\n";
		}
	fputs("],\n\"func\":[", to);
	for (size_t i = 0; i < r->count; i++)
		fprintf(to, i > 0 ? ",%" PRIu32 : "%" PRIu32,
			*(const func_id *)row_at(r, i));
	fputs("]}", to);
}
