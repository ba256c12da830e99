/* in_bt2.h - CTF through libbabeltrace2, in a process of its own: a graph whose
 * sink sends the bytes of each event weft:chunk.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

#include <babeltrace2/babeltrace.h>
#include <stdio.h>

enum { IN_CHUNK_BYTES = PACKED_MAX_WORDS * 8 };

/* What is to be read: paths of CTF folders, each a trace of its own. */
struct in_sources { const char *const *paths; size_t count; };

/* The first byte of a message, and what follows: */
enum {
	IN_BT2_CHUNK = 'c',      /* as in_bt2_chunk copies it */
	IN_BT2_DISCARDED = 'd',  /* uint64_t: events that LTTng says it
	                          * discarded */
	IN_BT2_PROGRESS = 'p',   /* nothing: it gets on */
	IN_BT2_FAILED = 'f',     /* why, without a NUL */
	IN_BT2_END = 'e',        /* nothing: no message follows */
};

/* The work of a child (base/child.h), whose ctx is a struct in_sources: read
 * all sources, in the order of their events' times. The end is sent in any
 * case, but not if it crashes. */
void in_bt2_run(const void *sources, FILE *to);

/* Copy the chunk of an event weft:chunk, of any version of the format, to where
 * IN_CHUNK_BYTES fit, and return how many bytes it has: for held_open, which
 * also refuses the one byte that stands for an event without a chunk. */
size_t in_bt2_chunk(const bt_event *, char *to);

/* The library's name and version: "babeltrace2 2.0.4", cut to room bytes. */
void in_bt2_version(char *text, size_t room);
