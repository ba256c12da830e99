/* weft_dump.h - what was recorded so far, as the analyzer sees it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Waits, at most 15 s and the time of the analyzer's runs, until what was
 * recorded before this call is on the disk, and has `weft report --csv` write
 * it to the file at path (NULL: standard output). An existing file is
 * overwritten. since_reset: from the last mark "weft.reset" on. Leaves a mark
 * of its own in the record. Returns 0, or -1 with the cause in text, which
 * holds room bytes. */
int weft_dump(const char *path, bool since_reset, char *text, size_t room);
