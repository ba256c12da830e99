/* in_bt2.h - CTF through libbabeltrace2: a graph whose sink puts the words of
 * each weft:chunk into a ring. It may crash or hang on damaged traces, so it
 * runs in a process of its own (in_child.h).
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_BT2_H
#define WEFT_ANALYZER_IN_IN_BT2_H

#include "analyzer/in/in_ring.h"

/* A CTF folder; those of equal uuid are pieces of one trace (rotation). */
struct in_source { const char *path; char uuid[40]; };

/* Read all sources into the ring, in the order of their events' times, and put
 * the end mark. A failure is said in the ring. */
void in_bt2_run(struct in_ring *, const struct in_source *, size_t count);

/* "babeltrace2 2.0.4" */
void in_bt2_version(char *text, size_t room);

#endif
