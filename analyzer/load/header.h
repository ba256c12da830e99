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
void head_print(FILE *, const struct load *);
/* The same without the empty line. */
void head_begin(FILE *, const struct load *);

/* CMD_UNREADABLE, with the cause in the chain, if there is no call at all. */
enum cmd_exit head_need_calls(const struct load *);

/* For --csv: the losses as lines "# lost: ..." on stderr. */
void head_print_losses(const struct load *);

/* Nanoseconds from the first record to the last. */
uint64_t head_duration(const struct session *);

/* When the first thread's recording began. */
ticks head_first_tick(const struct session *);

/* The last part of a path, never "". */
const char *head_base_name(const char *path);

/* "file.c:12", the file's last part only; "" without a file. */
const char *head_place(char *to, size_t size, const struct func *);

/* The columns function,language,module,file,line of a CSV row. */
#define HEAD_FUNC_COLUMNS "function,language,module,file,line"
void head_csv_func(struct out_csv *, struct session *, func_id);
/* The same; where there is no function (0), text, and nothing known of it. */
void head_csv_who(struct out_csv *, struct session *, func_id,
		  const char *text);

/* A table's cell: a time, "-" for none. */
void head_time_cell(struct out_table *, const struct session *, ticks);

#endif
