/* plots_tree.c - plots of a session's tree: how long calls took, calls against
 * time per call. Their figures are the table's of weft report.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/mem.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"

#include <math.h>
#include <string.h>

static const struct func *func_of(const struct flat *flat, size_t i)
{
	return func_get(flat->session->funcs, flat->rows[i].f.func);
}

/* ---- how long calls took ------------------------------------------------ */

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

/* ---- calls against time per call ---------------------------------------- */

/* Texts in the plot: functions' names, and what the lines cost. */
enum { NAMED = 20 };

/* Where in the plot, from 0 to 1, on a logarithmic axis. */
static double part(const struct out_axis *a, double at)
{
	return log(at / a->from) / log(a->to / a->from);
}

/* About how wide a text is, as a part of the plot: names are cut. */
static double width_of(const char *text)
{
	const size_t length = strnlen(text, 50);

	return 0.0065 * (double)length + 0.01;
}

/* Would the text lie on one that is there? */
static bool is_covered(const struct out_plot *plot, double x, double y,
		       const char *text, bool is_left)
{
	const double at = part(&plot->x, x), wide = width_of(text);
	const double from = is_left ? at - wide : at;

	for (size_t i = 0; i < plot->label_count; i++) {
		const struct out_label *const l = &plot->labels[i];
		const double other = part(&plot->x, l->x);
		const double other_wide = width_of(l->text);
		const double other_from = l->is_left ? other - other_wide :
					  other;
		const double dy = part(&plot->y, y) - part(&plot->y, l->y);

		if (fabs(dy) < 0.033 && from < other_from + other_wide &&
		    other_from < from + wide)
			return true;
	}
	return false;
}

/* The cost on its line, at the first place where nothing is. */
static void add_cost_label(struct plots *p, double cost)
{
	const struct out_axis *const x = &p->plot.x, *const y = &p->plot.y;
	char text[OUT_NUMBER];
	const char *const label = plots_text(p, "%s in all",
					     out_number_time(text, cost));

	for (double at = x->from * 3; at < x->to / 10; at *= 3) {
		const double ns = cost / at;

		if (ns < y->from * 1.5 || ns > y->to / 1.5 ||
		    is_covered(&p->plot, at, ns, label, false))
			continue;
		plots_label(p, at, ns, label);
		return;
	}
}

/* Lines of functions that cost the same in all: the three highest powers of
 * ten. */
static void add_costs(struct plots *p, double most)
{
	const struct out_axis *const x = &p->plot.x;

	for (int i = 0; i < 3; i++) {
		const double cost = pow(10, floor(log10(most)) - i);
		const size_t layer = plots_layer(p, OUT_LINE, PLOTS_PALE, NULL);

		plots_row(p, layer, x->from, cost / x->from, 0, 0);
		plots_row(p, layer, x->to, cost / x->to, 0, 0);
		add_cost_label(p, cost);
	}
}

/* The name beside its point, if nothing is there: at the left of it where the
 * right has no room. */
static void add_name(struct plots *p, const struct flat *flat, size_t i)
{
	const struct figures *const f = &flat->rows[i].f;
	const char *const name = func_of(flat, i)->name;
	const double calls = (double)f->calls;
	const double ns = f->calls == 0 ? 0 :
		(double)session_ns(flat->session, f->self) / calls;
	bool is_left;

	if (ns <= 0)
		return;
	is_left = part(&p->plot.x, calls) + width_of(name) > 1;
	if (is_covered(&p->plot, calls, ns, name, is_left))
		return;
	plots_label(p, calls, ns, name);
	p->labels[p->plot.label_count - 1].is_left = is_left;
}

enum cmd_exit plots_calls(struct plots *p, struct load *load)
{
	struct session *const s = load->session;
	struct flat *const flat = flat_new(s, NULL);
	const size_t count = plots_top(p, SIZE_MAX, flat->count);
	const size_t native = plots_layer(p, OUT_POINT, PLOTS_NATIVE, "native");
	const size_t lua = plots_layer(p, OUT_POINT, PLOTS_LUA, "Lua");
	double most = 1, least_ns = 1e18, most_ns = 1, most_self = 1;

	for (size_t i = 0; i < count; i++) {
		const struct figures *const f = &flat->rows[i].f;
		const double calls = (double)f->calls, ns = f->calls == 0 ? 0 :
			(double)session_ns(s, f->self) / calls;

		if (ns <= 0)
			continue;
		plots_row(p, func_of(flat, i)->kind == FUNC_LUA ? lua : native,
			  calls, ns, 0, 0);
		most_self = calls * ns > most_self ? calls * ns : most_self;
		most = calls > most ? calls : most;
		most_ns = ns > most_ns ? ns : most_ns;
		least_ns = ns < least_ns ? ns : least_ns;
	}
	plots_title(p, load, "Calls and time per call", plots_text(p,
		"%.300s%sgrey lines join what costs the same in all",
		plots_shown(p, flat, count),
		count < flat->count ? "; " : ""));
	p->plot.x.label = "calls";
	p->plot.y.label = "self time of a call";
	/* Names are right of their points. */
	plots_log_count(p, &p->plot.x, most * 8);
	plots_log_time(p, &p->plot.y, least_ns / 2, most_ns * 2);
	for (size_t i = 0; i < count && p->plot.label_count < NAMED; i++)
		add_name(p, flat, i);
	add_costs(p, most_self);
	flat_free(flat);
	return CMD_OK;
}
