/* plots.c - what the kinds of weft plot have in common: texts, axes, colours.
 * SPDX-License-Identifier: MIT */
#include "analyzer/cmd/plot/plots.h"
#include "analyzer/args/named.h"
#include "analyzer/base/vec.h"
#include "analyzer/load/completeness.h"
#include "analyzer/model/hist.h"
#include "analyzer/out/out_number.h"
#include "analyzer/tables/flat.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* WIDTH and HEIGHT in pixels, unless a kind has a reason for others. */
enum { WIDTH = 1200, HEIGHT = 600, TEXT = 600 };

void plots_init(struct plots *p)
{
	p->text = arena_new();
	p->plot.width = WIDTH;
	p->plot.height = HEIGHT;
}

void plots_fini(struct plots *p)
{
	for (size_t i = 0; i < p->plot.layer_count; i++)
		mem_free(p->layers[i].rows);
	mem_free_all(p->layers, p->tics[0], p->tics[1], p->labels);
	arena_free(p->text);
}

const char *plots_text(struct plots *p, const char *format, ...)
{
	char text[TEXT];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return arena_copy(p->text, text, strlen(text));
}

size_t plots_layer(struct plots *p, enum out_shape shape, unsigned colour,
		   const char *title)
{
	*vec_add(&p->layers, &p->layer_room, &p->plot.layer_count) =
		(struct out_layer){ .shape = shape, .colour = colour,
				    .title = title };
	p->plot.layers = p->layers;
	return p->plot.layer_count - 1;
}

void plots_row(struct plots *p, size_t layer, double a, double b, double c,
	       double d)
{
	struct out_layer *const l = &p->layers[layer];
	double (*const row)[4] = vec_add(&l->rows, &l->room, &l->count);

	(*row)[0] = a;
	(*row)[1] = b;
	(*row)[2] = c;
	(*row)[3] = d;
}

void plots_tic(struct plots *p, struct out_axis *a, double at,
	       const char *text)
{
	const int axis = a == &p->plot.y;

	*vec_add(&p->tics[axis], &p->tic_room[axis], &a->tic_count) =
		(struct out_tic){ at, text };
	a->tics = p->tics[axis];
}

void plots_label(struct plots *p, double x, double y, const char *text)
{
	*vec_add(&p->labels, &p->label_room, &p->plot.label_count) =
		(struct out_label){ .x = x, .y = y, .text = text };
	p->plot.labels = p->labels;
}

/* A completeness_fn: the first sentence is the gravest. */
static void keep_first(void *ctx, const char *sentence)
{
	char *const first = ctx;

	if (first[0] == '\0')
		snprintf(first, TEXT, "%s", sentence);
}

/* A plot leaves its trace behind, so it says itself whether it is complete. */
void plots_title(struct plots *p, const struct load *load, const char *what,
		 const char *also)
{
	const struct session *const s = load->session;
	char lost[TEXT] = "", more[40] = "", part[TEXT] = "", time[OUT_NUMBER];
	const size_t count = completeness_each(load, keep_first, lost);

	if (count > 1)
		snprintf(more, sizeof(more), " (and %zu more)", count - 1);
	if (load->is_part)
		filter_args_describe(s, &load->part, part, sizeof(part));
	p->plot.title = plots_text(p, "%s: %.60s, %s recorded", what,
		s->process_count == 0 ? "?" :
		load_file_name(s->processes[0].path),
		out_number_time(time, (double)session_duration(s)));
	p->plot.note = plots_text(p, "%s%.200s%s%s%s%s%s",
		count > 0 ? "lost: " : "nothing lost", lost, more,
		also[0] ? "; " : "", also, part[0] ? "; shown: " : "", part);
}

/* ---- axes --------------------------------------------------------------- */

struct plots_unit plots_unit(double ns)
{
	static const struct plots_unit units[] = {
		{ "seconds", 1e9 }, { "milliseconds", 1e6 },
		{ "microseconds", 1e3 }
	};

	for (size_t i = 0; i < 3; i++)
		if (ns >= units[i].ns)
			return units[i];
	return (struct plots_unit){ "nanoseconds", 1 };
}

void plots_log_time(struct plots *p, struct out_axis *a, double from,
		    double to)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	a->is_log = true;
	a->from = from < 1 ? 1 : from;
	a->to = to > a->from ? to : a->from * 10;
	for (int i = 0; i < 15; i++) {
		const double at = pow(10, i);
		const int unit = i / 3 < 3 ? i / 3 : 3;

		if (at >= a->from && at <= a->to)
			plots_tic(p, a, at, plots_text(p, "%.0f %s",
				pow(10, i - 3 * unit), units[unit]));
	}
}

double plots_octave(const struct session *s, size_t octave)
{
	const double least = octave == 0 ? 1 :
		(double)hist_least((uint32_t)octave * HIST_OCTAVE);

	return least * 1e9 / (double)s->tick_hz;
}

/* ---- colours and choices ------------------------------------------------ */

/* Neighbours differ in brightness, too, for readers who see few colours. */
unsigned plots_colour(size_t i)
{
	static const unsigned colours[PLOTS_COLOURS] = {
		0x2f6690, 0xf0a04b, 0x3a9e6e, 0xc8553d, 0x8e7cc3, 0xe0c341,
		0x17a2b8, 0xd983b5, 0x7a5c3a, 0x9bc53d, 0x4a4e8c, 0xe8988a
	};

	return colours[i % PLOTS_COLOURS];
}

enum cmd_exit plots_functions(const struct plots *p, const struct load *load,
			      uint8_t **wanted)
{
	struct session *const s = load->session;

	*wanted = p->functions ? named_functions(s, p->functions) : NULL;
	return p->functions && !*wanted ? CMD_USAGE : CMD_OK;
}

size_t plots_top(const struct plots *p, size_t usual, size_t most)
{
	const size_t top = p->top == SIZE_MAX ? usual :
			   p->top == 0 ? most : p->top;

	return top < most ? top : most;
}

const char *plots_shown(struct plots *p, const struct flat *flat, size_t count)
{
	char all[OUT_NUMBER], share[OUT_NUMBER];
	ticks self = 0;

	if (count == flat->count)
		return "";
	for (size_t i = 0; i < count; i++)
		self += flat->rows[i].f.self;
	return plots_text(p, "the first %zu of %s, %s of the self time", count,
		out_number_many(all, flat->count, "functions"),
		out_number_share(share, self, flat->self));
}
