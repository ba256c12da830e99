/* out_collapsed.h - stacks as lines of text, "main;work;leaf 1234", as flame
 * graph tools take them.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_COLLAPSED_H
#define WEFT_ANALYZER_OUT_OUT_COLLAPSED_H

#include "analyzer/model/session.h"

#include <stdio.h>

/* A line for each stack that has self time, in ns, below the name of its
 * thread; equal stacks of threads of one name come as several lines, which
 * tools add up. 0; whether the file could be written is the caller's to see. */
int out_collapsed_write(FILE *, struct session *);

#endif
