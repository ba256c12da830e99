/* in.h - reading a trace: a folder in, checked chunks out, in the order of
 * their streams.
 *
 * This folder reads files, with babeltrace2 and without. It may use
 * analyzer/base and chunk; it does not know what records mean.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/chunk/unpack.h"

struct chunk; /* analyzer/chunk/decode.h */

/* Gets each chunk once, checked as a whole (chunk/decode.h). The view and its
 * words are valid during the call only. Return 0 to go on; a negative return
 * stops the reading. */
typedef int (*in_chunk_fn)(void *ctx, const struct chunk *chunk);

/* What was read, and what was wrong with it. It is all zero if the folder
 * itself cannot be opened; otherwise it is filled in even if in_read fails. */
struct in_summary {
	char reader[64];        /* "babeltrace2 2.0.4", "carver", or both with
	                         * " and " */
	/* passed on; the words include headers */
	uint64_t chunks, words;
	uint64_t bad;           /* looked like chunks and were refused */
	uint64_t duplicates;    /* came again; the longest one was used */
	/* sizes of the files that were found, damaged or not */
	uint64_t ctf_bytes, spill_bytes;
	uint64_t bytes_done;       /* so far, of about so many; the sizes are
	                            * known before the first chunk is */
	struct unpack_found found; /* chunks in them, with duplicates */
	char trouble[256];      /* what was wrong, or "" */
	/* Where the first bad ones are: a file, by its path below the trace's
	 * folder, and a byte in it. Only the carver knows places: bad may be
	 * more than broken_count even if that is less than 10. */
	struct in_broken { char file[120]; uint64_t offset; } broken[10];
	size_t broken_count;
};

/* Read the trace in the folder path: its CTF through libbabeltrace2 in a
 * process of its own, its spill file beside it, and damaged CTF with the
 * carver, which finds chunks by their magic number. A path that is a file is
 * read as a spill file. Chunks of one (process, thread, level) come in rising
 * number. A PARTIAL chunk is held back until the complete one or a later number
 * comes, or the trace ends. 0 if any chunk was read, whatever else was wrong;
 * -1 with the chain of causes if none was, or if fn stopped the reading. */
int in_read(const char *path, in_chunk_fn fn, void *ctx,
	    struct in_summary *summary);
