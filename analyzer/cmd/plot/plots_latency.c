/* plots_latency.c - a plot of a session's tree: how long calls took.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"

#include <math.h>

static const struct func *func_of(const struct flat *flat, size_t i)
{
	return func_get(flat->session->funcs, flat->rows[i].f.func);
}

/* Counts of a function's calls by octave of their total. */
static uint64_t count_octaves(struct session *s, func_id func,
			      uint64_t octave[HIST_OCTAVES])
{
	uint64_t steps[HIST_STEPS] = { 0 }, sum = 0;
	const size_t nodes = cct_count(s->cct);

	for (node_id id = 1; id <= nodes; id++)
		if (cct_get(s->cct, id)->func == func)
			cct_hist_counts(s->cct, id, steps);
	for (size_t i = 0; i < HIST_STEPS; i++) {
		octave[i / HIST_OCTAVE] += steps[i];
		sum += steps[i];
	}
	return sum;
}

/* The range of what is drawn: times in ns and shares in percent. */
struct extent { double from, to, least; };

/* A line of steps: the share of the function's calls in each octave. Those
 * without a call lie on the floor, which is far below the axis. */
static void add_steps(struct plots *p, const struct session *s, size_t layer,
		      const uint64_t *octave, uint64_t sum, struct extent *e)
{
	for (size_t i = 0; i + 1 < HIST_OCTAVES; i++) {
		const double share = 100.0 * (double)octave[i] / (double)sum;
		const double from = plots_octave(s, i);
		const double to = plots_octave(s, i + 1);

		plots_row(p, layer, from, octave[i] ? share : 1e-9, 0, 0);
		plots_row(p, layer, to, octave[i] ? share : 1e-9, 0, 0);
		if (octave[i] == 0)
			continue;
		e->from = from < e->from ? from : e->from;
		e->to = to > e->to ? to : e->to;
		e->least = share < e->least ? share : e->least;
	}
}

/* Of brief calls, which have no records, it is not known. */
static const char *quantile(const struct session *s, ticks time, char *to)
{
	return time == FLAT_BRIEF ? "-" :
	       out_number_time(to, (double)session_ns(s, time));
}

static void add_distribution(struct plots *p, const struct flat *flat, size_t i,
			     size_t colour, struct extent *e)
{
	struct session *const s = flat->session;
	const struct flat_row *const row = &flat->rows[i];
	uint64_t octave[HIST_OCTAVES] = { 0 };
	const uint64_t sum = count_octaves(s, row->f.func, octave);
	const uint64_t brief = row->f.counted.brief;
	char a[OUT_NUMBER], b[OUT_NUMBER], c[OUT_NUMBER];
	size_t layer;

	if (sum == 0)
		return;
	layer = plots_layer(p, OUT_LINE, plots_colour(colour),
			    func_of(flat, i)->name);
	p->layers[layer].also = plots_text(p, " (p50 %s, p99 %s)%s",
		quantile(s, row->p50, a), quantile(s, row->p99, b),
		brief == 0 ? "" : plots_text(p, " (%s are brief, not drawn)",
			out_number_many(c, brief, "calls")));
	add_steps(p, s, layer, octave, sum + brief, e);
}

static void set_shares_axis(struct plots *p, double least)
{
	struct out_axis *const y = &p->plot.y;

	y->label = "share of the function's calls";
	y->is_log = true;
	y->from = pow(10, floor(log10(least)));
	y->to = 130;
	for (int i = -7; i <= 2; i++)
		if (pow(10, i) >= y->from)
			plots_tic(p, &p->plot.y, pow(10, i),
				  plots_text(p, "%.*f%%", i < 0 ? -i : 0,
					     pow(10, i)));
}

/* Of the functions that are asked for, or of those with the most self time. */
enum cmd_exit plots_latency(struct plots *p, struct load *load)
{
	struct flat *const flat = flat_new(load->session, NULL);
	const size_t most = flat->count < PLOTS_COLOURS ? flat->count :
			    PLOTS_COLOURS;
	const size_t count = plots_top(p, 6, most);
	struct extent e = { 1e18, 1, 100 };
	uint8_t *wanted = NULL;
	const enum cmd_exit status = plots_functions(p, load, &wanted);
	size_t drawn = 0;

	for (size_t i = 0; status == CMD_OK && i < flat->count &&
			   drawn < count; i++)
		if (!wanted || wanted[flat->rows[i].f.func])
			add_distribution(p, flat, i, drawn++, &e);
	plots_title(p, load, "How long calls took", "calls that ended, by "
		    "their total, as recorded");
	p->plot.x.label = "time of a call (total)";
	plots_log_time(p, &p->plot.x, e.from, e.to);
	set_shares_axis(p, e.least);
	p->plot.is_long_legend = true;
	mem_free(wanted);
	flat_free(flat);
	return status;
}
