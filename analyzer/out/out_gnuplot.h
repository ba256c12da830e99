/* out_gnuplot.h - runs gnuplot as a child process.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_GNUPLOT_H
#define WEFT_ANALYZER_OUT_OUT_GNUPLOT_H

/* Give gnuplot, from the PATH, a script (borrowed), and write what it draws to
 * a file, which appears whole or not at all; "-" is standard output. Waits for
 * it. 0, or -1 with the cause in the chain: gnuplot is missing, or what it
 * said. */
int out_gnuplot_run(char *script, const char *file);

#endif
