/* export_speedscope.h - the tree as a file for speedscope: a profile for each
 * thread.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_SPEEDSCOPE_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_SPEEDSCOPE_H

#include "analyzer/out/export/export.h"

/* Write an "evented" profile
 * (https://www.speedscope.app/file-format-schema.json). Each stack occurs once,
 * as wide as its total time in ns, in the order of the tree, not of time.
 * Threads without calls are left out. Always 0: the caller checks the file for
 * errors. */
int export_speedscope_write(FILE *, const struct export_from *);

#endif
