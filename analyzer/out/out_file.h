/* out_file.h - a file that appears whole or not at all.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Writes the whole file, which it neither closes nor checks for errors of
 * writing. 0, or -1 with the cause in the chain. */
typedef int (*out_file_fn)(FILE *, void *ctx);

/* Call fn to write the file; "-" is standard output. A file of that name is
 * replaced when the new one is complete; after a failure it is as it was. The
 * new file has the rights that the umask leaves. A device, named pipe or link
 * is written to. 0, or -1 with the cause in the chain. */
int out_file_write(const char *path, out_file_fn fn, void *ctx);

/* The name of a file beside the folder rather than in it: its path and the
 * ending. Written to `to`, which it returns. */
const char *out_file_beside(const char *folder, const char *ending, char *to,
			    size_t size);
