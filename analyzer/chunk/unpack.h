/* unpack.h - from packed chunk (tracepoints/packed.h) to the words of a chunk.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

/* The ways in which a chunk may lie in a file; WORDS: as it is, in version 1 of
 * the format. */
enum unpack_way { UNPACK_WORDS, UNPACK_PLAIN, UNPACK_LZ4, UNPACK_ZSTD,
		  UNPACK_WAYS };
/* What was found in files: how many chunks, of how many bytes, by way. */
struct unpack_found {
	uint64_t chunks[UNPACK_WAYS], bytes[UNPACK_WAYS];
};
/* Count a chunk. packing: 0 means WORDS. */
void unpack_count(struct unpack_found *, int packing, uint64_t bytes);

/* Unpack the chunk at the beginning of n bytes, which may be anything, to where
 * CHUNK_MAX_WORDS fit. Returns its words, or -1 with a cause: its head is
 * damaged, it is not there wholly, its checksum is wrong, or it unpacks to
 * something else than its head says. head is all zero if it cannot be read. The
 * words themselves are as unchecked as those of any chunk. */
int unpack_chunk(uint64_t *words, const char *packed, size_t n,
		 struct packed_head *head);
