/* out_speedscope.h - the tree as a file for speedscope: a profile for each
 * thread.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_SPEEDSCOPE_H
#define WEFT_ANALYZER_OUT_OUT_SPEEDSCOPE_H

#include "analyzer/model/session.h"

#include <stdio.h>

/* Write an "evented" profile
 * (https://www.speedscope.app/file-format-schema.json). Each stack occurs once,
 * as wide as its total time in ns, in the order of the tree, not of time.
 * Threads without calls are left out. 0, or -1 with the cause in the chain; the
 * caller checks the file for errors. */
int out_speedscope_write(FILE *, struct session *);

#endif
