/* test_trace_folder.c - the spill file, and the notes that the recorder writes.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/drain/chunk_copy.h"
#include "tracer/recorder/trace/trace_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

enum { RESERVE = SPILL_RESERVE_WORDS * 8 };

static uint64_t words[CHUNK_MAX_WORDS];
static struct rate rate;

/* Fills the reserved place. */
static uint64_t *placeholder(uint64_t number)
{
	struct meta m;

	rate_start(&rate, false);
	chunk_copy_begin_meta(&m, words, 77, number, &rate);
	meta_note(&m, "key", "value");
	CHECK(meta_end(&m) < SPILL_RESERVE_WORDS);
	return words;
}

void test_meta_items_fill_the_chunk(void)
{
	const struct chunk_header *const h = (const void *)words;
	uint32_t at = CHUNK_HEADER_WORDS, items = 0;
	char name[2000];
	struct meta m;

	rate_start(&rate, false);
	chunk_copy_begin_meta(&m, words, 77, META_START, &rate);
	meta_note(&m, "empty", "");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	/* Long ones are cut; those without room are left out. */
	for (int i = 0; i < 1000; i++)
		meta_note(&m, "long", name);
	const uint32_t total = meta_end(&m);

	CHECK_EQ(total, h->total_words);
	CHECK_EQ(h->flags, CHUNK_META);
	CHECK_EQ(h->records + h->funcs, 0);
	for (; at < h->total_words; items++) {
		const uint64_t n = item_words(words[at]);

		CHECK_EQ(item_type(words[at]), ITEM_NOTE);
		REQUIRE(n > 0 && n <= h->total_words - at);
		at += (uint32_t)n;
	}
	CHECK_EQ(at, h->total_words);
	CHECK(items > 100 && items < 1000);
	CHECK(h->total_words <= CHUNK_MAX_WORDS);
}

static int open_folder(char *path)
{
	return mkdtemp(path) ? open(path, O_RDONLY | O_DIRECTORY) : -1;
}

void test_spill_ends_with_its_beginning(void)
{
	char path[] = "/tmp/weft-test-XXXXXX";
	uint64_t head[CHUNK_HEADER_WORDS];
	const struct chunk_header *const h = (const void *)head;
	const int folder = open_folder(path);
	struct spill s;

	REQUIRE(folder >= 0);
	REQUIRE(spill_open(&s, folder, placeholder(META_END)) == 0);
	CHECK_EQ(s.end, RESERVE);
	/* Not over another one's. */
	struct spill other;

	CHECK(spill_open(&other, folder, words) < 0);
	memset(words, 1, sizeof(words));
	CHECK_EQ(spill_write(&s, words, 100), 0);
	CHECK_EQ(spill_write(&s, words, 200), 0);
	CHECK_EQ(s.end, RESERVE + 2400);
	const int fd = dup(s.fd);

	CHECK_EQ(spill_close(&s, placeholder(5)), 0);
	CHECK_EQ(pread(fd, head, sizeof(head), 0), sizeof(head));
	CHECK_EQ(h->number, 5);
	CHECK_EQ(lseek(fd, 0, SEEK_END), RESERVE + 2400);
	close(fd);
	unlinkat(folder, "spill.weft", 0);
	close(folder);
	rmdir(path);
}

void test_spill_writes_whole_chunks_only(void)
{
	char path[] = "/tmp/weft-test-XXXXXX";
	const int folder = open_folder(path);
	struct rlimit before, limit;
	struct spill s;

	REQUIRE(folder >= 0);
	REQUIRE(spill_open(&s, folder, placeholder(META_END)) == 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = RESERVE + 1000;
	setrlimit(RLIMIT_FSIZE, &limit);
	CHECK_EQ(spill_write(&s, words, 100), 0);
	CHECK(spill_write(&s, words, 100) < 0);
	CHECK_EQ(lseek(s.fd, 0, SEEK_END), RESERVE + 800);
	/* The reserved place is there still. */
	const int fd = dup(s.fd);

	CHECK_EQ(spill_close(&s, placeholder(5)), 0);
	setrlimit(RLIMIT_FSIZE, &before);
	CHECK_EQ(lseek(fd, 0, SEEK_END), RESERVE + 800);
	close(fd);
	unlinkat(folder, "spill.weft", 0);
	close(folder);
	CHECK_EQ(rmdir(path), 0);
}
