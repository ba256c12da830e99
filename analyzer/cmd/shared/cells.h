/* cells.h - frames, stacks and identities as several commands print them.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"

/* Print a frame on stdout, safe for a terminal and without a newline, so that
 * the caller can add to it. The mark is one character, the note follows the
 * name; the function's file and line come last. f may be NULL. */
void cells_print_frame(const char *mark, const char *name, const char *note,
		       const struct func *f);
/* A function's name for a sentence or a stack: a long one is shortened as
 * out_name_cut does. Safe for a terminal. The caller frees it. */
char *cells_name(const char *name);
/* The tid and pid of an index; 0 beyond the session's. */
uint32_t cells_tid(const struct session *, uint32_t thread);
uint32_t cells_pid(const struct session *, uint32_t process);
/* The functions of a stack, outermost first: all of them with ";" between them
 * in CSV; else as a person reads it. The caller frees the text. */
char *cells_stack(const struct stack_table *, struct func_table *, stack_id,
		  bool is_csv);
/* Ticks since the first record of the session; 0 before it. */
ticks cells_since_start(const struct session *, ticks);

/* Was Lua sampled, at times at least? */
bool cells_samples_lua(const struct session *);

/* The pattern of a name, as a word of a shell. "?" stands for what has a
 * meaning in a pattern or in front of an operand, and for what does no good to
 * a terminal. The caller frees it. */
char *cells_pattern(const char *name);
