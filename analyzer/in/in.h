/* in.h - reading a trace: a folder in, checked chunks out, in the order of
 * their streams. Knows files and babeltrace2; knows nothing of what records
 * mean.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_IN_IN_H
#define WEFT_ANALYZER_IN_IN_H

#include <stddef.h>
#include <stdint.h>

struct chunk; /* analyzer/chunk/decode.h */

/* Gets each chunk once, checked whole (view.h); a negative return stops. The
 * view and its words are the reader's and valid during the call only. */
typedef int (*in_chunk_fn)(void *ctx, const struct chunk *chunk);

struct in_summary {
	char reader[64];        /* "babeltrace2 2.0.4", "carver", both: "..." */
	uint64_t chunks, words;
	uint64_t bad;           /* looked like a chunk and was refused */
	uint64_t duplicates;    /* came again; the longest was given */
	uint64_t ctf_bytes, spill_bytes;
	char trouble[256];      /* why the carver was needed, or "" */
	/* Where the first of the bad ones lie: a file of the trace, a byte. */
	struct in_broken { char file[120]; uint64_t offset; } broken[10];
	size_t broken_count;
};

/* Read the trace in folder path: its CTF through libbabeltrace2 in a process of
 * its own, its spill file beside it, and the carver where CTF is damaged.
 * Chunks of one (process, thread, level) come in rising number; a PARTIAL chunk
 * is held back until its longer self, a later number, or the end.
 * 0, or -1 with the chain of causes ("cannot read trace ..." and why) when
 * nothing at all can be read. */
int in_read(const char *path, in_chunk_fn fn, void *ctx,
	    struct in_summary *summary);

#endif
