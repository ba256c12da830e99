/* out_gnuplot.h - plots, drawn by gnuplot run as a child process.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_GNUPLOT_H
#define WEFT_ANALYZER_OUT_OUT_GNUPLOT_H

#include <stddef.h>

/* One bar. Texts of a bar and of a plot are borrowed; long ones are cut. */
struct out_bar {
	const char *label;   /* untrusted */
	const char *note;    /* text beside the bar's end */
	double value;        /* >= 0 */
	size_t group;        /* index of its colour and legend entry */
};

/* A plot of bars. */
struct out_bars {
	const char *title, *axis;  /* untrusted; axis: what values are, and
	                            * their unit */
	const struct out_bar *bars;/* the first on top */
	size_t count;
	const char *const *groups; /* names in the legend */
	size_t group_count;        /* at most OUT_GNUPLOT_GROUPS */
};

enum { OUT_GNUPLOT_GROUPS = 4 };

/* Draw horizontal bars into a file, which appears whole or not at all; "-" is
 * standard output. The format is "svg", "png" or, if gnuplot was built for it,
 * "pdf". Runs gnuplot from the PATH and waits for it. 0, or -1 with the cause
 * in the chain: gnuplot is missing, or what it said. */
int out_gnuplot_bars(const struct out_bars *, const char *file,
		     const char *format);

#endif
