/* packed.h - the packed chunk: how a chunk lies in the trace's files, as text
 * without a zero byte behind a head of plain ASCII. docs/format.md, section 7,
 * is the specification. Knows no library that compresses.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracepoints/chunk.h"

#include <stdbool.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* CTF's readers pass a string on by memchr and memcpy, where a sequence costs
 * them an object a word:
 *
 * +-------------------------+--------------------------------+---+
 * | head, 104 bytes of text | payload, no byte of it is zero | 0 |
 * +-------------------------+--------------------------------+---+
 *
 * Payload: the chunk's words as they are, or their bytes sorted by their place
 * in a word and compressed; then masked; then without zeros (COBS). */
#define PACKED_MAGIC "WEFT2 "

enum packing {
	PACKING_NONE = 'n',
	PACKING_LZ4 = 'l',       /* shuffled, then an LZ4 block */
	PACKING_ZSTD = 'z',      /* shuffled, then a Zstandard frame */
};

enum {
	PACKED_HEAD = 104,
	PACKED_WAY = 6,          /* where enum packing stands in the head */
	PACKED_SEALED = 87,      /* of the head; then the checksum follows */
	PACKED_GROUP = 254,      /* bytes that one length byte can tell of */
	/* Zeros are the most frequent bytes of a chunk, and this is one of the
	 * rarest: no record's lowest byte is this. */
	PACKED_MASK = 0xed,
};

/* The bytes that n bytes of payload need with head and end. */
#define PACKED_ROOM(n) (PACKED_HEAD + (n) + (n) / PACKED_GROUP + 1 + 1)
/* The words in which the packed form of a chunk of so many words has room,
 * however it is packed. */
#define PACKED_WORDS(words) ((PACKED_ROOM((words) * 8) + 7) / 8)

enum { PACKED_MAX_WORDS = PACKED_WORDS(CHUNK_MAX_WORDS) };

/* What the head says. But for the first three, the chunk says the same. */
struct packed_head {
	enum packing packing;
	uint32_t bytes;          /* of the payload in the file */
	uint64_t checksum;       /* see packed_checksum */
	uint32_t words;          /* of the chunk */
	uint32_t records, flags;
	uint64_t recording;
	uint32_t process, thread, level;
	uint64_t number;
};

static inline uint32_t packed_size(const struct packed_head *h)
{
	return PACKED_HEAD + h->bytes;
}

/* ---- the head ---- */

static inline char *packed_put_hex(char *at, int digits, uint64_t value)
{
	for (int i = digits - 1; i >= 0; i--, value >>= 4)
		at[i] = "0123456789abcdef"[value & 15];
	at[digits] = ' ';
	return at + digits + 1;
}

/* NULL, or at beyond the field and the space behind it. */
static inline const char *packed_get_hex(const char *at, int digits,
					 uint64_t *value)
{
	*value = 0;
	for (int i = 0; at && i < digits; i++) {
		const char c = at[i];
		const int digit = c >= '0' && c <= '9' ? c - '0' :
				  c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;

		if (digit < 0)
			return NULL;
		*value = *value << 4 | (uint64_t)digit;
	}
	return at && at[digits] == ' ' ? at + digits + 1 : NULL;
}

/* XXH3 of the payload, with that of the sealed part of the head as seed. */
static inline uint64_t packed_checksum(const char *packed, uint32_t bytes)
{
	return XXH3_64bits_withSeed(packed + PACKED_HEAD, bytes,
				    XXH3_64bits(packed, PACKED_SEALED));
}

/* Write the head before a payload that lies at its place, with the checksum of
 * both. */
static inline void packed_seal(char *packed, const struct packed_head *h)
{
	char *at = packed + sizeof(PACKED_MAGIC) - 1;

	memcpy(packed, PACKED_MAGIC, sizeof(PACKED_MAGIC) - 1);
	*at++ = (char)h->packing;
	*at++ = ' ';
	at = packed_put_hex(at, 5, h->bytes);
	at = packed_put_hex(at, 4, h->words);
	at = packed_put_hex(at, 4, h->records);
	at = packed_put_hex(at, 8, h->flags);
	at = packed_put_hex(at, 16, h->recording);
	at = packed_put_hex(at, 8, h->process);
	at = packed_put_hex(at, 8, h->thread);
	at = packed_put_hex(at, 1, h->level);
	at = packed_put_hex(at, 16, h->number);
	packed_put_hex(at, 16, packed_checksum(packed, h->bytes));
}

/* Read the PACKED_HEAD bytes of a head. False: it is damaged, or no head. Sizes
 * are in range then: a chunk of that many words can be packed so. */
static inline bool packed_read(const char *packed, struct packed_head *h)
{
	static const uint8_t digits[] = { 5, 4, 4, 8, 16, 8, 8, 1, 16, 16 };
	uint64_t value[sizeof(digits)];
	const char *at = packed + sizeof(PACKED_MAGIC) + 1;

	if (memcmp(packed, PACKED_MAGIC, sizeof(PACKED_MAGIC) - 1) != 0 ||
	    at[-1] != ' ')
		return false;
	for (size_t i = 0; i < sizeof(digits); i++)
		at = packed_get_hex(at, digits[i], &value[i]);
	if (!at)
		return false;
	*h = (struct packed_head){
		.packing = (enum packing)packed[PACKED_WAY],
		.bytes = (uint32_t)value[0], .words = (uint32_t)value[1],
		.records = (uint32_t)value[2], .flags = (uint32_t)value[3],
		.recording = value[4], .process = (uint32_t)value[5],
		.thread = (uint32_t)value[6], .level = (uint32_t)value[7],
		.number = value[8], .checksum = value[9],
	};
	return h->words >= CHUNK_HEADER_WORDS && h->words <= CHUNK_MAX_WORDS &&
	       PACKED_ROOM((size_t)h->words * 8) > packed_size(h);
}

/* ---- the payload ---- */

/* Each compiler makes one instruction of these: bytes of a and of b in turn, of
 * the lower and of the upper half. */
typedef unsigned char packed_bytes __attribute__((vector_size(16)));
#define PACKED_LOW(a, b)                                                       \
	__builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,    \
				21, 6, 22, 7, 23)
#define PACKED_HIGH(a, b)                                                      \
	__builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,    \
				13, 29, 14, 30, 15, 31)

/* Sixteen words have 128 bytes, whose places have numbers of 7 bits. Turn each
 * number left by a bit: after 3 turns, what was sorted by bytes is words again;
 * after 4, words are sorted by their bytes. */
static inline void packed_turn(packed_bytes r[8])
{
	const packed_bytes a = r[0], b = r[1], c = r[2], d = r[3];

	r[0] = PACKED_LOW(a, r[4]);
	r[1] = PACKED_HIGH(a, r[4]);
	r[2] = PACKED_LOW(b, r[5]);
	r[3] = PACKED_HIGH(b, r[5]);
	r[4] = PACKED_LOW(c, r[6]);
	r[5] = PACKED_HIGH(c, r[6]);
	r[6] = PACKED_LOW(d, r[7]);
	r[7] = PACKED_HIGH(d, r[7]);
}

/* Sort the bytes of n words by their place in a word: n lowest bytes, then n of
 * those above, and so on. What differs little from word to word comes together
 * and compresses better. */
static inline void packed_shuffle(unsigned char *to, const uint64_t *words,
				  size_t n)
{
	size_t i = 0;

	for (packed_bytes r[8]; i + 16 <= n; i += 16) {
		memcpy(r, words + i, sizeof(r));
		packed_turn(r);
		packed_turn(r);
		packed_turn(r);
		packed_turn(r);
		for (size_t k = 0; k < 8; k++)
			memcpy(to + k * n + i, &r[k], sizeof(r[k]));
	}
	for (; i < n; i++)
		for (size_t k = 0; k < 8; k++)
			to[k * n + i] = (unsigned char)(words[i] >> 8 * k);
}

static inline void packed_unshuffle(uint64_t *words, const unsigned char *from,
				    size_t n)
{
	size_t i = 0;

	for (packed_bytes r[8]; i + 16 <= n; i += 16) {
		for (size_t k = 0; k < 8; k++)
			memcpy(&r[k], from + k * n + i, sizeof(r[k]));
		packed_turn(r);
		packed_turn(r);
		packed_turn(r);
		memcpy(words + i, r, sizeof(r));
	}
	for (; i < n; i++) {
		words[i] = 0;
		for (size_t k = 0; k < 8; k++)
			words[i] |= (uint64_t)from[k * n + i] << 8 * k;
	}
}

/* By words: compilers leave a loop of bytes as it is. */
static inline void packed_mask(unsigned char *bytes, size_t n)
{
	const uint64_t mask = UINT64_MAX / 255 * PACKED_MASK;
	size_t i = 0;

	for (uint64_t word; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		word ^= mask;
		memcpy(bytes + i, &word, sizeof(word));
	}
	for (; i < n; i++)
		bytes[i] ^= PACKED_MASK;
}

/* Write n bytes without zeros, and a zero behind them. Each group begins with
 * its length, 1 to 255, which counts itself; a zero stands behind each group
 * but the longest, 255, and the last one. Changes the bytes at from. Returns
 * the length without the zero at the end, at most n + n / 254 + 1. */
static inline size_t packed_code(void *to, unsigned char *from, size_t n)
{
	unsigned char *out = to;
	size_t at = 0;

	packed_mask(from, n);
	for (bool more = true; more; ) {
		const size_t most = n - at < PACKED_GROUP ? n - at :
				    PACKED_GROUP;
		const unsigned char *const zero = memchr(from + at, 0, most);
		const size_t run = zero ? (size_t)(zero - from) - at : most;

		*out++ = (unsigned char)(run + 1);
		memcpy(out, from + at, run);
		out += run;
		at += run + !!zero;
		more = zero || at < n;
	}
	*out = 0;
	return (size_t)(out - (unsigned char *)to);
}

/* The reverse: of n bytes to at most room. Returns how many there are; -1:
 * these bytes were not written so. */
static inline long packed_decode(unsigned char *to, size_t room,
				 const void *coded, size_t n)
{
	const unsigned char *const from = coded;
	size_t at = 0;

	if (memchr(coded, 0, n))
		return -1;
	for (size_t i = 0; i < n; ) {
		const size_t run = (size_t)from[i++] - 1;

		if (run > n - i || run > room - at)
			return -1;
		memcpy(to + at, from + i, run);
		i += run;
		at += run;
		if (run == PACKED_GROUP || i == n)
			continue;
		if (at == room)
			return -1;
		to[at++] = 0;
	}
	packed_mask(to, at);
	return (long)at;
}
