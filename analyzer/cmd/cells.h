/* cells.h - frames, stacks and identities as several commands print them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CMD_CELLS_H
#define WEFT_ANALYZER_CMD_CELLS_H

#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"

/* Print untrusted text on stdout, made safe for a terminal. Every name and path
 * that comes from a trace goes through here, through a table or through CSV,
 * which escape it themselves. */
void cells_print_text(const char *);

/* A frame's function, or what stands for it: "[12 frames]" for frames left out,
 * "[open before start]" for one that was open before the recording saw it.
 * Written to room, or borrowed from the session; untrusted. */
const char *cells_frame_name(struct session *, const struct stack_frame *,
			     char room[48]);
/* Print a frame on stdout, without a newline, so that the caller can add to it.
 * The mark is one character, the note follows the name as it is; the function's
 * file and line come last. f may be NULL. */
void cells_print_frame(const char *mark, const char *name, const char *note,
		       const struct func *f);
/* The stack's names in one line, outermost first, with `between` between them:
 * "a;b;c". `between` has at most 7 bytes. The names are untrusted and whole.
 * The caller frees the text with mem_free. */
char *cells_stack(struct session *, const struct stack_table *, stack_id,
		  const char *between);

/* The tid and pid of an index; 0 beyond the session's: a trace that grows may
 * show more when it is read again. */
uint32_t cells_tid(const struct session *, uint32_t thread);
uint32_t cells_pid(const struct session *, uint32_t process);
/* Ticks since the first record of the session; 0 before it. */
ticks cells_since_start(const struct session *, ticks);

#endif
