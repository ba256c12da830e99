/* plots_hot.c - hot functions as bars, native and Lua functions in different
 * colours, waiting in a lighter one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/cmd/shared/ranking.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"

/* Of bars, in pixels. BARS: gnuplot draws nothing that is higher. */
enum { BAR_HEIGHT = 26, FRAME_HEIGHT = 130, BARS = 1200,
       NATIVE_WAITS = 0xfbe0c4, LUA_WAITS = 0xd2e5fa };

/* Values of --sort: metrics of the flat table. */
const char *const plots_sorts[] = { "self", "cpu", "off-cpu", NULL };

/* What is drawn: time on the CPU, and waiting in a lighter colour, if the two
 * are told apart; else self. Ranked by time on the CPU, functions that wait all
 * the time would make the others invisible, so their waiting is cut. */
struct drawing {
	struct plots *p;
	struct session *session;
	struct flat *flat;
	struct ranking ranking;
	struct plots_unit unit;
	ticks most;              /* the longest first part, and then the
	                          * longest lighter one */
	double longest;          /* bar, in ns */
	size_t cuts;             /* layer: marks where a bar is cut */
	bool is_cut;             /* any */
	size_t count;
};

/* The two parts of a row. */
static void split(const struct drawing *d, const struct flat_row *row,
		  ticks *first, ticks *rest)
{
	*first = d->ranking.has_switches ? row->f.cpu : row->f.self;
	*rest = d->ranking.has_switches ? row->f.off : 0;
	if (d->ranking.by == METRIC_BY_CPU && *rest > d->most)
		*rest = d->most;
}

/* What the table would say of a row; waiting after a plus sign. */
static const char *describe(const struct drawing *d, const struct flat_row *row)
{
	const struct session *const s = d->session;
	const struct metric *const by = d->ranking.first;
	const bool is_split = d->ranking.has_switches;
	char time[OUT_NUMBER], share[OUT_NUMBER], calls[OUT_NUMBER],
	     off[OUT_NUMBER];
	struct metric_value v;

	metric_get(by, NULL, row, &v);
	return plots_text(d->p, "%s%s%s  %s  %s",
		out_number_time(time, (double)session_ns(s, is_split ?
			row->f.cpu : row->f.self)),
		is_split ? " + " : "", !is_split ? "" :
		out_number_time(off, (double)session_ns(s, row->f.off)),
		out_number_share(share, v.count, flat_whole(d->flat, by)),
		out_number_many(calls, row->f.calls, "calls"));
}

/* The longest bar, and with it the unit of the axis. */
static void measure(struct drawing *d)
{
	ticks longest = 0, first, rest;

	for (size_t i = 0; i < d->count; i++) {
		split(d, &d->flat->rows[i], &first, &rest);
		d->most = first > d->most ? first : d->most;
	}
	for (size_t i = 0; i < d->count; i++) {
		split(d, &d->flat->rows[i], &first, &rest);
		longest = first + rest > longest ? first + rest : longest;
	}
	d->longest = (double)session_ns(d->session, longest);
	d->unit = plots_unit(d->longest);
}

/* Two gaps near the bar's end: it goes on. */
static void mark_cut(struct drawing *d, double end, double height)
{
	const double wide = d->longest / d->unit.ns / 160;

	for (int i = 0; i < 2; i++)
		plots_row(d->p, d->cuts, end - (4 - 2 * i) * wide,
			  end - (3 - 2 * i) * wide, height - 0.4,
			  height + 0.4);
	d->is_cut = true;
}

/* Bar i lies at height count - i, so that the first is on top. layer: its
 * language's first one; the next is that of the lighter part. */
static void add_bar(struct drawing *d, size_t i, size_t layer)
{
	const struct flat_row *const row = &d->flat->rows[i];
	const double height = (double)(d->count - i);
	double end, all;
	ticks first, rest;

	split(d, row, &first, &rest);
	end = (double)session_ns(d->session, first) / d->unit.ns;
	all = end + (double)session_ns(d->session, rest) / d->unit.ns;
	plots_row(d->p, layer, 0, end, height - 0.36, height + 0.36);
	if (rest > 0)
		plots_row(d->p, layer + 1, end, all, height - 0.36,
			  height + 0.36);
	if (rest < row->f.off && d->ranking.has_switches)
		mark_cut(d, all, height);
	plots_tic(d->p, &d->p->plot.y, height,
		  func_get(d->session->funcs, row->f.func)->name);
	plots_label(d->p, all, height, describe(d, row));
}

static void add_bars(struct drawing *d)
{
	const size_t native = plots_layer(d->p, OUT_BOX, PLOTS_NATIVE,
					  "native");
	size_t lua;

	plots_layer(d->p, OUT_BOX, NATIVE_WAITS, "waiting");
	lua = plots_layer(d->p, OUT_BOX, PLOTS_LUA, "Lua");
	plots_layer(d->p, OUT_BOX, LUA_WAITS, "waiting");
	d->cuts = plots_layer(d->p, OUT_BOX, 0xffffff, NULL);
	for (size_t i = 0; i < d->count; i++)
		add_bar(d, i, func_get(d->session->funcs,
			d->flat->rows[i].f.func)->kind == FUNC_LUA ? lua :
			native);
}

static const char *shown(const struct drawing *d)
{
	const char *const part = plots_shown(d->p, d->flat, d->count);
	const char *const cut = d->is_cut ? "bars with gaps at their end go "
				"on: the text has the whole" : "";

	return plots_text(d->p, "%s%s%s", part, part[0] && cut[0] ? "; " : "",
			  cut);
}

/* The axis is longer than the longest bar, so that the texts have room. */
static void set_axes(struct drawing *d)
{
	struct out_plot *const plot = &d->p->plot;
	const bool is_split = d->ranking.has_switches;

	plot->height = FRAME_HEIGHT + BAR_HEIGHT * d->count;
	plot->x.label = plots_text(d->p, "%s, %s", is_split ?
		"time on the CPU, and waiting" :
		"self time (running and waiting are not told apart)",
		d->unit.name);
	plot->x.to = d->longest <= 0 ? 1 :
		     d->longest / d->unit.ns * (is_split ? 1.75 : 1.5);
	plot->y.is_name = true;
	plot->y.from = 0.3;
	plot->y.to = (double)d->count + 0.7;
}

static const char *const titles[METRIC_RANKINGS] = {
	[METRIC_BY_TIME] = "self time", [METRIC_BY_CPU] = "time on the CPU",
	[METRIC_BY_WAITING] = "waiting"
};

enum cmd_exit plots_hot(struct plots *p, struct load *load)
{
	struct drawing d = { .p = p, .session = load->session };

	if (ranking_choose(&d.ranking, load->session, flat_views, !p->sort ?
			   NULL : metric_find(flat_views, p->sort)) != 0)
		return CMD_USAGE;
	if (ranking_check(&d.ranking) != 0)
		return CMD_UNREADABLE;
	d.flat = flat_new(load->session, &(struct flat_options){
		.sort = d.ranking.sort, .thread = CCT_ALL_THREADS });
	d.count = plots_top(p, 20, d.flat->count);
	d.count = d.count < BARS ? d.count : BARS;
	measure(&d);
	add_bars(&d);
	set_axes(&d);
	plots_title(p, load, plots_text(p, "Hot functions by %s",
					titles[d.ranking.by]), shown(&d));
	flat_free(d.flat);
	return CMD_OK;
}
