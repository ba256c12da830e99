/* export_csv.h - the nodes of the tree as CSV.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_CSV_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_CSV_H

#include "analyzer/out/export/export.h"

/* A head, and a row for each distinct stack, parents first, with the columns of
 * nodes_view; those of net times only where times are net. Always 0. */
int export_csv_write(FILE *, const struct export_from *);

#endif
