/* export_collapsed.h - stacks as lines of text, "main;work;leaf 1234", which
 * flame graph tools read.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_COLLAPSED_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_COLLAPSED_H

#include "analyzer/out/export/export.h"

/* Write a line for each stack that has self time: the name of its thread, its
 * functions, and the time in ns. Equal stacks of threads of one name are
 * several lines, which tools add up. Of stacks deeper than 1024 frames, the
 * innermost ones are kept. Always 0: the caller checks the file for errors. */
int export_collapsed_write(FILE *, const struct export_from *);

#endif
