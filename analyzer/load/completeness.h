/* completeness.h - what a trace lacks, in sentences.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_COMPLETENESS_H
#define WEFT_ANALYZER_LOAD_COMPLETENESS_H

#include "analyzer/load/load.h"

/* Gets a sentence without full stop; it may hold untrusted bytes. */
typedef void (*completeness_fn)(void *ctx, const char *sentence);

/* Say all that is missing, damaged or contradictory; returns how many sentences
 * that were: 0 means that nothing was lost. */
size_t completeness_each(const struct load *, completeness_fn, void *ctx);

/* Say where one gap is: thread, chunks or records, when after the start of the
 * recording, how long. */
void completeness_gap(const struct session *, const struct gap *,
		      completeness_fn, void *ctx);

/* Say what else a reader of figures should know: calls still open, a JIT that
 * was off, a reader that had to carve. */
size_t completeness_notes(const struct load *, completeness_fn, void *ctx);

#endif
