/* in_metadata.c - CTF metadata: is the text whole, and what does it say? Knows
 * metadata packets and as much of TSDL as tells a cut text from a whole one.
 * SPDX-License-Identifier: MIT */
#include "analyzer/in/in_metadata.h"

#include "analyzer/base/mem.h"

#include <endian.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	METADATA_MAX = 16 << 20, /* bytes; LTTng's own are a few thousand */
	TSDL_HEAD = 37,          /* bytes before a metadata packet's text */
};

#define TSDL_MAGIC UINT32_C(0x75d11d57)

static uint32_t get32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static int bad(const char **why, const char *what)
{
	*why = what;
	return -1;
}

/* The whole file, NUL-terminated; NULL with why when it cannot be had. */
static unsigned char *load(const char *path, size_t *size, const char **why)
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

/* Take the text out of metadata packets, in place. Returns its length. */
static ssize_t unpack(unsigned char *bytes, size_t size, const char **why)
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
		/* A packet's text never grows over the next one's head: the
		 * heads fall away. The first packet's uuid is needed above
		 * until the end, so the text goes behind it. */
		memmove(bytes + TSDL_HEAD + out, p + TSDL_HEAD,
			content - TSDL_HEAD);
		out += content - TSDL_HEAD;
		at += whole;
	}
	memmove(bytes, bytes + TSDL_HEAD, out);
	bytes[out] = '\0';
	return (ssize_t)out;
}

/* Skip a comment or a string that begins at p; p itself when none does. */
static const char *skip_quoted(const char *p, const char *end)
{
	if (p[0] == '/' && p[1] == '*') {
		const char *const close = strstr(p + 2, "*/");
		return close ? close + 2 : end;
	}
	if (p[0] == '"') {
		for (p++; p < end && *p != '"'; p++)
			p += *p == '\\' && p + 1 < end;
		return p < end ? p + 1 : end;
	}
	return p;
}

/* Do the braces match, does it end with a semicolon, and is it text? */
static int check_text(const char *text, size_t size, const char **why)
{
	const char *const end = text + size;
	long open = 0;
	char last = 0;

	for (const char *p = text; p < end; ) {
		const char *const next = skip_quoted(p, end);

		if (next != p) {
			p = next;
			continue;
		}
		open += (*p == '{') - (*p == '}');
		if (open < 0 || *p == '\0' || (*p & 0x80))
			return bad(why, "its metadata is damaged");
		if (!strchr(" \t\r\n", *p))
			last = *p;
		p++;
	}
	if (open || last != ';')
		return bad(why, "its metadata is cut short");
	return 0;
}

/* Does text begin with these words, whatever space is at their spaces? */
static int match(const char *text, const char *words)
{
	for (; *words; words++)
		if (*words == ' ')
			text += strspn(text, " \t\r\n");
		else if (*text++ != *words)
			return 0;
	return 1;
}

static int has_words(const char *text, const char *words)
{
	for (; *text; text++)
		if (match(text, words))
			return 1;
	return 0;
}

static const char lttng_header[] =
	"packet.header := struct { uint32_t magic; uint8_t uuid[16]; "
	"uint32_t stream_id; uint64_t stream_instance_id; };";
static const char lttng_context[] =
	"struct packet_context { uint64_clock_monotonic_t timestamp_begin; "
	"uint64_clock_monotonic_t timestamp_end; uint64_t content_size; "
	"uint64_t packet_size; uint64_t packet_seq_num; "
	"unsigned long events_discarded; uint32_t cpu_id; };";

static int is_lttng(const char *text)
{
	return has_words(text, "byte_order = le;") &&
	       has_words(text, lttng_header) && has_words(text, lttng_context);
}

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

int in_metadata_load(const char *path, struct in_metadata *m, const char **why)
{
	size_t size = 0;
	unsigned char *const bytes = load(path, &size, why);
	ssize_t length = (ssize_t)size;

	memset(m, 0, sizeof(*m));
	if (!bytes)
		return -1;
	m->text = (char *)bytes;
	if (size == 0)
		return bad(why, "its metadata is empty");
	if (size >= TSDL_HEAD && get32(bytes) == TSDL_MAGIC) {
		memcpy(m->packet_uuid, bytes + 4, sizeof(m->packet_uuid));
		m->has_packets = 1;
		length = unpack(bytes, size, why);
	} else if (size < 10 || memcmp(bytes, "/* CTF 1.8", 10) != 0) {
		return bad(why, "its metadata is damaged");
	}
	if (length < 0 || check_text(m->text, (size_t)length, why))
		return -1;
	find_uuid(m->text, m->uuid);
	m->is_lttng = m->has_packets && is_lttng(m->text);
	m->has_chunks = has_words(m->text, "name = \"weft:chunk\";");
	return 0;
}

void in_metadata_fini(struct in_metadata *m)
{
	mem_free(m->text);
	m->text = NULL;
}
