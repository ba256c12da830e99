/* in_check.c - is this CTF folder whole? Metadata first, then each stream file
 * against its index and its own packet headers. Knows how LTTng lays packets
 * out; other writers' packets are not looked at.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_check.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"
#include "analyzer/in/in_metadata.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	PACKET_HEAD = 84,        /* bytes of LTTng's header and context */
	INDEX_HEAD = 16,
	INDEX_ENTRY = 56,        /* of version 1.0; 1.1 adds two words */
};

#define PACKET_MAGIC UINT32_C(0xc1fc1fc1)
#define INDEX_MAGIC UINT32_C(0xc1f1dcc1)

struct why { char *text; size_t room; };

static int bad(const struct why *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int bad(const struct why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->room, format, args);
	va_end(args);
	return -1;
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint32_t get32_be(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static uint64_t get64_be(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* ---- stream files ---- */

struct packet { uint64_t at, size, content, begin, end; };

static int read_packet(int fd, uint64_t at, uint64_t size, struct packet *p,
		       const unsigned char uuid[16])
{
	unsigned char head[PACKET_HEAD];

	if (size - at < PACKET_HEAD ||
	    pread(fd, head, sizeof(head), (off_t)at) != sizeof(head))
		return -1;
	*p = (struct packet){ .at = at, .begin = get64(head + 32),
			      .end = get64(head + 40),
			      .content = get64(head + 48),
			      .size = get64(head + 56) };
	if (get32(head) != PACKET_MAGIC || memcmp(head + 4, uuid, 16) ||
	    p->content > p->size || p->size % 8 || p->begin > p->end ||
	    p->content < PACKET_HEAD * 8 || p->size / 8 > size - at)
		return -1;
	return 0;
}

/* One index entry says the same as the packet's own header? Where the index is
 * wrong, babeltrace2 goes where it points. */
static int check_entry(FILE *index, size_t entry_size, const struct packet *p)
{
	unsigned char e[256];

	return fread(e, 1, entry_size, index) == entry_size &&
	       get64_be(e) == p->at && get64_be(e + 8) == p->size &&
	       get64_be(e + 16) == p->content && get64_be(e + 24) == p->begin &&
	       get64_be(e + 32) == p->end ? 0 : -1;
}

/* Open the index of a stream file, which may have none. */
static int open_index(const char *stream, FILE **index, size_t *entry_size)
{
	const char *const name = text_base_name(stream);
	const size_t room = strlen(stream) + 16;
	char *const path = mem_alloc(room);
	unsigned char head[INDEX_HEAD];
	int rc = 0;

	snprintf(path, room, "%.*sindex/%s.idx", (int)(name - stream), stream,
		 name);
	*index = fopen(path, "re");
	mem_free(path);
	if (!*index)
		return errno == ENOENT ? 0 : -1;
	if (fread(head, 1, sizeof(head), *index) != sizeof(head))
		return -1;
	*entry_size = get32_be(head + 12);
	if (get32_be(head) != INDEX_MAGIC ||
	    *entry_size < INDEX_ENTRY || *entry_size > 256)
		rc = -1;
	return rc;
}

static int walk_packets(int fd, FILE *index, size_t entry_size,
			const char *name, const unsigned char uuid[16],
			const struct why *why)
{
	struct packet p;
	struct stat st;
	uint64_t at = 0;

	if (fstat(fd, &st))
		return bad(why, "\"%s\" cannot be read", name);
	while (at < (uint64_t)st.st_size) {
		if (read_packet(fd, at, (uint64_t)st.st_size, &p, uuid))
			return bad(why, "\"%s\" is damaged or cut at byte %llu",
				   name, (unsigned long long)at);
		if (index && check_entry(index, entry_size, &p))
			return bad(why, "the index of \"%s\" is damaged", name);
		at += p.size / 8;
	}
	if (index && fgetc(index) != EOF)
		return bad(why, "\"%s\" ends before its index does", name);
	return 0;
}

static int check_stream(const char *path, const unsigned char uuid[16],
			const struct why *why)
{
	const char *const name = text_base_name(path);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	FILE *index = NULL;
	size_t entry_size = 0;
	int rc;

	if (fd < 0)
		return bad(why, "\"%s\" cannot be read", name);
	if (open_index(path, &index, &entry_size))
		rc = bad(why, "the index of \"%s\" is damaged", name);
	else
		rc = walk_packets(fd, index, entry_size, name, uuid, why);
	if (index)
		fclose(index);
	close(fd);
	return rc;
}

static int check_streams(const struct in_folder *f,
			 const unsigned char uuid[16], const struct why *why)
{
	for (size_t i = 0; i < f->stream_count; i++)
		if (check_stream(f->streams[i], uuid, why))
			return -1;
	return 0;
}

/* ---- both ---- */

enum in_check in_check_folder(const struct in_folder *folder, char uuid[40],
			      char *why_text, size_t room)
{
	const struct why why = { why_text, room };
	const size_t path_room = strlen(folder->path) + 16;
	char *const path = mem_alloc(path_room);
	enum in_check found = IN_CHECK_GOOD;
	const char *wrong = "its metadata is missing";
	struct in_metadata m = { 0 };

	snprintf(path, path_room, "%s/metadata", folder->path);
	if (!folder->has_metadata || in_metadata_load(path, &m, &wrong)) {
		bad(&why, "%s", wrong);
		found = IN_CHECK_BAD;
	} else if (!m.has_chunks) {
		found = IN_CHECK_OTHER;
	} else if (m.is_lttng && check_streams(folder, m.packet_uuid, &why)) {
		found = IN_CHECK_BAD;
	}
	memcpy(uuid, m.uuid, sizeof(m.uuid));
	in_metadata_fini(&m);
	mem_free(path);
	return found;
}
