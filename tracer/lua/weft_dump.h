/* weft_dump.h - what was recorded so far, as the analyzer sees it.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_LUA_WEFT_DUMP_H
#define WEFT_TRACER_LUA_WEFT_DUMP_H

#include <stdbool.h>
#include <stddef.h>

/* Waits, at most 15 s, until what was recorded before this call is on the disk,
 * and has `weft report --csv` write it to the file at path (NULL: standard
 * output). since_reset: from the last mark "weft.reset" on. Returns 0, or -1
 * with the cause in text. */
int weft_dump(const char *path, bool since_reset, char *text, size_t room);

#endif
