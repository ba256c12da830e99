/* test_feed.c - what a recorder sends to those who watch, cut anywhere, and
 * bytes of any value instead.
 * SPDX-License-Identifier: MIT */
#include "analyzer/chunk/decode.h"
#include "analyzer/live/feed.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int seen;

static int take(void *ctx, const struct chunk *chunk)
{
	(void)ctx;
	(void)chunk;
	seen++;
	return 0;
}

/* A chunk without records, with its length before it. */
static size_t put_chunk(unsigned char *to)
{
	const uint32_t words = CHUNK_HEADER_WORDS;
	uint64_t chunk[CHUNK_HEADER_WORDS] = { 0 };
	struct chunk_header *const h = (void *)chunk;

	h->magic = CHUNK_MAGIC;
	h->version = CHUNK_VERSION;
	h->total_words = words;
	h->checksum = decode_checksum(chunk, words);
	memcpy(to, &words, sizeof(words));
	memcpy(to + sizeof(words), chunk, sizeof(chunk));
	return sizeof(words) + sizeof(chunk);
}

/* Send it in pieces; return what feed_take said last. */
static int feed_bytes(struct feed *f, const unsigned char *bytes, size_t n,
		      size_t piece)
{
	int pair[2], status = 1;

	memset(f, 0, sizeof(*f));
	seen = 0;
	if (!CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0))
		return -1;
	f->fd = pair[0];
	f->bytes = malloc(1 << 20);
	for (size_t at = 0; at < n && status == 1; at += piece) {
		const size_t size = n - at < piece ? n - at : piece;

		CHECK(send(pair[1], bytes + at, size, 0) == (ssize_t)size);
		status = feed_take(f, take, NULL);
	}
	close(pair[1]);
	free(f->bytes);
	close(f->fd);
	return status;
}

void test_feed_cuts_chunks_and_counts_what_was_left_out(void)
{
	const uint32_t gap[] = { 0, 7 };
	unsigned char bytes[1000];
	struct feed f;
	size_t n = put_chunk(bytes);

	memcpy(bytes + n, gap, sizeof(gap));
	n += sizeof(gap);
	n += put_chunk(bytes + n);
	for (size_t piece = 1; piece < n; piece += 13) {
		CHECK_EQ(feed_bytes(&f, bytes, n, piece), 1);
		CHECK_EQ(seen, 2);
		CHECK_EQ(f.missed, 7);
		CHECK_EQ(f.bad, 0);
	}
	bytes[100] ^= 1;
	CHECK_EQ(feed_bytes(&f, bytes, n, n), 1);
	CHECK_EQ(seen, 1);
	CHECK_EQ(f.bad, 1);
}

void test_feed_survives_any_bytes(void)
{
	unsigned char bytes[4000];
	struct feed f;

	srand(1);
	for (int i = 0; i < 2000; i++) {
		size_t n = 0;

		while (n < sizeof(bytes) - 300)
			n += put_chunk(bytes + n);
		for (int k = rand() % 8; k >= 0; k--)
			bytes[(size_t)rand() % n] = (unsigned char)rand();
		feed_bytes(&f, bytes, n, (size_t)rand() % n + 1);
	}
}
