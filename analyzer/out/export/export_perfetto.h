/* export_perfetto.h - a chronicle as a Perfetto trace: protobuf.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_PERFETTO_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_PERFETTO_H

#include "analyzer/out/export/export.h"

/* Write a track for each thread, below it those of the coroutines that were
 * first resumed there, below these those that they resumed; names once; a flow
 * from each resume to what the coroutine then does. Always 0: the caller checks
 * the file for errors. */
int export_perfetto_write(FILE *, const struct export_from *);

#endif
