/* completeness.h - what a trace lacks, in sentences.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"

#include <stdio.h>

/* Takes a sentence without a full stop. It may hold untrusted bytes (names of
 * threads, paths of modules), and it is valid during the call only. */
typedef void (*completeness_fn)(void *ctx, const char *sentence);

/* The context of completeness_print: what each line begins with, "lost: " for
 * example, and where it goes. Both are borrowed. */
struct completeness_line { const char *begin; FILE *to; };
/* A completeness_fn that prints a line, made safe for a terminal. */
void completeness_print(void *ctx, const char *sentence);

/* Say all that is missing, damaged or contradictory, the gravest first. Returns
 * the number of sentences: 0 means that nothing was lost. fn NULL: only
 * count. */
size_t completeness_each(const struct load *, completeness_fn fn, void *ctx);

/* Say where one gap of the session is: its thread, the chunks or records that
 * it lacks, when it begins after the start of the recording, and how long it
 * is. A gap without a beginning (from is 0) is before the thread's first chunk;
 * it has no length. */
void completeness_gap(const struct session *, const struct gap *,
		      completeness_fn fn, void *ctx);

/* Say what else a reader of figures should know: calls that were open at the
 * end, a JIT compiler that was off, functions without names and why. None of
 * these is a loss. Returns the number of sentences; fn NULL: only count. */
size_t completeness_notes(const struct load *, completeness_fn fn, void *ctx);
