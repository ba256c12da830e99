/* folder.h - the trace directory.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_FOLDER_H
#define WEFT_RECORDER_FOLDER_H

#include <limits.h>
#include <stdint.h>

struct folder {
	char path[PATH_MAX];       /* as the user named it */
	char absolute[PATH_MAX];
	int fd;
};

/* Make it; it must not exist. wish NULL: weft-trace-PROGRAM-PID. Negative:
 * says why. */
int folder_make(struct folder *f, const char *wish, const char *program);
/* Write a small file into it. */
int folder_put(const struct folder *f, const char *name, const char *text);
/* Take it away again with all that is in it: nothing was recorded. */
void folder_remove(const struct folder *f);
/* Bytes of all files below. */
uint64_t folder_bytes(const char *path);

#endif
