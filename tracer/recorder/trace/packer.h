/* packer.h - makes of a chunk what is written to the trace's files: compressed
 * or not, and without zero bytes (tracepoints/packed.h).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/packed.h"

/* What the user wants, in the order of options.c. AUTO: what costs least, which
 * is FAST, however little time there is: to write a chunk as it is takes LTTng
 * and the disk longer than to compress it. */
enum compress { COMPRESS_AUTO, COMPRESS_NONE, COMPRESS_FAST, COMPRESS_SMALL };

/* What packer_put needs room for. All zero is a valid start. */
struct packer {
	void *zstd;                /* made when it is first needed */
	unsigned char shuffled[CHUNK_MAX_WORDS * 8];
	unsigned char small[CHUNK_MAX_WORDS * 8];
};

enum packing packer_way(enum compress wish);

/* Pack the sealed chunk of so many words, which is left as it is, into room for
 * PACKED_MAX_WORDS. Returns the words that were written: the packed chunk, and
 * at least one zero byte. It is packed in another way than is wanted if that
 * does not make it smaller, or if there is no memory. */
uint32_t packer_put(struct packer *p, uint64_t *room, const uint64_t *chunk,
		    uint32_t words, enum packing wanted);
