/* out_plot.h - a plot of any kind: axes, and layers of shapes over each other.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a row of a layer's numbers means. */
enum out_shape {
	OUT_BOX,     /* x from, x to, y from, y to */
	OUT_AREA,    /* x, y from, y to: between the points of rising x */
	OUT_LINE,    /* x, y */
	OUT_ARROW,   /* x from, y from, x to, y to */
};

/* Shapes of one kind and colour. Texts of a plot are borrowed and untrusted;
 * long ones are cut. */
struct out_layer {
	enum out_shape shape;
	const char *title;   /* in the legend; NULL: not there */
	unsigned colour;     /* 0xRRGGBB; 0x80RRGGBB is half transparent */
	double (*rows)[4]; size_t count, room;
	const char *also;    /* follows a title, and is not cut; or NULL */
};

struct out_tic { double at; const char *text; };

struct out_axis {
	const char *label;   /* what, and its unit; NULL: none */
	double from, to;     /* from < to */
	bool is_log, is_name; /* is_name: tics are names, without a grid */
	const struct out_tic *tics; size_t tic_count; /* 0: gnuplot's */
};

/* A text right of a point. */
struct out_label { double x, y; const char *text; };

struct out_plot {
	const char *title;
	const char *note;    /* a second line, smaller: what to know about it */
	size_t width, height; /* pixels */
	bool is_long_legend; /* beside the plot, not above it */
	struct out_axis x, y;
	const struct out_layer *layers; size_t layer_count;
	const struct out_label *labels; size_t label_count;
};

/* Names of formats: what files end in, and two for terminals. */
enum { OUT_PLOT_SVG, OUT_PLOT_PNG, OUT_PLOT_PDF, OUT_PLOT_DUMB,
       OUT_PLOT_SIXEL };
extern const char *const out_plot_formats[]; /* ends with NULL */

/* Draw into a file, which appears whole or not at all; "-" is standard output.
 * keep: a file for the data and the script, from which gnuplot draws the plot
 * again; NULL: none. Of a plot in characters, width and height are those of the
 * terminal. Runs gnuplot from the PATH and waits for it. 0, or -1 with the
 * cause in the chain. */
int out_plot_draw(const struct out_plot *, const char *file, int format,
		  const char *keep);
