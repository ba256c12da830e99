/* weft_dump.h - what was recorded so far, as the analyzer sees it.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_TRACER_LUA_WEFT_DUMP_H
#define WEFT_TRACER_LUA_WEFT_DUMP_H

#include <stddef.h>

/* Wait until what was recorded before this call is on the disk, at most 15 s, and
 * have `weft report --csv` write it to the file (NULL: standard output). since
 * not 0: from the last mark "weft.reset" on. 0, or -1 with the cause in why. */
int weft_dump(const char *path, int since, char *why, size_t room);

#endif
