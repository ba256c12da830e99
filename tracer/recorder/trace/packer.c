/* packer.c - from chunk to packed chunk. What the payload is compressed with is
 * known here alone.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/packer.h"

#include <lz4.h>
#include <zstd.h>

/* A higher level takes a third longer and saves 2 to 8 % of what is left. */
enum { ZSTD_LEVEL = 1 };

/* Compress what was shuffled. Returns the size of p->small; 0: it would not be
 * smaller, or there is no memory. */
static size_t compress(struct packer *p, size_t n, enum packing packing)
{
	char *const to = (char *)p->small;

	if (packing == PACKING_LZ4)
		return (size_t)LZ4_compress_default((const char *)p->shuffled,
						    to, (int)n, (int)n - 1);
	if (!p->zstd)
		p->zstd = ZSTD_createCCtx();
	if (!p->zstd)
		return 0;
	const size_t size = ZSTD_compressCCtx(p->zstd, to, n - 1, p->shuffled,
					      n, ZSTD_LEVEL);

	return ZSTD_isError(size) ? 0 : size;
}

enum packing packer_way(enum compress wish)
{
	static const enum packing ways[] = {
		[COMPRESS_AUTO] = PACKING_LZ4, [COMPRESS_NONE] = PACKING_NONE,
		[COMPRESS_FAST] = PACKING_LZ4, [COMPRESS_SMALL] = PACKING_ZSTD,
	};

	return ways[wish];
}

uint32_t packer_put(struct packer *p, uint64_t *room, const uint64_t *chunk,
		    uint32_t words, enum packing wanted)
{
	const struct chunk_header *const h = (const void *)chunk;
	char *const packed = (char *)room;
	size_t size = 0;

	if (wanted != PACKING_NONE) {
		packed_shuffle(p->shuffled, chunk, words);
		size = compress(p, (size_t)words * 8, wanted);
	}
	const enum packing packing = size > 0 ? wanted : PACKING_NONE;

	if (size == 0)
		memcpy(p->small, chunk, size = (size_t)words * 8);
	const size_t bytes = packed_code(packed + PACKED_HEAD, p->small, size);
	const struct packed_head head = {
		.packing = packing, .bytes = (uint32_t)bytes, .words = words,
		.records = h->records, .flags = h->flags,
		.recording = h->recording, .process = h->process,
		.thread = h->thread, .level = h->level, .number = h->number,
	};
	const uint32_t n = packed_size(&head) / 8 + 1;

	packed_seal(packed, &head);
	memset(packed + packed_size(&head), 0, n * 8 - packed_size(&head));
	return n;
}
