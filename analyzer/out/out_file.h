/* out_file.h - a file that appears whole or not at all.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_OUT_FILE_H
#define WEFT_ANALYZER_OUT_OUT_FILE_H

#include <stdio.h>

/* Writes all of it. 0, or -1 with the cause in the chain. */
typedef int (*out_file_fn)(FILE *, void *ctx);

/* Have fn write the file; path "-": standard output. An older file of that name
 * is replaced, but only when the new one is complete. 0, or -1 with the cause
 * in the chain. */
int out_file_write(const char *path, out_file_fn fn, void *ctx);

#endif
