/* export_speedscope_time.h - a chronicle as a file for speedscope: its "time
 * order" is then that of the program.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_SPEEDSCOPE_TIME_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_SPEEDSCOPE_TIME_H

#include "analyzer/out/export/export.h"

/* Write an "evented" profile for each track
 * (https://www.speedscope.app/file-format-schema.json). Needs a chronicle
 * without tracks for coroutines: of these, speedscope would show one at a time.
 * Always 0: the caller checks the file for errors. */
int export_speedscope_time_write(FILE *, const struct export_from *);

#endif
