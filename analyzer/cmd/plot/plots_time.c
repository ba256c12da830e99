/* plots_time.c - plots over time, from a second replay of the trace: where time
 * went, and how long calls took.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"
#include "analyzer/watch/shares.h"
#include "analyzer/watch/slow/slow.h"

#include <string.h>

/* Parts of the range. */
enum { COLUMNS = 240 };

/* The range that is shown, and its axis: time since the recording began. */
struct range {
	ticks first, from, to;
	struct plots_unit unit;
	double tick;             /* in units */
};

static struct range set_range(struct plots *p, const struct load *load)
{
	const struct session *const s = load->session;
	struct range r = { .first = session_first_tick(s),
			   .from = session_first_tick(s),
			   .to = session_last_tick(s) };

	if (load->want.from > r.from && load->want.from < r.to)
		r.from = load->want.from;
	if (load->want.to > r.from && load->want.to < r.to)
		r.to = load->want.to;
	if (r.to == r.from)
		r.to++;
	r.unit = plots_unit((double)session_ns(s, r.to - r.first));
	r.tick = 1e9 / (double)s->tick_hz / r.unit.ns;
	p->plot.x.from = (double)(r.from - r.first) * r.tick;
	p->plot.x.to = (double)(r.to - r.first) * r.tick;
	p->plot.x.label = plots_text(p, "time since the recording began, %s",
				     r.unit.name);
	p->plot.is_long_legend = true;
	return r;
}

void plots_range(struct plots *p, const struct load *load, ticks *from,
		 ticks *to)
{
	const struct range r = set_range(p, load);

	*from = r.from;
	*to = r.to;
}

static double place(const struct range *r, ticks tick)
{
	return (double)(tick - r->first) * r->tick;
}

/* ---- shares over time --------------------------------------------------- */

/* Which part of the time in a cell. */
enum portion { ALL, RUNNING, WAITING };

static ticks cell(const struct shares *s, enum portion of, size_t i)
{
	const ticks off = MIN(s->off[i], s->cells[i]);

	return of == ALL ? s->cells[i] : of == WAITING ? off :
	       s->cells[i] - off;
}

/* A stack of areas, from the bottom up; below is by column. */
struct stack {
	struct plots *p;
	const struct shares *s;
	const struct range *r;
	const struct flat *flat;
	double *below;
};

/* On top of what is there: the row's time in each column as a number of
 * threads. */
static void add_share(const struct stack *k, size_t row, enum portion of,
		      size_t layer)
{
	const struct shares *const s = k->s;

	for (size_t c = 0; c < s->columns; c++) {
		const ticks from = shares_column(s, c);
		const ticks to = shares_column(s, c + 1);
		const double top = k->below[c] +
			(double)cell(s, of, row * s->columns + c) /
			(double)(to - from);

		plots_row(k->p, layer, place(k->r, from), k->below[c], top, 0);
		plots_row(k->p, layer, place(k->r, to), k->below[c], top, 0);
		k->below[c] = top;
	}
}

/* The colour of waiting: two thirds white. */
static unsigned pale(unsigned colour)
{
	unsigned to = 0;

	for (int shift = 0; shift <= 16; shift += 8)
		to |= (170 + (colour >> shift & 255) / 3) << shift;
	return to;
}

/* Functions, and those without a row of their own in grey. */
static void add_functions(const struct stack *k, enum portion of)
{
	struct plots *const p = k->p;
	const size_t rows = k->s->rows;
	char many[OUT_NUMBER];

	for (size_t i = 0; i < rows + (k->flat->count > rows); i++) {
		const unsigned colour = i < rows ? plots_colour(i) :
					PLOTS_GREY;
		const char *const name = i < rows ?
			func_get(k->flat->session->funcs,
				 k->flat->rows[i].f.func)->name :
			plots_text(p, "%s more", out_number_many(many,
				k->flat->count - rows, "functions"));

		add_share(k, i < rows ? i : rows + SHARES_REST, of,
			  plots_layer(p, OUT_AREA, of == WAITING ?
				      pale(colour) : colour, of == WAITING ?
				      NULL : name));
	}
}

/* The legend has them from the top down, as gnuplot lists the last layer last.
 * What waits is above what runs, in the same order. */
static void stack(struct plots *p, const struct shares *s,
		  const struct range *r, const struct flat *flat)
{
	const struct stack k = { p, s, r, flat,
		mem_alloc(s->columns * sizeof(*k.below)) };

	add_functions(&k, flat->has_switches ? RUNNING : ALL);
	if (flat->has_switches)
		add_functions(&k, WAITING);
	add_share(&k, s->rows + SHARES_NONE, ALL,
		  plots_layer(p, OUT_AREA, PLOTS_PALE, "in no function"));
	p->plot.y.to = 1;
	for (size_t c = 0; c < s->columns; c++)
		p->plot.y.to = MAX(k.below[c], p->plot.y.to);
	p->plot.y.to *= 1.02;
	mem_free(k.below);
}

/* The first functions get rows. */
static enum cmd_exit collect_shares(struct plots *p, struct load *load,
				    const struct flat *flat)
{
	const struct range r = set_range(p, load);
	const size_t funcs = func_count(load->session->funcs) + 1;
	uint32_t *const row_of = mem_alloc(funcs * sizeof(*row_of));
	uint8_t *const threads = filter_args_threads(load->session);
	struct shares s = {
		.session = load->session, .from = r.from, .to = r.to,
		.columns = r.to - r.from < COLUMNS ? 1 : COLUMNS,
		.row_of = row_of, .funcs = funcs, .threads = threads,
		.rows = plots_top(p, PLOTS_COLOURS, flat->count),
		.coroutine = load->want.serial, .pid = load->want.pid };
	enum cmd_exit status = CMD_OK;

	for (size_t i = 0; i < s.rows; i++)
		row_of[flat->rows[i].f.func] = (uint32_t)i + 1;
	shares_begin(&s);
	if (load_again(load, &shares_sink, &s) != 0)
		status = CMD_UNREADABLE;
	else
		stack(p, &s, &r, flat);
	mem_free_all(s.cells, s.off, row_of, threads);
	return status;
}

enum cmd_exit plots_shares(struct plots *p, struct load *load)
{
	struct flat *const flat = flat_new(load->session, NULL);
	enum cmd_exit status;

	if (flat->has_switches)
		flat_sort(flat, metric_find(flat_views, "cpu"));
	status = collect_shares(p, load, flat);
	plots_title(p, load, "Where time went", plots_text(p,
		"self time, as recorded; %s; above: not recorded",
		flat->has_switches ? "paler: waiting, off the CPU" :
		"running and waiting are not told apart"));
	p->plot.y.label = "threads in each function";
	flat_free(flat);
	return status;
}

/* ---- how long calls took, over time ------------------------------------- */

/* Colours by the number of calls, from powers of ten on. */
static const unsigned heat[] = {
	0xfde0c5, 0xf9b380, 0xf0803c, 0xd0482f, 0x9c2340, 0x5f1048, 0x2b0a3d
};
enum { HEATS = sizeof(heat) / sizeof(*heat) };

static size_t heat_of(uint64_t count)
{
	size_t i = 0;

	for (; count >= 10 && i + 1 < HEATS; i++)
		count /= 10;
	return i;
}

/* The legend has those that are there, the fewest first. */
static void add_heats(struct plots *p, size_t layer[HEATS])
{
	char a[OUT_NUMBER], b[OUT_NUMBER];
	uint64_t from = 1;

	for (size_t i = 0; i < HEATS; i++, from *= 10)
		layer[i] = plots_layer(p, OUT_BOX, heat[i], i + 1 == HEATS ?
			plots_text(p, "%s calls or more",
				   out_number_count(a, from)) :
			plots_text(p, "%s to %s calls",
				   out_number_count(a, from),
				   out_number_count(b, 10 * from - 1)));
}

static void add_cells(struct plots *p, const struct session *s,
		      const struct slow_found *f)
{
	const double width = (p->plot.x.to - p->plot.x.from) / (double)COLUMNS;
	double least = 1e18, most = 1;
	size_t layer[HEATS];

	add_heats(p, layer);
	for (size_t c = 0; c < COLUMNS; c++)
		for (size_t i = 0; i + 1 < HIST_OCTAVES; i++) {
			const uint64_t count =
				f->over_time[c * HIST_OCTAVES + i];
			const double from = plots_octave(s, i);
			const double to = plots_octave(s, i + 1);
			const double x = p->plot.x.from + (double)c * width;

			if (count == 0)
				continue;
			plots_row(p, layer[heat_of(count)], x, x + width, from,
				  to);
			least = MIN(from, least);
			most = MAX(to, most);
		}
	plots_log_time(p, &p->plot.y, least / 1.5, most * 1.5);
}

static const char *describe(struct plots *p, const struct slow_found *f)
{
	char ended[OUT_NUMBER], open[OUT_NUMBER];

	return plots_text(p, "%s%s%.100s, as recorded, where they began%s",
		out_number_many(ended, f->ended, "calls"),
		p->functions ? " of " : "", p->functions ? p->functions : "",
		f->open == 0 ? "" : plots_text(p, "; %s did not end",
			out_number_many(open, f->open, "calls")));
}

/* Calls of all functions, or of those that are asked for. */
enum cmd_exit plots_heat(struct plots *p, struct load *load)
{
	struct session *const s = load->session;
	const struct range r = set_range(p, load);
	const size_t funcs = func_count(s->funcs) + 1;
	uint8_t *wanted = NULL, *const threads = filter_args_threads(s);
	enum cmd_exit status = plots_functions(p, load, &wanted);
	struct slow *slow;

	if (!wanted)
		memset(wanted = mem_alloc(funcs), 1, funcs);
	slow = slow_new(&(struct slow_options){
		.wanted = wanted, .funcs = funcs, .top = 1,
		.from = load->want.from, .to = load->want.to,
		.threads = threads, .thread_count = s->thread_count,
		.columns = COLUMNS, .first = r.from, .last = r.to });
	if (status == CMD_OK && load_again(load, &slow_sink, slow) != 0)
		status = CMD_UNREADABLE;
	slow_finish(slow);
	add_cells(p, s, slow_found(slow));
	plots_title(p, load, "How long calls took, over time",
		    describe(p, slow_found(slow)));
	p->plot.y.label = "time of a call (total)";
	slow_free(slow);
	mem_free_all(wanted, threads);
	return status;
}
