/* test_archive.c - build-ids as readelf reads them; copies that stay in their
 * folder; chunks that lie about what they name. links: recorder
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/trace/archive.h"
#include "tracer/recorder/base/elf_file.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[64];
static struct chunk_items items;

static void make_dir(void)
{
	strcpy(dir, "/tmp/weft-test-archive-XXXXXX");
	REQUIRE(mkdtemp(dir) != NULL);
}

static void clean(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		perror("rm");
}

static const char *in_dir(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void hex_of(const struct elf_build *id, char *to)
{
	*to = '\0';
	for (unsigned i = 0; i < id->size; i++)
		to += sprintf(to, "%02x", id->id[i]);
}

void test_elf_build_has_the_id_that_readelf_prints(void)
{
	char wanted[64] = "", have[64], self[512] = "", command[700];
	struct elf_build id;
	FILE *pipe;
	int fd;

	if (system("command -v readelf >/dev/null") != 0)
		test_skip("binutils is not installed");
	REQUIRE(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(command, sizeof(command), "readelf -n '%s' 2>/dev/null | "
		 "sed -n 's/.*Build ID: //p'", self);
	pipe = popen(command, "r");
	REQUIRE(pipe);
	if (fscanf(pipe, "%63s", wanted) != 1)
		wanted[0] = '\0';
	pclose(pipe);
	/* By its name: under emulation, opening /proc/self/exe gives qemu. */
	fd = open(self, O_RDONLY);
	CHECK_EQ(elf_build_read(fd, &id), 0);
	hex_of(&id, have);
	CHECK_STR(have, wanted);
	CHECK_STR(id.link, "");
	close(fd);
}

/* Cut anywhere, and with any byte of its head changed: no crash, no id that is
 * longer than it may be. */
void test_elf_build_survives_damaged_files(void)
{
	char bytes[4096];
	const int from = open("/proc/self/exe", O_RDONLY);
	const ssize_t size = read(from, bytes, sizeof(bytes));

	make_dir();
	for (int i = 0; i < 600; i++) {
		const int fd = open(in_dir("bad"), O_RDWR | O_CREAT | O_TRUNC,
				    0600);
		const int at = i * 7 % 1024;
		const char kept = bytes[at];
		const ssize_t length = i % 3 == 0 ? i * 5 : size;
		struct elf_build id;

		bytes[at] = (char)(i * 37 + 255);
		CHECK(write(fd, bytes, (size_t)length) == length);
		bytes[at] = kept;
		elf_build_read(fd, &id);
		CHECK(id.size <= ELF_BUILD_ID_MAX);
		close(fd);
	}
	close(from);
	clean();
}

void test_archive_copies_into_its_folder_only(void)
{
	static const char *const bad[] = {
		"", "/etc/x", "../x", "a/../../x", "a//b", "a/",
	};
	const char *why;
	int folder, from;

	make_dir();
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	from = open("/proc/self/exe", O_RDONLY);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(archive_copy_file(folder, bad[i], from, UINT64_MAX,
					&why) < 0);
	CHECK(archive_copy_file(folder, "a/b/c", from, UINT64_MAX, &why) > 0);
	CHECK_EQ(access(in_dir("a/b/c"), R_OK), 0);
	CHECK_EQ(archive_copy_file(folder, "a/b/c", from, UINT64_MAX, &why), 0);
	CHECK(archive_copy_file(folder, "a/d", from, 100, &why) < 0);
	CHECK_STR(why, "the archive would become too large");
	/* A link that somebody put there is not followed. */
	CHECK_EQ(symlink("/tmp", in_dir("out")), 0);
	CHECK(archive_copy_file(folder, "out/weft-x", from, UINT64_MAX,
				&why) < 0);
	close(folder);
	close(from);
	clean();
}

/* A chunk whose items are cut short, too long or nonsense. */
void test_archive_trusts_no_chunk(void)
{
	static uint64_t words[CHUNK_HEADER_WORDS + 64];
	struct chunk_header *const h = (void *)words;
	static struct archive a;
	int folder;

	make_dir();
	folder = open(dir, O_RDONLY | O_DIRECTORY);
	REQUIRE(archive_init(&a, folder) == 0);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t random = i * UINT64_C(0x9e3779b97f4a7c15);

		h->records = (uint32_t)(random >> 60);
		h->items = i % 5 == 0 ? (uint32_t)random : 64;
		for (int k = 0; k < 64; k++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			words[CHUNK_HEADER_WORDS + k] = k % 3 == 0 ?
				item_put((enum item_type)(2 + random % 2),
					 random >> 33 & 31) : random >> 50;
		}
		chunk_items_read(&items, words, CHUNK_HEADER_WORDS + 64);
		archive_note(&a, &items);
	}
	archive_pack(&a);
	CHECK_EQ(a.copied, 0);
	close(folder);
	clean();
}
