/* export_firefox.h - a chronicle as a profile for the Firefox Profiler, in its
 * "processed" format.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_FIREFOX_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_FIREFOX_H

#include "analyzer/out/export/export.h"

/* Write a thread for each track, whose samples are the stretches of time in
 * which its stack did not change, weighted by their length in ms; marks are
 * markers. Needs a chronicle without tracks for coroutines. Always 0: the
 * caller checks the file for errors. */
int export_firefox_write(FILE *, const struct export_from *);

#endif
