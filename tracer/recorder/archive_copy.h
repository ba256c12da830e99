/* archive_copy.h - files into a folder, whatever their names are.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_ARCHIVE_COPY_H
#define WEFT_RECORDER_ARCHIVE_COPY_H

#include <stdint.h>

/* Copy an open file to path below the folder, whose folders are made. Gives the
 * bytes; 0: it is there already; negative: why is set, nothing is left. A path
 * that could lead out of the folder is refused, and so is a file of more than
 * limit bytes. */
int64_t archive_copy_file(int folder, const char *path, int from,
			  uint64_t limit, const char **why);

#endif
