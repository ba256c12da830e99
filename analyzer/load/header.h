/* header.h - what stands on top of every report, and names as reports show them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_HEADER_H
#define WEFT_ANALYZER_LOAD_HEADER_H

#include "analyzer/load/load.h"
#include "analyzer/out/out_csv.h"
#include "analyzer/out/out_table.h"

#include <stdio.h>

/* Program, date, duration, who ran, what was lost: a few lines and an empty
 * one. */
void header_print(FILE *, const struct load *);
/* The same without the empty line. */
void header_begin(FILE *, const struct load *);

/* CMD_UNREADABLE, with the cause in the chain, if there is no call at all. */
enum cmd_exit header_need_calls(const struct load *);

/* For --csv: the losses as lines "# lost: ..." on stderr. */
void header_print_losses(const struct load *);

/* Nanoseconds from the first record to the last. */
uint64_t header_duration(const struct session *);

/* When the first thread's recording began. */
ticks header_first_tick(const struct session *);

/* The last part of a path, never "". */
const char *header_base_name(const char *path);

/* "file.c:12", the file's last part only; "" without a file. */
const char *header_place(char *to, size_t size, const struct func *);

/* The columns function,language,module,file,line of a CSV row. */
#define HEADER_FUNC_COLUMNS "function,language,module,file,line"
void header_csv_func(struct out_csv *, struct session *, func_id);
/* The same; where there is no function (0), text, and nothing known of it. */
void header_csv_func_or(struct out_csv *, struct session *, func_id,
		  const char *text);

/* A table's cell: a time, "-" for none. */
void header_time_cell(struct out_table *, const struct session *, ticks);

#endif
