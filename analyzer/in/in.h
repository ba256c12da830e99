/* in.h - reading a trace: a folder in, checked chunks out, in the order of
 * their streams.
 *
 * This folder reads files, with babeltrace2 and without. It may use
 * analyzer/base, chunk, model and replay; only in_explode knows what records
 * mean.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_H
#define WEFT_ANALYZER_IN_IN_H

#include <stddef.h>
#include <stdint.h>

struct chunk; /* analyzer/chunk/decode.h */

/* Gets each chunk once, checked as a whole (chunk/decode.h). The view and its
 * words are valid during the call only. A negative return stops the reading. */
typedef int (*in_chunk_fn)(void *ctx, const struct chunk *chunk);

struct in_summary {
	char reader[64];        /* "babeltrace2 2.0.4", "carver", or both with
	                         * " and " */
	uint64_t chunks, words;
	uint64_t bad;           /* looked like chunks and were refused */
	uint64_t duplicates;    /* came again; the longest one was used */
	uint64_t ctf_bytes, spill_bytes;
	char trouble[256];      /* what was wrong, or "" */
	/* Where the first bad ones are: a file of the trace, a byte. */
	struct in_broken { char file[120]; uint64_t offset; } broken[10];
	size_t broken_count;
};

/* Read the trace in the folder path: its CTF through libbabeltrace2 in a
 * process of its own, its spill file beside it, and damaged CTF with the
 * carver, which finds chunks by their magic number. Chunks of one (process,
 * thread, level) come in rising number. A PARTIAL chunk is held back until the
 * complete one or a later number comes, or the trace ends. 0, or -1 with the
 * chain of causes if nothing at all can be read. */
int in_read(const char *path, in_chunk_fn fn, void *ctx,
	    struct in_summary *summary);

#endif
