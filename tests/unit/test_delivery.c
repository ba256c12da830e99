/* test_delivery.c - what was sent is compared with what lies in the files.
 * SPDX-License-Identifier: MIT */
#include "tests/test.h"
#include "tracer/recorder/trace/delivery.h"
#include "tracer/recorder/trace/packer.h"
#include "tracer/recorder/trace/trace_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct delivery delivery;
static char folder[64];

static struct chunk_header chunk(uint32_t thread, uint64_t number,
				 uint32_t records)
{
	return (struct chunk_header){
		.magic = CHUNK_MAGIC, .version = CHUNK_VERSION,
		.total_words = CHUNK_HEADER_WORDS + records,
		.records = records, .recording = 77, .thread = thread,
		.number = number };
}

static void note(uint32_t thread, uint64_t number, uint32_t records)
{
	const struct chunk_header h = chunk(thread, number, records);

	delivery_note(&delivery, &h);
}

/* Behind `before` other bytes, without the last `cut` ones. */
static void put(const char *name, size_t before, struct chunk_header h,
		size_t cut)
{
	static const uint64_t zeros[2048];
	static uint64_t words[CHUNK_MAX_WORDS], room[PACKED_MAX_WORDS];
	static struct packer packer;
	char path[128];

	memcpy(words, &h, sizeof(h));
	packer_put(&packer, room, words, (uint32_t)h.total_words, PACKING_NONE);
	const size_t bytes = strlen((const char *)room);

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, zeros, before), before);
	CHECK_EQ(write(fd, room, bytes - cut), bytes - cut);
	close(fd);
}

static void begin(void)
{
	char path[80];

	memset(&delivery, 0, sizeof(delivery));
	snprintf(folder, sizeof(folder), "/tmp/weft-test-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/ctf", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
}

static void end(uint64_t chunks, uint64_t records)
{
	struct trace_folder f;

	delivery_check(&delivery, folder);
	CHECK_EQ(delivery.lost_chunks, chunks);
	CHECK_EQ(delivery.lost_records, records);
	snprintf(f.absolute, sizeof(f.absolute), "%s", folder);
	trace_folder_remove(&f);
	free(delivery.sent);
}

void test_delivery_finds_chunks_at_any_byte_and_in_all_files(void)
{
	begin();
	for (uint32_t i = 0; i < 200; i++) {
		note(1 + i % 3, i, 100);
		put(i % 2 ? "ctf/a" : i % 4 ? "ctf/b" : "spill.weft",
		    i % 2 ? i * 37 % 9000 : 0, chunk(1 + i % 3, i, 100), 0);
	}
	end(0, 0);
}

void test_delivery_counts_what_is_missing_cut_or_of_others(void)
{
	struct chunk_header other = chunk(1, 2, 40);

	begin();
	for (uint64_t i = 0; i < 5; i++)
		note(1, i, 10 + 10 * (uint32_t)i);
	put("ctf/a", 13, chunk(1, 0, 10), 0);
	other.recording = 78;
	put("ctf/a", 0, other, 0);
	put("archive", 0, chunk(1, 3, 40), 0);
	put("ctf/a", 9, chunk(1, 4, 50), 1);
	end(4, 20 + 30 + 40 + 50);
}

/* Behind a packet lies the beginning of an older chunk. */
void test_delivery_is_not_misled_by_stale_headers(void)
{
	const struct chunk_header stale = chunk(1, 7, 8000);

	begin();
	note(1, 7, 8000);
	for (uint32_t i = 0; i < 3; i++) {
		note(2, i, 8000);
		put("ctf/a", 40, stale, 8000 * 8 - 3000);
		put("ctf/a", 96, chunk(2, i, 8000), 0);
	}
	end(1, 8000);
}

void test_delivery_counts_partial_chunks_once(void)
{
	begin();
	note(1, 0, 10);
	note(1, 0, 30);
	note(2, 0, 10);
	note(2, 0, 30);
	put("ctf/a", 0, chunk(1, 0, 30), 0);
	put("ctf/a", 0, chunk(2, 0, 10), 0);
	end(1, 20);
}

/* Each once, and none of them the end notes, in which the count stands. */
void test_delivery_counts_different_chunks(void)
{
	begin();
	note(1, 0, 10);
	note(1, 0, 30);
	note(1, META_END, 10);
	note(0, META_START, 0);
	note(0, META_END, 0);
	note(0, META_NAMES, 0);
	CHECK_EQ(delivery_count(&delivery), 4);
	delivery_forget(&delivery);
	CHECK_EQ(delivery_count(&delivery), 0);
	note(0, META_START, 0);
	CHECK_EQ(delivery_count(&delivery), 1);
	end(1, 0);
}

void test_delivery_without_a_folder_all_is_lost(void)
{
	begin();
	note(1, 0, 10);
	note(0, 1, 0);
	end(2, 10);
}
