/* text_file.h - a file of text, line by line. The file may be any: its path
 * comes from a trace.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_BASE_TEXT_FILE_H
#define WEFT_ANALYZER_BASE_TEXT_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Owns its lines, which have no line end; tabs are spaces up to the next column
 * of eight. All else is untrusted. */
struct text_file {
	char **lines;            /* line 1 is element 0 */
	size_t count;
	int64_t changed;         /* when it was written: seconds since 1970 */
};

/* Read a plain file of at most 64 MiB. 0, or -1 if there is none that can be
 * read; then it is empty. text_file_fini frees what it holds in either case. */
int text_file_read(struct text_file *, const char *path);
void text_file_fini(struct text_file *);

#endif
