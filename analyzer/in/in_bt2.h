/* in_bt2.h - CTF through libbabeltrace2: a graph whose sink puts the words of
 * each event weft:chunk into a ring.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/in/in_child.h"

#include <babeltrace2/babeltrace.h>

/* An in_child_fn: read all sources, in the order of their events' times. The
 * end mark is put into the ring in any case; a failure is told by the ring's
 * failed and text. */
void in_bt2_run(struct in_ring *, const struct in_source *, size_t count);

/* Copy the chunk of an event weft:chunk, of any version of the format, to where
 * IN_CHUNK_BYTES fit, and return how many bytes it has: for held_open, which
 * also refuses the one byte that stands for an event without a chunk. */
size_t in_bt2_chunk(const bt_event *, char *to);

/* The library's name and version: "babeltrace2 2.0.4", cut to room bytes. */
void in_bt2_version(char *text, size_t room);
