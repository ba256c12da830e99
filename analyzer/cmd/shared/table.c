/* table.c - how values look in a table; out/out_value has CSV. Knows units and
 * signs such as - and ~; which columns there are is tables/metric's business.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/shared/table.h"

#include "analyzer/out/out_json.h"
#include "analyzer/out/out_number.h"
#include "analyzer/out/out_value.h"

#include <assert.h>
#include <string.h>

struct table_args table_args = { .top = SIZE_MAX, .tables = -1 };

const char *const table_each[] = { "thread", NULL };

bool table_args_are_many(void)
{
	return table_args.tables >= 0;
}

static size_t json_rows;                 /* that were printed */

/* ---- values ------------------------------------------------------------- */

/* Are the times of the row's function upper bounds only? LuaJIT does not tell
 * when some C functions return; their times last until the next Lua event. The
 * row begins with the func_id, as has_bounds promises. */
static bool is_bound(const struct table *t, const void *row)
{
	func_id id;

	memcpy(&id, row, sizeof(id));
	return t->has_bounds && id != 0 &&
	       func_get(t->source.session->funcs, id)->untold_return;
}

/* A time that is an upper bound has a ~. The text is made behind the sign,
 * which is then left in or skipped. */
static void time_cell(const struct table *t, const void *row, double ns)
{
	char text[OUT_NUMBER + 1] = "~";

	out_number_time(text + 1, ns);
	out_table_cell(t->text, text + !is_bound(t, row));
}

/* What is known to be more has a >. */
static void least_cell(const struct table *t, const struct metric_value *v)
{
	const uint64_t ns = session_ns(t->source.session, v->count);
	char text[OUT_NUMBER];

	out_table_cellf(t->text, ">%s", v->unit == METRIC_TIME ?
			out_number_time(text, (double)ns) :
			out_number_count(text, v->count));
}

/* A value as people read it. The order of the cases matters: what is unknown,
 * or 0 where 0 says nothing, is settled before the unit is looked at. */
static void text_cell(const struct table *t, const struct metric *m,
		      const void *row, const struct metric_value *v)
{
	const struct session *const s = t->source.session;
	const bool is_zero = v->count == 0 &&
		(v->unit == METRIC_TIME || (m->flags & METRIC_DASH)) &&
		v->unit != METRIC_TEXT;
	char text[OUT_NUMBER];

	if (v->is_blank)
		out_table_cell(t->text, "");
	else if (v->is_none || v->is_unknown || is_zero)
		out_table_cell(t->text, "-");
	else if (v->brief)
		out_table_cell(t->text, v->brief);
	else if (v->is_least)
		least_cell(t, v);
	else if (v->unit == METRIC_TIME)
		time_cell(t, row, (double)session_ns(s, v->count));
	else if (v->unit == METRIC_REAL && v->real < 100 &&
		 v->real > (double)(uint64_t)v->real)
		out_table_cellf(t->text, "%.1f", v->real);
	else if (v->unit == METRIC_REAL)
		out_table_cell(t->text, out_number_count(text,
			       (uint64_t)(v->real + 0.5)));
	else if (v->unit == METRIC_MEAN)
		time_cell(t, row, v->real * 1e9 / (double)s->tick_hz);
	else if (v->unit == METRIC_SHARE)
		out_table_cell(t->text, v->whole == 0 ? "" :
			       out_number_share(text, v->count, v->whole));
	else if (v->unit == METRIC_TEXT)
		out_table_cell(t->text, v->text);
	else if (v->unit == METRIC_BYTES)
		out_table_cell(t->text, out_number_bytes(text, v->count));
	else if (v->unit == METRIC_COUNT)
		out_table_cell(t->text, out_number_count(text, v->count));
	else
		out_table_cellf(t->text, "%llu", (unsigned long long)v->count);
}

/* ---- tables ------------------------------------------------------------- */

/* For commands whose rows lack nothing. Others call metric_choose themselves
 * and say what is missing. */
int table_choose(struct table *t, const struct metric_view *view)
{
	return metric_choose(&t->columns, view, &(struct metric_choice){
		.names = table_args.columns, .sort = table_args.sort,
		.csv = t->csv });
}

void table_choose_fixed(struct table *t, const struct metric_view *view,
			const char *names)
{
	metric_choose(&t->columns, view, &(struct metric_choice){
		.names = names, .csv = t->csv });
}

/* How a metric's column is laid out: figures to the right, texts to the left.
 * What happens on a narrow terminal is the metric's to say. */
static struct out_column layout(const struct metric_column *c)
{
	const struct metric *const m = c->metric;

	return (struct out_column){
		.title = c->title,
		.align = m->unit == METRIC_TEXT ? OUT_LEFT : OUT_RIGHT,
		.drop = m->drop, .shrink = m->shrink,
		.keep_end = (m->flags & METRIC_KEEP_END) != 0,
		.is_name = (m->flags & METRIC_NAME) != 0,
		.drop_empty = (m->flags & METRIC_DROP_EMPTY) != 0 };
}

/* Where calls were only counted, a table has no times. CSV has empty fields. */
static void drop_times(struct metric_columns *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		if (!metric_is_timed(c->column[i].metric))
			c->column[n++] = c->column[i];
	c->count = n;
}

/* CSV is printed row by row; a table is kept, because the widths of its columns
 * depend on all rows. */
void table_begin(struct table *t)
{
	struct metric_columns *const c = &t->columns;

	if (!t->csv && t->source.session &&
	    !session_has_times(t->source.session))
		drop_times(c);
	/* Whether times are net is known only when the trace is read. */
	if (!t->source.session || !cct_is_net(t->source.session->cct))
		metric_remove(c, METRIC_NET);
	if (!t->csv && (!t->source.session ||
			!cct_has_heap(t->source.session->cct)))
		metric_remove(c, METRIC_HEAP);
	t->count = 0;
	t->rows = (struct out_csv){ stdout, 0 };
	for (size_t i = 0; i < c->count; i++)
		t->how[i] = layout(&c->column[i]);
	if (!t->csv)
		t->text = out_table_new(t->how, c->count);
	for (size_t i = 0; i < c->count && t->csv && !table_args.json; i++)
		printf("%s%s", c->column[i].key, i + 1 < c->count ? "," : "\n");
}

/* JSON: its rows are the elements of one array. */
static void begin_object(void)
{
	fputs(json_rows++ > 0 ? "},\n{" : "[\n{", stdout);
}

static void put_member(const struct metric_column *c, bool is_first,
		       const struct out_value *value)
{
	if (!is_first)
		putchar(',');
	out_json_text(stdout, c->key);
	putchar(':');
	out_value_json(stdout, value);
}

void table_args_begin(void)
{
	table_args.csv = table_args.csv || table_args.json;
}

void table_args_end(void)
{
	if (table_args.json)
		puts(json_rows > 0 ? "}\n]" : "[]");
}

/* One loop for tables, CSV and JSON: a metric's value is read in one place, so
 * they cannot differ. */
void table_row(struct table *t, const void *row)
{
	struct metric_value v;
	struct out_value value;

	assert(t->csv || t->text);
	if (table_args.json)
		begin_object();
	for (size_t i = 0; i < t->columns.count; i++) {
		const struct metric *const m = t->columns.column[i].metric;

		if (t->csv) {
			value = out_value_get(m, &t->source, row, &v);
			if (table_args.json)
				put_member(&t->columns.column[i], i == 0,
					   &value);
			else
				out_value_csv(&t->rows, &value);
			continue;
		}
		metric_get(m, &t->source, row, &v);
		text_cell(t, m, row, &v);
	}
	if (t->csv && !table_args.json)
		out_csv_end(&t->rows);
	t->count++;
}

void table_line(struct table *t, const char *text)
{
	for (size_t i = 0; i < t->columns.count; i++)
		out_table_cell(t->text, t->how[i].is_name ? text : "");
}

/* A table without rows would be titles alone, so nothing is printed. CSV keeps
 * its head: a script expects it. */
void table_end(struct table *t)
{
	if (t->csv)
		return;
	if (t->count > 0)
		out_table_print(t->text, stdout,
				out_table_terminal(stdout) ?: t->piped);
	out_table_free(t->text);
}

void table_print(struct table *t, const void *rows, size_t count, size_t size,
		 size_t usual, const char *nouns)
{
	const size_t top = table_top(usual);

	table_begin(t);
	for (size_t i = 0; i < count && i < top; i++)
		table_row(t, (const char *)rows + i * size);
	table_end(t);
	table_print_rest(count > top ? count - top : 0, nouns);
}

/* ---- what the options say ----------------------------------------------- */

/* Scripts get everything by default, because they cannot see that rows are
 * missing. */
size_t table_limit(size_t given, size_t usual)
{
	if (given == SIZE_MAX)
		return table_args.csv ? SIZE_MAX : usual;
	return given == 0 ? SIZE_MAX : given;
}

size_t table_top(size_t usual)
{
	return table_limit(table_args.top, usual);
}

void table_print_rest(size_t count, const char *nouns)
{
	char text[OUT_NUMBER];

	if (count > 0 && !table_args.csv)
		printf("... and %s (--top 0 shows all)\n",
		       out_number_many(text, count, nouns));
}

FILE *table_notes(void)
{
	return table_args.csv ? stderr : stdout;
}

const char *table_mark(void)
{
	return table_args.csv ? "# " : "";
}
