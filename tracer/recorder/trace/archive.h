/* archive.h - the folder "archive" in the trace: all that is needed to name the
 * trace's functions, which is the modules' files and debug files by build-id,
 * and the Lua sources. A file is opened when a chunk first names it, so that it
 * can be removed or replaced later, and copied when the program has ended.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/names/chunk_names.h"

struct archive {
	int folder;                /* descriptor of the archive's folder */
	int list;                  /* descriptor of its file "contents" */
	struct archive_file *file;
	uint32_t files;
	size_t room;
	uint32_t opened;           /* files that are kept open meanwhile */
	struct name_set seen;
	uint32_t copied, missing;
	uint32_t unlisted;         /* names beyond the archive's limit */
	uint64_t bytes, limit;
};

/* Make the folder "archive" in the folder with that descriptor, which stays the
 * caller's. Returns 0, or negative if it cannot: it prints why. Nothing is ever
 * freed: the archive lives as long as the recorder. */
int archive_init(struct archive *a, int folder);
/* Note the files that a chunk names, each once, by a hash of its build-id or
 * its name. */
void archive_note(struct archive *a, const struct chunk_items *items);
/* Copy all files that were noted and close the list; call it once. After that,
 * copied, missing and bytes are known. */
void archive_pack(struct archive *a);
/* The first file that is missing, and why. "" if there is none. The text is
 * valid until the next call. */
const char *archive_missing(const struct archive *a);

/* Copy an open file to path below the folder, and make the folders of path. A
 * path that could lead out of the folder is refused, and so is a file of more
 * than limit bytes. Returns the bytes. 0: it is there already, or is empty.
 * Negative: *why is set to a text that the caller does not free, and nothing is
 * left. from stays open. */
int64_t archive_copy_file(int folder, const char *path, int from,
			  uint64_t limit, const char **why);
