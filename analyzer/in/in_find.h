/* in_find.h - what a trace's folder holds: CTF traces, stream files, spill
 * files. Knows names and first bytes; reads no further.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first 32 bits of each packet of a stream file (CTF 1.8),
 * little-endian. */
#define IN_PACKET_MAGIC UINT32_C(0xc1fc1fc1)

/* A folder of stream files, with CTF metadata or without. All paths in these
 * structs begin with the path that was searched. */
struct in_folder {
	char *path;
	bool has_metadata;
	char **streams;        /* paths of its stream files, none empty */
	size_t stream_count, stream_room;
	/* the sum of their sizes */
	uint64_t stream_bytes;
};

/* Owns all its paths. */
struct in_found {
	struct in_folder *folders;
	size_t folder_count, folder_room;
	char **spills;         /* paths of spill files, none empty */
	size_t spill_count, spill_room;
	uint64_t spill_bytes;
	int unreadable;        /* files or folders that could not be opened */
};

/* Search path and all below it; symbolic links below it are not followed. A
 * plain file is taken for a spill file, whatever its name. What is found comes
 * in an order that depends on names only. What cannot be opened is counted in
 * unreadable and left out. 0, or -1 with a cause if path itself cannot be read.
 * Ends with in_find_fini in either case. */
int in_find_all(const char *path, struct in_found *found);
void in_find_fini(struct in_found *found);
