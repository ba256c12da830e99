/* plots.h - the kinds of weft plot: each fills in a plot from a load. How it is
 * drawn is out/out_plot's, where it goes is cmd_plot.c's.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/cmd/shared/sides.h"
#include "analyzer/load/load.h"
#include "analyzer/out/out_plot.h"

/* A plot that is being made, and what it refers to; all of it is freed by
 * plots_fini. */
struct plots {
	size_t top;              /* --top; SIZE_MAX: not given */
	const char *functions;   /* --only, or NULL */
	const char *sort;        /* --sort of hot, one of plots_sorts; NULL:
	                          * cmd/ranking chooses */
	bool is_text;            /* it is drawn in characters */
	struct out_plot plot;
	struct arena *text;
	struct out_layer *layers; size_t layer_room;
	struct out_tic *tics[2]; size_t tic_room[2];    /* of x and of y */
	struct out_label *labels; size_t label_room;
};
void plots_init(struct plots *);
void plots_fini(struct plots *);

/* ---- parts of a plot ---------------------------------------------------- */

/* A text that lives as long as the plot. */
__attribute__((format(printf, 2, 3)))
const char *plots_text(struct plots *, const char *format, ...);
/* Returns the new layer's index; title NULL: not in the legend. */
size_t plots_layer(struct plots *, enum out_shape, unsigned colour,
		   const char *title);
void plots_row(struct plots *, size_t layer, double, double, double, double);
/* The axis is one of the plot's own two. */
void plots_tic(struct plots *, struct out_axis *, double at, const char *text);
void plots_label(struct plots *, double x, double y, const char *text);

/* What the plot shows, with the program and the time recorded; and, in the line
 * below, what was lost, which part is shown, and what else to know (may be
 * empty). */
void plots_title(struct plots *, const struct load *, const char *what,
		 const char *also);

/* One axis, one unit: the largest of which `most` has at least one. */
struct plots_unit { const char *name; double ns; };
struct plots_unit plots_unit(double most_ns);
/* A logarithmic axis of times in ns, with a tic for each power of ten. */
void plots_log_time(struct plots *, struct out_axis *, double from, double to);

/* The time that an octave of a histogram begins with, in ns; of the first one,
 * which begins with 0, a tick. */
double plots_octave(const struct session *, size_t octave);

/* The i-th of colours that differ from each other; they repeat. */
unsigned plots_colour(size_t i);
/* Native and Lua as in the page (page.css). */
enum { PLOTS_COLOURS = 12, PLOTS_NATIVE = 0xf3b26b, PLOTS_LUA = 0x7fb5ee,
       PLOTS_GREY = 0xc4c4c4, PLOTS_PALE = 0xe4e4e4 };

/* The functions that --only names, by func_id; NULL without it: all. The
 * caller frees it by mem_free. CMD_USAGE with the cause in the chain if it
 * names none. */
enum cmd_exit plots_functions(const struct plots *, const struct load *,
			      uint8_t **wanted);
/* --top, or that which is usual for the kind; --top 0 is `most`. */
size_t plots_top(const struct plots *, size_t usual, size_t most);
/* Which part of all functions the first rows of the table are; "": all. */
struct flat;
const char *plots_shown(struct plots *, const struct flat *, size_t count);

/* Sets the axis of time since the recording began, for the range that is
 * shown, which is [*from, *to). */
void plots_range(struct plots *, const struct load *, ticks *from, ticks *to);

/* ---- kinds -------------------------------------------------------------- */

/* Each fills in the plot from a load that has calls. CMD_OK, or the cause is in
 * the chain. */
typedef enum cmd_exit (*plots_fn)(struct plots *, struct load *);

/* plots_hot.c and plots_latency.c: from the tree. latency needs histograms. */
extern const char *const plots_sorts[]; /* ends with NULL */
enum cmd_exit plots_hot(struct plots *, struct load *);
enum cmd_exit plots_latency(struct plots *, struct load *);
/* plots_time.c and plots_lanes.c: from a second replay of a trace. */
enum cmd_exit plots_shares(struct plots *, struct load *);
enum cmd_exit plots_heat(struct plots *, struct load *);
enum cmd_exit plots_lanes(struct plots *, struct load *);
enum cmd_exit plots_memory(struct plots *, struct load *); /* plots_memory.c */
/* plots_diff.c: makes the sides' diff. */
enum cmd_exit plots_diff(struct plots *, struct sides *);
