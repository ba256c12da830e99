/* plots_lanes.c - a row for each thread and each coroutine: when it ran, in
 * what, and who resumed it; from a second replay of the trace.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/order.h"
#include "analyzer/out/out_number.h"
#include "analyzer/cmd/shared/cells.h"
#include "analyzer/model/group.h"
#include "analyzer/watch/chronicle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* SPANS: in all; ARROWS: more of them hide what they join. Heights are pixels:
 * of a row, unless there are so many that they need more than MOST; below
 * NAMED, a row has no name. */
enum { SPANS = 40000, ARROWS = 150, ROW = 24, FRAME = 130, MOST = 1500,
       LEAST = 300, NAMED = 9 };

/* The lanes that are drawn, from the top down. */
struct drawing {
	struct plots *p;
	struct load *load;
	struct chronicle *chronicle;
	const struct chronicle_found *t;
	uint32_t *lanes; size_t count; /* tracks */
	double *y_of;            /* by lane: the middle of its row in pixels; 0:
	                          * it has none */
	double row;              /* a coroutine's, in pixels */
	double tick;             /* in units of the axis */
	ticks first;
	bool has_switches;       /* what waits is known */
	size_t *layer_of;        /* by func_id: the layer + 1 */
	size_t other, colours;   /* the layer of functions without one */
};

/* For qsort_r: threads first, each kind as they began. */
static int compare_lanes(const void *a, const void *b, void *ctx)
{
	const struct track *const tracks = ctx;
	const uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct track *const x = &tracks[i], *const y = &tracks[k];

	return ORDER(x->coroutine != 0, y->coroutine != 0) ?: UP(from) ?:
	       ORDER(i, k);
}

static void choose_lanes(struct drawing *d)
{
	const struct chronicle_found *const t = d->t;

	d->lanes = mem_alloc((t->count + 1) * sizeof(*d->lanes));
	d->y_of = mem_alloc((t->count + 1) * sizeof(*d->y_of));
	for (uint32_t i = 0; i < t->count; i++)
		if (t->tracks[i].count > 0)
			d->lanes[d->count++] = i;
	qsort_r(d->lanes, d->count, sizeof(*d->lanes), compare_lanes,
		t->tracks);
}

static double row_of(const struct drawing *d, uint32_t lane)
{
	return d->t->tracks[lane].coroutine != 0 ? d->row : (double)ROW;
}

/* Rows from the bottom up. Threads keep their height however many coroutines
 * there are. Returns the height of all. */
static double set_rows(struct drawing *d)
{
	size_t coroutines = 0;
	double y = 0;

	for (size_t i = 0; i < d->count; i++)
		coroutines += d->t->tracks[d->lanes[i]].coroutine != 0;
	d->row = coroutines * ROW <= MOST ? (double)ROW :
		 (double)MOST / (double)coroutines;
	for (size_t i = d->count; i-- > 0; ) {
		const double row = row_of(d, d->lanes[i]);

		d->y_of[d->lanes[i]] = y + row / 2;
		y += row;
	}
	return y;
}

static double place(const struct drawing *d, ticks tick)
{
	return (double)(tick - d->first) * d->tick;
}

/* At least about a pixel wide and, unless it is thin, high. part: of the row's
 * height. */
static void add_box(struct drawing *d, size_t layer,
		    const struct span *s, uint32_t lane, double part)
{
	const double y = d->y_of[lane], high = part * row_of(d, lane) / 2;
	const double least_half = part < 0.2 ? 0.3 : 0.7;
	const double half = high < least_half ? least_half : high;
	const struct out_axis *const x = &d->p->plot.x;
	const double from = place(d, s->begin), to = place(d, s->end);
	const double least = from + (x->to - x->from) / 1500;

	plots_row(d->p, layer, from, to > least ? to : least, y - half,
		  y + half);
}

/* ---- colours ------------------------------------------------------------ */

/* How long a function ran, as far as outermost spans tell. */
struct use { func_id func; ticks busy; };

ORDER_BY(compare_uses, struct use, DOWN(busy) ?: UP(func))

/* Has the span a colour? Of a thread, outermost calls and coroutines on top of
 * them have; of a coroutine, its runs, whose function is the body. */
static bool is_shown(const struct track *k, const struct span *s)
{
	if (k->coroutine != 0)
		return s->kind == SPAN_ACTIVE && s->func != 0;
	return s->kind == SPAN_RUN ||
	       (s->kind == SPAN_CALL && s->depth == 1);
}

/* Layers for the functions that have most of the boxes. */
static void add_colours(struct drawing *d)
{
	struct func_table *const funcs = d->load->session->funcs;
	const size_t n = func_count(funcs) + 1;
	struct use *const use = mem_alloc(n * sizeof(*use));

	for (size_t i = 0; i < n; i++)
		use[i].func = (func_id)i;
	for (size_t i = 0; i < d->count; i++) {
		const struct track *const k = &d->t->tracks[d->lanes[i]];

		for (const struct span *s = k->spans; s < k->spans + k->count;
		     s++)
			if (is_shown(k, s) && s->func < n)
				use[s->func].busy += s->end - s->begin;
	}
	qsort(use, n, sizeof(*use), compare_uses);
	d->layer_of = mem_alloc(n * sizeof(*d->layer_of));
	for (size_t i = 0; i < n && i < PLOTS_COLOURS && use[i].busy > 0; i++)
		d->layer_of[use[i].func] = 1 + plots_layer(d->p, OUT_BOX,
			plots_colour(i), use[i].func == 0 ?
			"[no known function]" :
			func_get(funcs, use[i].func)->name);
	d->colours = n;
	d->other = plots_layer(d->p, OUT_BOX, 0x8c8c8c, "other functions");
	mem_free(use);
}

static size_t layer_of(const struct drawing *d, func_id func)
{
	return func < d->colours && d->layer_of[func] > 0 ?
	       d->layer_of[func] - 1 : d->other;
}

/* ---- rows --------------------------------------------------------------- */

/* A coroutine's name is that of its body. */
static const char *name_of(const struct drawing *d, uint32_t lane)
{
	const struct track *const k = &d->t->tracks[lane];
	const struct session *const s = d->load->session;
	const char *start;
	func_id body = 0;

	for (size_t i = 0; i < k->count && body == 0; i++)
		body = k->spans[i].kind == SPAN_ACTIVE ? k->spans[i].func : 0;
	if (k->coroutine != 0)
		return plots_text(d->p, "%" PRIu64 " %.200s", k->coroutine,
			body ? func_get(s->funcs, body)->name : "coroutine");
	if (k->thread >= s->thread_count)
		return "thread";
	start = group_start(s, k->thread);
	return plots_text(d->p, "thread %" PRIu32 " %s%s%.200s%s",
		cells_tid(s, k->thread), s->threads[k->thread].name,
		start[0] ? ": " : "", start,
		k->level > 0 ? ", signal handlers" : "");
}

/* As long as it is, however short, so that what runs in between is seen. */
static void add_wait(struct drawing *d, size_t layer, const struct span *s,
		     uint32_t lane)
{
	const double y = d->y_of[lane], half = 0.42 * row_of(d, lane);

	plots_row(d->p, layer, place(d, s->begin), place(d, s->end), y - half,
		  y + half);
}

/* A thin line from a coroutine's first run to its last: it is suspended where
 * nothing covers the line. Runs of threads are pale, under what ran in them.
 * wait: the layer of what is blocked, before that of run-wait. */
static void add_lane(struct drawing *d, uint32_t lane, size_t line, size_t run,
		     size_t wait, size_t lost)
{
	const struct track *const k = &d->t->tracks[lane];
	const struct track *const waits = d->has_switches ? k->waits : NULL;
	const struct span life = { .begin = k->from, .end = k->to };

	if (k->coroutine != 0)
		add_box(d, line, &life, lane, 0.12);
	for (const struct span *s = k->spans; s < k->spans + k->count; s++) {
		if (is_shown(k, s))
			add_box(d, layer_of(d, s->func), s, lane,
				s->kind == SPAN_RUN ? 0.48 : 0.8);
		else if (s->kind == SPAN_ACTIVE)
			add_box(d, run, s, lane, 0.8);
	}
	for (size_t i = 0; waits && i < waits->count; i++)
		add_wait(d, wait + (waits->spans[i].kind == SPAN_READY),
			 &waits->spans[i], lane);
	for (size_t i = 0; i < k->count; i++)
		if (k->spans[i].kind == SPAN_MISSING)
			add_box(d, lost, &k->spans[i], lane, 0.96);
}

/* ---- arrows ------------------------------------------------------------- */

/* Who resumed a run, if both have rows. */
static bool has_arrow(const struct drawing *d, const struct span *s)
{
	return s->kind == SPAN_ACTIVE && s->to < d->t->count &&
	       d->y_of[s->to] > 0;
}

/* From the resumer to the resumed. Returns how many runs have one; none is
 * drawn if these are too many. */
static size_t add_arrows(struct drawing *d, size_t layer, bool is_drawn)
{
	size_t count = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct track *const k = &d->t->tracks[d->lanes[i]];

		for (const struct span *s = k->spans; s < k->spans + k->count;
		     s++) {
			const double x = place(d, s->begin);

			if (!has_arrow(d, s))
				continue;
			count++;
			if (is_drawn)
				plots_row(d->p, layer, x, d->y_of[s->to], x,
					  d->y_of[d->lanes[i]]);
		}
	}
	return count;
}

/* ---- the plot ----------------------------------------------------------- */

static void set_axes(struct drawing *d)
{
	struct out_plot *const plot = &d->p->plot;
	const struct session *const s = d->load->session;
	struct plots_unit unit;
	const double rows = set_rows(d);

	d->first = session_first_tick(s);
	unit = plots_unit((double)session_ns(s, d->t->to - d->first));
	d->tick = 1e9 / (double)s->tick_hz / unit.ns;
	plot->x.from = place(d, d->t->from);
	plot->x.to = place(d, d->t->to + (d->t->to == d->t->from));
	plot->x.label = plots_text(d->p, "time since the recording began, %s",
				   unit.name);
	plot->y.is_name = true;
	plot->y.to = rows + ROW / 3;
	plot->height = FRAME + (size_t)rows;
	/* The legend needs room; what rows do not fill is below them. */
	plot->height = plot->height < LEAST ? LEAST : plot->height;
	plot->y.from = plot->y.to - (double)(plot->height - FRAME + ROW);
	plot->is_long_legend = true;
	if (d->row < (double)NAMED)
		plot->y.label = "coroutines, in the order in which they began";
	for (size_t i = 0; i < d->count; i++)
		if (row_of(d, d->lanes[i]) >= (double)NAMED)
			plots_tic(d->p, &d->p->plot.y, d->y_of[d->lanes[i]],
				  name_of(d, d->lanes[i]));
}

/* What the picture leaves out. */
static const char *left_out(const struct drawing *d, size_t arrows)
{
	const struct chronicle_found *const t = d->t;
	const struct session *const s = d->load->session;
	char grain[OUT_NUMBER], many[OUT_NUMBER], active[OUT_NUMBER];
	const char *const folded = t->below == 0 ? "" : plots_text(d->p,
		"; spans below %s are joined", out_number_time(
		grain, (double)session_ns(s, t->below)));
	const char *const rest = t->rest.coroutines == 0 ? "" :
		plots_text(d->p, "; %s have no row (--top): active for %s",
			out_number_many(many, t->rest.coroutines,
					"coroutines"),
			out_number_time(active,
				(double)session_ns(s, t->rest.active)));
	const char *const all = plots_text(d->p, "%s%s%s%s", d->has_switches ?
		"" : "; running and waiting are not told apart", rest, folded,
		arrows > ARROWS ? "; too many resumes for arrows" :
		arrows > 0 ? "; arrows are resumes" : "");

	return all[0] ? all + strlen("; ") : all;
}

static void draw(struct drawing *d)
{
	size_t line, run, wait, lost, arrow, arrows = 0;

	choose_lanes(d);
	set_axes(d);
	line = plots_layer(d->p, OUT_BOX, 0xa0a0a0, "suspended (thin line)");
	run = plots_layer(d->p, OUT_BOX, 0xdde3ea, "in no function");
	add_colours(d);
	wait = plots_layer(d->p, OUT_BOX, 0xb3c9d8, "blocked");
	plots_layer(d->p, OUT_BOX, 0xe3b8a8, "run-wait: without a core");
	lost = plots_layer(d->p, OUT_BOX, 0xd62728, "records lost");
	arrow = plots_layer(d->p, OUT_ARROW, 0x80404040, NULL);
	for (size_t i = 0; i < d->count; i++)
		add_lane(d, d->lanes[i], line, run, wait, lost);
	/* As characters, they would hide what they cross. */
	if (!d->p->is_text)
		arrows = add_arrows(d, arrow, false);
	if (arrows > 0 && arrows <= ARROWS)
		add_arrows(d, arrow, true);
	plots_title(d->p, d->load, "Threads and coroutines",
		    left_out(d, arrows));
}

/* Coroutines beyond --top have no row: their sums are in the note. */
enum cmd_exit plots_lanes(struct plots *p, struct load *load)
{
	struct session *const s = load->session;
	uint8_t *const threads = filter_args_threads(s);
	struct drawing d = { .p = p, .load = load };
	enum cmd_exit status = CMD_OK;

	d.has_switches = cct_knows_switches(s->cct, NULL, NULL);
	d.chronicle = chronicle_new(&(struct chronicle_options){
		.by_coroutine = true, .from = load->want.from,
		.to = load->want.to, .threads = threads,
		.thread_count = s->thread_count, .serial = load->want.serial,
		.pid = load->want.pid, .max_spans = SPANS, .lanes_of = s,
		.most = plots_top(p, p->is_text ? 15 : 40, SIZE_MAX) });
	d.t = chronicle_found(d.chronicle);
	if (load_again(load, &chronicle_lanes_sink, d.chronicle) != 0)
		status = CMD_UNREADABLE;
	chronicle_finish(d.chronicle);
	if (status == CMD_OK)
		draw(&d);
	chronicle_free(d.chronicle);
	mem_free_all(d.lanes, d.y_of, d.layer_of, threads);
	return status;
}
