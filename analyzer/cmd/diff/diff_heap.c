/* diff_heap.c - "weft diff --heap": which functions take more or less memory,
 * or have more of it in use. SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/cmd/diff/diff.h"
#include "analyzer/cmd/shared/table.h"
#include "analyzer/merge/heaps.h"
#include "analyzer/out/out_number.h"

#include <math.h>
#include <string.h>

/* A row: its function, in the session of the side that it is of. */
struct line { func_id func; const struct heaps_row *row; };

static const struct heaps_row *row_of(const void *line)
{
	return ((const struct line *)line)->row;
}

/* What a damaged trace says may be beyond all numbers. */
static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)(fmin(value, 1e18) + 0.5) : 0;
}

static bool is_of_use(const struct metric *m)
{
	return m->name[0] == 'i';
}

/* Names end in "-was" or "-is". */
static const struct heap_sum *sum_of(const struct metric *m, const void *row)
{
	const bool is_after = m->name[strlen(m->name) - 2] == 'i';
	const struct heaps_side *const side = &row_of(row)->side[is_after];

	return is_of_use(m) ? &side->in_use : &side->taken;
}

static METRIC_GETTER(get_change)
{
	char text[OUT_NUMBER];

	v->real = is_of_use(m) ? row_of(row)->in_use : row_of(row)->taken;
	metric_show(v, "%s%s", v->real < 0 ? "-" : v->real > 0 ? "+" : "",
		    out_number_bytes(text, whole(fabs(v->real))));
}

static METRIC_GETTER(get_error)
{
	v->count = whole(is_of_use(m) ? row_of(row)->in_use_error :
					row_of(row)->taken_error);
}

static METRIC_GETTER(get_bytes)
{
	v->count = whole(sum_of(m, row)->bytes);
}

static METRIC_GETTER(get_blocks)
{
	v->count = whole(sum_of(m, row)->blocks);
}

static METRIC_GETTER(get_name)
{
	const func_id func = ((const struct line *)row)->func;

	v->text = func ? func_get(s->session->funcs, func)->name : "[thread]";
}

#define CHANGE(name, ...) \
	{ name, METRIC_REAL, 0, __VA_ARGS__, .get = get_change, .decimals = 1 }
#define ERROR(name) \
	{ name, METRIC_BYTES, METRIC_DASH | METRIC_DROP_EMPTY, "\302\261", \
	  .get = get_error }
#define SIDE(name, head) \
	{ name, METRIC_BYTES, METRIC_DASH, head, .get = get_bytes }
#define BLOCKS(name, head) \
	{ name, METRIC_COUNT, METRIC_DASH, head, .get = get_blocks, .drop = 1 }

/* Fixed columns: no --columns, so no help. */
static const struct metric metrics[] = {
	CHANGE("in-use", "in use", "in_use_bytes"), ERROR("in-use-error"),
	SIDE("in-use-was", "was"), SIDE("in-use-is", "is"),
	CHANGE("allocated", NULL, "allocated_bytes"),
	ERROR("allocated-error"),
	SIDE("allocated-was", "was"), SIDE("allocated-is", "is"),
	BLOCKS("allocations-was", "allocations"),
	BLOCKS("allocations-is", "are"),
	METRIC_PLACE(struct line, func, "", ""),
	{ "name", METRIC_TEXT, METRIC_NAME, "function", "function",
	  .get = get_name, .shrink = 20 },
	{ .name = NULL }
};

#define FIGURES "in-use,in-use-error,in-use-was,in-use-is,allocated," \
	"allocated-error,allocated-was,allocated-is,allocations-was," \
	"allocations-is,"
static const struct metric_view view = {
	metrics, FIGURES "language,name",
	FIGURES "name,language,module,file,line"
};

static void print_sum(const char *what, double was, double is, double error)
{
	char before[OUT_NUMBER], after[OUT_NUMBER], off[OUT_NUMBER + 8] = "";
	char bytes[OUT_NUMBER];

	if (error > 0)
		snprintf(off, sizeof(off), ", \302\261 %s",
			 out_number_bytes(bytes, whole(error)));
	table_note("%s: %s before, %s after (%+.3g%%%s)", what,
		   out_number_bytes(before, whole(was)),
		   out_number_bytes(after, whole(is)),
		   was > 0 ? 100 * (is / was - 1) : 0, off);
}

/* The larger part of what all functions had before that the change is. */
static double share_of(const struct heaps *h, const struct heaps_row *r)
{
	const double use = h->all.side[0].in_use.bytes;
	const double taken = h->all.side[0].taken.bytes;
	const double by_use = r->in_use == 0 ? 0 : 100 * r->in_use / use;
	const double by_taken = r->taken == 0 ? 0 : 100 * r->taken / taken;

	return fabs(by_use) > fabs(by_taken) ? by_use : by_taken;
}

static bool is_enough(const struct heaps *h, const struct heaps_row *r,
		      const struct diff_args *args)
{
	return fabs(share_of(h, r)) >= fmax(args->min, 0);
}

static void print_lines(const struct sides *sides, const struct heaps *h,
			const struct diff_args *args)
{
	struct table t = { .csv = table_args.csv };
	const size_t top = table_top(DIFF_TOP);
	size_t shown = 0, left = 0, chance = 0;
	char changes[OUT_NUMBER];

	table_choose_fixed(&t, &view, NULL);
	table_begin(&t);
	for (const struct heaps_row *r = h->rows; r < h->rows + h->count; r++) {
		const bool is_after = r->side[1].func != 0;
		const bool is_hidden = r->is_chance && !args->all && !t.csv;

		if (!is_enough(h, r, args) || is_hidden || shown >= top) {
			chance += is_enough(h, r, args) && is_hidden;
			left += is_enough(h, r, args) && !is_hidden;
			continue;
		}
		t.source.session = is_after ? sides->after.session :
					      sides->before.session;
		table_row(&t, &(struct line){ r->side[is_after].func, r });
		shown++;
	}
	table_end(&t);
	if (!t.csv && shown == 0)
		puts("every function takes as much memory as before");
	table_print_rest(left, "changes");
	if (chance > 0)
		printf("%s may be chance, and %s not listed (--all lists "
		       "them)\n", out_number_many(changes, chance, "changes"),
		       chance == 1 ? "is" : "are");
}

static enum cmd_exit judge(const struct sides *sides, const struct heaps *h,
			   double limit)
{
	for (size_t i = 0; limit >= 0 && i < h->count; i++) {
		const struct heaps_row *const r = &h->rows[i];

		if (r->is_chance || share_of(h, r) <= limit)
			continue;
		err_add("\"%s\" takes %.1f%% more of all memory than before; "
			"--fail-over allows %g%%",
			r->side[0].func || r->side[1].func ?
			sides_func(sides, r->side[0].func,
				   r->side[1].func)->name : "[thread]",
			share_of(h, r), limit);
		return CMD_WORSE;
	}
	return CMD_OK;
}

static enum cmd_exit need(const struct load *load, const char *side)
{
	if (cct_has_heap(load->session->cct))
		return CMD_OK;
	err_add("the side %s has no memory: record it with weft record --heap; "
		"profiles (weft merge) hold none", side);
	return CMD_UNREADABLE;
}

enum cmd_exit diff_heap(const struct sides *sides,
			const struct diff_args *args)
{
	enum cmd_exit status = need(&sides->before, "before");
	struct heaps *h;

	if (status == CMD_OK)
		status = need(&sides->after, "after");
	if (status != CMD_OK)
		return status;
	h = heaps_new(sides->before.session, sides->after.session);
	print_sum("in use at the end", h->all.side[0].in_use.bytes,
		  h->all.side[1].in_use.bytes, h->all.in_use_error);
	print_sum("taken", h->all.side[0].taken.bytes,
		  h->all.side[1].taken.bytes, h->all.taken_error);
	if (!table_args.csv)
		putchar('\n');
	print_lines(sides, h, args);
	status = judge(sides, h, args->limit);
	heaps_free(h);
	return status;
}
