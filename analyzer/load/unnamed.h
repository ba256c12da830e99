/* unnamed.h - functions without names, in sentences: whose file would name them
 * and why it did not.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_UNNAMED_H
#define WEFT_ANALYZER_LOAD_UNNAMED_H

#include "analyzer/load/completeness.h"

/* Tell of names that could be had if somebody did something. A library with a
 * few local functions needs no word. */
void unnamed_tell(const struct load *, completeness_fn, void *ctx);

#endif
