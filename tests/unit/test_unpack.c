/* test_unpack.c - a chunk comes out of its packed form as it went in, and what
 * was packed by nobody is refused, whatever it claims to hold.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/err.h"
#include "analyzer/chunk/held.h"
#include "analyzer/chunk/unpack.h"
#include "tests/test.h"
#include "tests/unit/chunk_build.h"
#include "tracer/recorder/trace/packer.h"

#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

static const enum packing ways[] = { PACKING_NONE, PACKING_LZ4, PACKING_ZSTD };
static uint64_t room[PACKED_MAX_WORDS];
static char *const packed = (char *)room;
static struct packer packer;

/* A chunk of n words that are like records (any 0) or like noise. */
static uint64_t *made(uint32_t n, uint64_t any)
{
	static uint64_t words[CHUNK_MAX_WORDS];
	struct chunk_header *const h = (void *)words;
	uint64_t random = n + 1;

	for (uint32_t i = 0; i < n; i++) {
		random = random * 6364136223846793005 + 1442695040888963407;
		words[i] = any ? (random >> 32) * (random >> 17) :
			   (random >> 57) << 18 | 3;
	}
	h->level = 0;
	h->records = n / 2;
	return words;
}

/* Of its own size, so that a byte too far is seen. Returns the words, or -1. */
static int unpack(uint64_t *words, const char *from, size_t n)
{
	char *const exact = malloc(n + (n == 0));
	struct packed_head head;

	memcpy(exact, from, n);
	const int got = unpack_chunk(words, exact, n, &head);

	free(exact);
	err_clear();
	return got;
}

void test_unpack_gives_what_was_packed(void)
{
	static uint64_t out[CHUNK_MAX_WORDS];
	static const uint32_t sizes[] = { 32, 33, 63, 64, 65, 1000, 8192,
					  CHUNK_MAX_WORDS };

	for (size_t i = 0; i < 8 * 3 * 2; i++) {
		const uint32_t n = sizes[i / 6];
		const uint64_t *const words = made(n, i % 2);
		const uint32_t all = packer_put(&packer, room, words, n,
						ways[i / 2 % 3]);
		const size_t bytes = strlen(packed);

		CHECK(all <= PACKED_WORDS(n));
		CHECK_EQ(bytes / 8 + 1, all);
		CHECK_EQ(unpack(out, packed, bytes), n);
		CHECK_EQ(memcmp(out, words, n * 8), 0);
		/* What cannot be made smaller is not made larger. */
		CHECK_EQ(packed[6], i % 2 ? 'n' : ways[i / 2 % 3]);
	}
}

/* Runs without zeros of each length around the longest group. */
void test_unpack_reverses_the_code_of_any_bytes(void)
{
	static unsigned char in[3000], from[3000], coded[4000], out[3000];

	for (size_t run = 0; run < 600; run++) {
		const size_t n = run + run / 3 + run % 2;

		for (size_t i = 0; i < n; i++)
			in[i] = i % (run + 1) == run ? PACKED_MASK :
				run % 5 ? (unsigned char)(i % 200) :
				PACKED_MASK;
		memcpy(from, in, n);
		const size_t size = packed_code(coded, from, n);

		CHECK_EQ(strlen((const char *)coded), size);
		CHECK(size <= n + n / 254 + 1);
		CHECK_EQ(packed_decode(out, n, coded, size), n);
		CHECK_EQ(memcmp(in, out, n), 0);
		if (n > 0)
			CHECK_EQ(packed_decode(out, n - 1, coded, size), -1);
	}
}

void test_unpack_notices_each_byte_and_each_cut(void)
{
	static uint64_t out[CHUNK_MAX_WORDS];

	for (size_t way = 0; way < 3; way++) {
		packer_put(&packer, room, made(90, 0), 90, ways[way]);
		const size_t n = strlen(packed);

		CHECK_EQ(unpack(out, packed, n), 90);
		for (size_t i = 0; i < n; i++) {
			CHECK_EQ(unpack(out, packed, i), -1);
			for (int bit = 0; bit < 8; bit++) {
				packed[i] ^= (char)(1 << bit);
				CHECK_EQ(unpack(out, packed, n), -1);
				packed[i] ^= (char)(1 << bit);
			}
		}
	}
}

/* A packed chunk with a right checksum, of bytes that nobody packed. */
static size_t forge(char packing, uint32_t words, const void *from, size_t n)
{
	static unsigned char copy[1 << 17];
	struct packed_head head = { .packing = (enum packing)packing,
				    .words = words };

	memcpy(copy, from, n);
	head.bytes = (uint32_t)packed_code(packed + PACKED_HEAD, copy, n);
	packed_seal(packed, &head);
	return packed_size(&head);
}

void test_unpack_refuses_what_unpacks_to_another_size(void)
{
	static uint64_t out[CHUNK_MAX_WORDS + 1];
	static char zeros[1 << 20], small[1 << 16];
	const int lz4 = LZ4_compress_default(zeros, small, sizeof(zeros),
					     sizeof(small));

	out[CHUNK_MAX_WORDS] = 77;
	REQUIRE(lz4 > 0);
	/* A MiB that says it is a chunk. */
	for (uint32_t words = 32; words <= CHUNK_MAX_WORDS; words *= 2)
		CHECK_EQ(unpack(out, packed, forge('l', words, small,
						   (size_t)lz4)), -1);
	const size_t zstd = ZSTD_compress(small, sizeof(small), zeros,
					  sizeof(zeros), 1);

	for (uint32_t words = 32; words <= CHUNK_MAX_WORDS; words *= 2)
		CHECK_EQ(unpack(out, packed, forge('z', words, small, zstd)),
			 -1);
	/* Sizes that are no chunk's, less than there should be, and a way of
	 * packing that nobody knows. */
	CHECK_EQ(unpack(out, packed, forge('n', 31, zeros, 31 * 8)), -1);
	CHECK_EQ(unpack(out, packed, forge('n', 40, zeros, 39 * 8)), -1);
	CHECK_EQ(unpack(out, packed, forge('n', 40, zeros, 41 * 8)), -1);
	CHECK_EQ(unpack(out, packed, forge('n', CHUNK_MAX_WORDS + 1, zeros,
					   1000)), -1);
	CHECK_EQ(unpack(out, packed, forge('?', 40, zeros, 40 * 8)), -1);
	CHECK_EQ(unpack(out, packed, forge('n', 40, zeros, 40 * 8)), 40);
	CHECK_EQ(out[CHUNK_MAX_WORDS], 77);
}

/* Right seals over words that are no chunk, and a chunk that several hold. */
void test_unpack_held_chunks_are_checked_and_shared(void)
{
	static struct chunk_build b;
	struct packed_head head;
	const struct chunk *c, *copy;
	struct chunk view;
	uint32_t size;

	packer_put(&packer, room, made(90, 0), 90, PACKING_LZ4);
	CHECK(!held_open(packed, strlen(packed), &head, &size));
	CHECK_EQ(head.words, 90);
	CHECK(!held_open("", 1, &head, &size));
	CHECK_EQ(size, 0);
	err_clear();
	cb_begin(&b, 1, 1, 7, 1000);
	cb_leaf(&b, "f", 1, 1);
	cb_end(&b, 2000);
	packer_put(&packer, room, b.words, (uint32_t)b.n, PACKING_LZ4);
	c = held_open(packed, strlen(packed), &head, &size);
	REQUIRE(c);
	CHECK_EQ(size, strlen(packed));
	CHECK(held_keep(c) == c);
	held_drop(c);
	CHECK_EQ(c->header.number, 7);
	/* One byte less, and it is not there. */
	CHECK(!held_open(packed, size - 1, &head, &size));
	REQUIRE(decode_chunk(&view, b.words, b.n) == 0);
	copy = held_keep(&view);
	CHECK(copy->words != b.words);
	CHECK_EQ(memcmp(copy->words, c->words, b.n * 8), 0);
	held_drop(copy);
	held_drop(c);
	err_clear();
}

void test_unpack_refuses_a_head_that_lies(void)
{
	static uint64_t out[CHUNK_MAX_WORDS];
	static unsigned char copy[40 * 8];

	for (int field = 0; field < 8; field++) {
		const struct chunk_header *const h = (const void *)made(40, 0);
		struct packed_head head = { .packing = PACKING_NONE,
			.words = 40, .records = h->records ^ (field == 1),
			.flags = h->flags ^ (field == 2),
			.recording = h->recording ^ (field == 3),
			.process = h->process ^ (field == 4),
			.thread = h->thread ^ (field == 5),
			.level = h->level ^ (field == 6),
			.number = h->number ^ (field == 7) };

		memcpy(copy, h, sizeof(copy));
		head.bytes = (uint32_t)packed_code(packed + PACKED_HEAD, copy,
						   sizeof(copy));
		packed_seal(packed, &head);
		CHECK_EQ(unpack(out, packed, packed_size(&head)),
			 field ? -1 : 40);
	}
}
