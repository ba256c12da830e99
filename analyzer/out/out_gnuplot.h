/* out_gnuplot.h - plots, drawn by gnuplot run as a child process.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_GNUPLOT_H
#define WEFT_ANALYZER_OUT_OUT_GNUPLOT_H

#include <stddef.h>

struct out_bar {
	const char *label;   /* untrusted */
	const char *note;    /* text beside the bar's end */
	double value;        /* >= 0 */
	size_t group;        /* index of its colour and legend entry */
};

struct out_bars {
	const char *title, *axis;  /* untrusted */
	const struct out_bar *bars;/* the first on top */
	size_t count;
	const char *const *groups; /* names in the legend */
	size_t group_count;        /* at most OUT_GNUPLOT_GROUPS */
};

enum { OUT_GNUPLOT_GROUPS = 4 };

/* Draw horizontal bars into a file, which appears whole or not at all; "-" is
 * standard output. The format is "svg", "png" or, if gnuplot was built for it,
 * "pdf". 0, or -1 with the cause in the chain. */
int out_gnuplot_bars(const struct out_bars *, const char *file,
		     const char *format);

#endif
