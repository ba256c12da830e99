/* out_csv.h - rows for scripts: RFC 4180, one row a line, numbers bare.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_CSV_H
#define WEFT_ANALYZER_OUT_OUT_CSV_H

#include <stdint.h>
#include <stdio.h>

/* A row being written; starts as { file, 0 }. */
struct out_csv { FILE *to; int fields; };

void out_csv_text(struct out_csv *, const char *text); /* untrusted */
void out_csv_number(struct out_csv *, uint64_t);
void out_csv_end(struct out_csv *);                    /* of the row */

#endif
