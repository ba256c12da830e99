/* in_bt2.h - CTF through libbabeltrace2: a graph whose sink puts the words of
 * each event weft:chunk into a ring.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_BT2_H
#define WEFT_ANALYZER_IN_IN_BT2_H

#include "analyzer/in/in_child.h"

/* An in_child_fn: read all sources, in the order of their events' times. A
 * failure is reported in the ring. */
void in_bt2_run(struct in_ring *, const struct in_source *, size_t count);

/* "babeltrace2 2.0.4" */
void in_bt2_version(char *text, size_t room);

#endif
