/* cells.h - cells of tables and fields of CSV rows that several commands print
 * alike.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_CELLS_H
#define WEFT_ANALYZER_CMD_CELLS_H

#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"
#include "analyzer/out/out_table.h"

/* Print untrusted text on stdout, made safe for a terminal. */
void cells_print_text(const char *);

/* A count that may be a mean: with one decimal if it is not whole. */
void cells_count(struct out_table *, double);

/* A function in a CSV row. */
#define CELLS_FUNC_COLUMNS "function,language,module,file,line"
void cells_csv_func(struct out_csv *, struct session *, func_id);

/* A frame's function, or what stands for it: frames left out, or one that was
 * open before the recording saw it. Written to room, or borrowed. */
const char *cells_frame_name(struct session *, const struct stack_frame *,
			     char room[48]);
/* Print a frame on stdout: the mark, its name, a note, and its function's file
 * and line; f may be NULL. */
void cells_print_frame(const char *mark, const char *name, const char *note,
		       const struct func *f);
/* "a;b;c", outermost first, or with another text between. The caller frees
 * it. */
char *cells_stack(struct session *, const struct stack_table *, stack_id,
		  const char *between);

/* A tid and pid by index; 0 beyond the session's: a trace that grows may show
 * more when it is read again. */
uint32_t cells_tid(const struct session *, uint32_t thread);
uint32_t cells_pid(const struct session *, uint32_t process);
/* Ticks since the first record; 0 before it. */
ticks cells_since_start(const struct session *, ticks);

/* A number with so many decimals. */
void cells_csv_real(struct out_csv *, double, int decimals);

#endif
