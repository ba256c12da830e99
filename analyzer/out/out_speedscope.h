/* out_speedscope.h - the tree as a file for speedscope: a profile for each
 * thread.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_SPEEDSCOPE_H
#define WEFT_ANALYZER_OUT_OUT_SPEEDSCOPE_H

#include "analyzer/model/session.h"

#include <stdio.h>

/* JSON as https://www.speedscope.app/file-format-schema.json has it, evented:
 * each stack once, as wide as its total time in ns. Their order is that of the
 * tree, not that of time. 0, or -1 with the cause in the chain; whether the
 * file could be written is the caller's to see. */
int out_speedscope_write(FILE *, struct session *);

#endif
