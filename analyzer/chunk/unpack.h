/* unpack.h - from packed chunk (tracepoints/packed.h) to the words of a chunk.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_CHUNK_UNPACK_H
#define WEFT_ANALYZER_CHUNK_UNPACK_H

#include "tracepoints/packed.h"

/* Unpack the chunk at the beginning of n bytes, which may be anything, to where
 * CHUNK_MAX_WORDS fit. Returns its words, or -1 with a cause: its head is
 * damaged, it is not there wholly, its checksum is wrong, or it unpacks to
 * something else than its head says. head is filled in if it can be read, which
 * packing 0 denies. The words themselves are as unchecked as those of any
 * chunk. */
int unpack_chunk(uint64_t *words, const char *packed, size_t n,
		 struct packed_head *head);

#endif
