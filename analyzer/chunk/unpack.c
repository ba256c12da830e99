/* unpack.c - undoes what the recorder's packer did, bounded by what a chunk may
 * be, whatever the bytes say.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/unpack.h"
#include "analyzer/base/err.h"

#include <lz4.h>
#include <zstd.h>

/* The most that a payload may hold before it is decompressed. */
enum { PAYLOAD_MAX = PACKED_MAX_WORDS * 8 };

void unpack_count(struct unpack_found *f, int packing, uint64_t bytes)
{
	const enum unpack_way way = packing == PACKING_NONE ? UNPACK_PLAIN :
				    packing == PACKING_LZ4 ? UNPACK_LZ4 :
				    packing == PACKING_ZSTD ? UNPACK_ZSTD :
				    UNPACK_WORDS;

	f->chunks[way]++;
	f->bytes[way] += bytes;
}

/* Decompress n bytes to exactly so many: 0, or -1. Neither library writes
 * beyond what it is given. */
static int decompress(enum packing packing, unsigned char *to, size_t size,
		      const unsigned char *from, size_t n)
{
	switch (packing) {
	case PACKING_LZ4:
		return LZ4_decompress_safe((const char *)from, (char *)to,
					   (int)n, (int)size) == (int)size ?
		       0 : -1;
	case PACKING_ZSTD:
		return ZSTD_decompress(to, size, from, n) == size ? 0 : -1;
	default:
		return -1;
	}
}

/* The payload's words; their bytes are zero-free no longer. */
static int unpack_payload(uint64_t *words, const char *payload,
			  const struct packed_head *head)
{
	unsigned char bytes[PAYLOAD_MAX], shuffled[CHUNK_MAX_WORDS * 8];
	const size_t size = (size_t)head->words * 8;
	const long n = packed_decode(bytes, sizeof(bytes), payload,
				     head->bytes);

	if (n < 0)
		return err_add("a packed chunk has zeros or is cut");
	if (head->packing == PACKING_NONE && (size_t)n == size) {
		memcpy(words, bytes, size);
		return 0;
	}
	if (decompress(head->packing, shuffled, size, bytes, (size_t)n))
		return err_add("a packed chunk does not unpack to %u words",
			       head->words);
	packed_unshuffle(words, shuffled, head->words);
	return 0;
}

/* Does the head say what the chunk says? */
static bool is_same(const struct packed_head *head,
		    const struct chunk_header *h)
{
	return head->records == h->records && head->flags == h->flags &&
	       head->recording == h->recording && head->level == h->level &&
	       head->process == h->process && head->thread == h->thread &&
	       head->number == h->number;
}

int unpack_chunk(uint64_t *words, const char *packed, size_t n,
		 struct packed_head *head)
{
	*head = (struct packed_head){ .words = 0 };
	if (n < PACKED_HEAD || !packed_read(packed, head)) {
		*head = (struct packed_head){ .words = 0 };
		return err_add("a packed chunk's head is damaged");
	}
	if (packed_size(head) > n)
		return err_add("a packed chunk of %u bytes has %zu",
			       packed_size(head), n);
	if (packed_checksum(packed, head->bytes) != head->checksum)
		return err_add("a packed chunk's checksum is wrong");
	if (unpack_payload(words, packed + PACKED_HEAD, head))
		return -1;
	if (!is_same(head, (const struct chunk_header *)words))
		return err_add("a packed chunk's head does not fit the chunk");
	return (int)head->words;
}
