/* completeness.h - what a trace lacks, in sentences.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_COMPLETENESS_H
#define WEFT_ANALYZER_LOAD_COMPLETENESS_H

#include "analyzer/load/load.h"

#include <stdio.h>

/* Takes a sentence without a full stop; it may hold untrusted bytes. */
typedef void (*completeness_fn)(void *ctx, const char *sentence);

/* One that prints a line, made safe for terminals. Its context is the struct:
 * what the line begins with, and where it goes. */
struct completeness_line { const char *begin; FILE *to; };
void completeness_print(void *ctx, const char *sentence);

/* Say all that is missing, damaged or contradictory. Returns the number of
 * sentences: 0 means that nothing was lost. fn NULL: only count. */
size_t completeness_each(const struct load *, completeness_fn fn, void *ctx);

/* Say where one gap is: its thread, the chunks or records that it lacks, when
 * it begins after the start of the recording, and how long it is. */
void completeness_gap(const struct session *, const struct gap *,
		      completeness_fn fn, void *ctx);

/* Say what else a reader of figures should know: calls that were open at the
 * end, a JIT compiler that was off, functions without names and why. */
size_t completeness_notes(const struct load *, completeness_fn fn, void *ctx);

#endif
