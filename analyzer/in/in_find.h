/* in_find.h - what lies in a trace's folder: CTF traces, stream files, spill
 * files. Knows names and first bytes; reads no further.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_FIND_H
#define WEFT_ANALYZER_IN_IN_FIND_H

#include <stddef.h>
#include <stdint.h>

/* A folder of stream files, with CTF metadata or where it should be. */
struct in_folder {
	char *path;
	int has_metadata;
	char **streams;        /* paths of its stream files, none empty */
	size_t stream_count, stream_room;
	uint64_t stream_bytes;
};

struct in_found {
	struct in_folder *folders;
	size_t folder_count, folder_room;
	char **spills;         /* paths of spill files, none empty */
	size_t spill_count, spill_room;
	uint64_t spill_bytes;
	int unreadable;        /* files or folders that could not be opened */
};

/* Look through path and all below it (links below it are not followed); a
 * plain file is taken for a spill file. 0, or -1 with a cause when path itself
 * cannot be read. The caller ends it with in_find_fini in either case. */
int in_find_all(const char *path, struct in_found *found);
void in_find_fini(struct in_found *found);

#endif
