/* in_check.c - checks whether a CTF folder is whole: the packets of its
 * metadata first, whose text babeltrace2 judges, then each stream file against
 * its index and its own packet headers. Knows how
 * LTTng lays packets out; other writers' packets are not looked at.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_check.h"

#include "analyzer/base/mem.h"
#include "analyzer/base/text.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where the reason for a refusal is written, in a few words. */
struct why { char *text; size_t room; };

/* Say why, and return -1. */
__attribute__((format(printf, 2, 3)))
static int bad(const struct why *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->room, format, args);
	va_end(args);
	return -1;
}

/* CTF's numbers may have any alignment. LTTng writes them in the machine's byte
 * order, which is little-endian wherever weft runs. */
static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* ---- metadata ---- */

/* What metadata says. */
struct metadata {
	char *text;
	char uuid[40];         /* tells this trace from others */
	bool has_packets;      /* it came in packets, as LTTng writes it */
	unsigned char packet_uuid[16];
	bool is_lttng;         /* packets of streams are laid out as LTTng's */
	bool has_chunks;       /* it names an event weft:chunk */
};

enum {
	METADATA_MAX = 16 << 20, /* bytes; LTTng's own are a few thousand */
	TSDL_HEAD = 37,          /* bytes before a metadata packet's text */
};

#define TSDL_MAGIC UINT32_C(0x75d11d57)

/* The whole file, NUL-terminated, to be freed with mem_free; NULL if it cannot
 * be read or is larger than any metadata. */
static unsigned char *load(const char *path, size_t *size,
			   const struct why *why)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	unsigned char *bytes = NULL;
	ssize_t got = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= METADATA_MAX) {
		bytes = mem_alloc((size_t)st.st_size + 1);
		got = read(fd, bytes, (size_t)st.st_size);
	}
	if (got < 0) {
		bad(why, "its metadata cannot be read");
		mem_free(bytes);
		bytes = NULL;
	} else {
		*size = (size_t)got;
		bytes[got] = '\0';
	}
	if (fd >= 0)
		close(fd);
	return bytes;
}

/* Join the text of all metadata packets, in place: 0, or -1. The header of a
 * packet is a magic number, a uuid of 16 bytes, a checksum, the content's and
 * the packet's size in bits, three bytes that are 0 (compression, encryption,
 * kind of checksum) and the version. */
static int unpack(unsigned char *bytes, size_t size, const struct why *why)
{
	size_t out = 0;

	for (size_t at = 0; at < size; ) {
		const unsigned char *const p = bytes + at;

		if (size - at < TSDL_HEAD)
			return bad(why, "its metadata is cut short");
		const size_t content = get32(p + 24) / 8;
		const size_t whole = get32(p + 28) / 8;

		if (get32(p) != TSDL_MAGIC || memcmp(p + 4, bytes + 4, 16) ||
		    p[32] || p[33] || p[34] || content < TSDL_HEAD ||
		    content > whole)
			return bad(why, "its metadata is damaged");
		if (whole > size - at)
			return bad(why, "its metadata is cut short");
		/* The text gets shorter by the headers, so it never overwrites
		 * the next packet. It goes behind the first header, because
		 * that one's uuid is compared until the end. */
		memmove(bytes + TSDL_HEAD + out, p + TSDL_HEAD,
			content - TSDL_HEAD);
		out += content - TSDL_HEAD;
		at += whole;
	}
	memmove(bytes, bytes + TSDL_HEAD, out);
	bytes[out] = '\0';
	return 0;
}

/* Does text begin with these words, with any space, or none, where they have
 * one? Versions of LTTng differ in their spaces and line breaks. */
static bool match(const char *text, const char *words)
{
	for (; *words; words++)
		if (*words == ' ')
			text += strspn(text, " \t\r\n");
		else if (*text++ != *words)
			return false;
	return true;
}

static bool has_words(const char *text, const char *words)
{
	for (; *text; text++)
		if (match(text, words))
			return true;
	return false;
}

/* The layout that PACKET_HEAD and read_packet rely on. */
static const char lttng_header[] =
	"packet.header := struct { uint32_t magic; uint8_t uuid[16]; "
	"uint32_t stream_id; uint64_t stream_instance_id; };";
static const char lttng_context[] =
	"struct packet_context { uint64_clock_monotonic_t timestamp_begin; "
	"uint64_clock_monotonic_t timestamp_end; uint64_t content_size; "
	"uint64_t packet_size; uint64_t packet_seq_num; "
	"unsigned long events_discarded; uint32_t cpu_id; };";

/* Are packets laid out as LTTng lays them out? Otherwise they are left to
 * babeltrace2. */
static bool is_lttng(const char *text)
{
	return has_words(text, "byte_order = le;") &&
	       has_words(text, lttng_header) && has_words(text, lttng_context);
}

/* The first uuid in the text, which is that of the trace: a clock's comes after
 * it. */
static void find_uuid(const char *text, char uuid[40])
{
	const char *const at = strstr(text, "uuid = \"");
	size_t n = 0;

	if (at)
		n = strcspn(at + 8, "\"");
	if (n > 39)
		n = 39;
	if (at)
		memcpy(uuid, at + 8, n);
	uuid[n] = '\0';
}

/* Read and check the metadata: 0, or -1, and *why says what is wrong. m->text
 * is to be freed in either case. */
static int load_metadata(const char *path, struct metadata *m,
			 const struct why *why)
{
	size_t size = 0;
	unsigned char *const bytes = load(path, &size, why);

	memset(m, 0, sizeof(*m));
	if (!bytes)
		return -1;
	m->text = (char *)bytes;
	if (size == 0)
		return bad(why, "its metadata is empty");
	if (size >= TSDL_HEAD && get32(bytes) == TSDL_MAGIC) {
		memcpy(m->packet_uuid, bytes + 4, sizeof(m->packet_uuid));
		m->has_packets = true;
		if (unpack(bytes, size, why))
			return -1;
	} else if (size < 10 || memcmp(bytes, "/* CTF 1.8", 10) != 0) {
		return bad(why, "its metadata is damaged");
	}
	find_uuid(m->text, m->uuid);
	m->is_lttng = m->has_packets && is_lttng(m->text);
	m->has_chunks = has_words(m->text, "name = \"weft:chunk\";");
	return 0;
}

/* ---- stream files ---- */

enum {
	PACKET_HEAD = 84,        /* bytes of LTTng's header and context */
	INDEX_HEAD = 16,
	INDEX_ENTRY = 56,        /* of version 1.0; 1.1 adds two words */
};

#define INDEX_MAGIC UINT32_C(0xc1f1dcc1)

/* at is a byte in the file; size and content (which includes the header) are in
 * bits, begin and end in ticks of the trace's clock. */
struct packet { uint64_t at, size, content, begin, end; };

/* Read the header of the packet at a place in a file of size bytes, and check
 * it: 0, or -1. A packet that passes is not empty, so whoever walks on by its
 * size gets to the end. */
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
	if (get32(head) != IN_PACKET_MAGIC || memcmp(head + 4, uuid, 16) ||
	    p->content > p->size || p->size % 8 || p->begin > p->end ||
	    p->content < PACKET_HEAD * 8 || p->size / 8 > size - at)
		return -1;
	return 0;
}

/* Does the next index entry say the same as the packet's own header?
 * babeltrace2 follows the index even if it is wrong. An index is big-endian:
 * the packet's place in bytes, its size and content in bits, its first and last
 * time, and more that is not looked at. */
static int check_entry(FILE *index, size_t entry_size, const struct packet *p)
{
	unsigned char e[256];

	return fread(e, 1, entry_size, index) == entry_size &&
	       be64toh(get64(e)) == p->at && be64toh(get64(e + 8)) == p->size &&
	       be64toh(get64(e + 16)) == p->content &&
	       be64toh(get64(e + 24)) == p->begin &&
	       be64toh(get64(e + 32)) == p->end ? 0 : -1;
}

/* Open the index of a stream file, which may have none: then *index is NULL. -1
 * if it is damaged; *index may be open all the same, and the caller closes
 * it. */
static int open_index(const char *stream, FILE **index, size_t *entry_size)
{
	const char *const name = text_base_name(stream);
	char *const path = mem_print("%.*sindex/%s.idx", (int)(name - stream),
				     stream, name);
	unsigned char head[INDEX_HEAD];
	int rc = 0;

	*index = fopen(path, "re");
	mem_free(path);
	if (!*index)
		return errno == ENOENT ? 0 : -1;
	if (fread(head, 1, sizeof(head), *index) != sizeof(head))
		return -1;
	*entry_size = be32toh(get32(head + 12));
	if (be32toh(get32(head)) != INDEX_MAGIC ||
	    *entry_size < INDEX_ENTRY || *entry_size > 256)
		rc = -1;
	return rc;
}

/* Check all packets of a stream file, and its index if there is one. */
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

/* Check one stream file. */
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

/* ---- a folder ---- */

enum in_check in_check_folder(const struct in_folder *folder, char uuid[40],
			      char *why_text, size_t room)
{
	const struct why why = { why_text, room };
	char *const path = mem_print("%s/metadata", folder->path);
	enum in_check found = IN_CHECK_GOOD;
	struct metadata m = { 0 };

	if (!folder->has_metadata) {
		bad(&why, "its metadata is missing");
		found = IN_CHECK_BAD;
	} else if (load_metadata(path, &m, &why)) {
		found = IN_CHECK_BAD;
	} else if (!m.has_chunks) {
		found = IN_CHECK_OTHER;
	} else if (m.is_lttng && check_streams(folder, m.packet_uuid, &why)) {
		found = IN_CHECK_BAD;
	}
	memcpy(uuid, m.uuid, sizeof(m.uuid));
	mem_free_all(m.text, path);
	return found;
}
