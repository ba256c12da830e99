/* profile_read.c - reads the session of a profile: rows of structs whose
 * strings are known, each number checked to fit. How much a file may unpack to
 * is bounded.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile.h"

#include "analyzer/base/err.h"
#include "analyzer/base/text.h"
#include "analyzer/base/vec.h"
#include "analyzer/profile/profile_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

/* What a protobuf message begins with: a field's number, and as its lowest
 * three bits how it is written: 2 is bytes. Older profiles began with their
 * version. */
enum { TAG_SESSION = 1004 << 3 | 2, TAG_OLD = 1000 << 3 };

/* A text may have TEXT_MOST bytes: more than any that weft writes. STEP: the
 * size of buffers. */
enum { TEXT_MOST = 16 << 20, STEP = 65536 };

/* A file may unpack to WHOLE_BYTES, as a small file of zeros unpacks to a
 * thousand times its size; rows and strings may take KEPT_BYTES of memory. */
#define WHOLE_BYTES (UINT64_C(4) << 30)
#define KEPT_BYTES (UINT64_C(1) << 30)

/* A file that is being read, and the session that is made of it. The first
 * failure stays: what is read after it is 0. */
struct reader {
	gzFile gz;
	uint64_t taken, kept;   /* bytes unpacked; bytes that stay in use */
	bool has_failed;        /* the cause is in the chain */
	struct profile_session *session;
	struct arena *arena;    /* holds the strings until the end */
	const char **text;
	size_t count, room;
};

/* ---- bytes, numbers, texts ---- */

__attribute__((format(printf, 2, 3)))
static void fail(struct reader *r, const char *format, ...)
{
	char text[200];
	va_list args;

	if (r->has_failed)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	err_add("%s", text);
	r->has_failed = true;
}

/* Why reading failed, as far as zlib tells. */
static void say_damage(struct reader *r)
{
	int status;
	const char *const why = gzerror(r->gz, &status);

	if (status == Z_ERRNO)
		fail(r, "%s", strerror(errno));
	else if (status != Z_OK && status != Z_STREAM_END)
		fail(r, "it is damaged or cut (%s)", why);
	else
		fail(r, "it is damaged or cut");
}

/* Count memory that stays in use. */
static void keep(struct reader *r, uint64_t bytes)
{
	r->kept += bytes;
	if (r->kept > KEPT_BYTES)
		fail(r, "it needs more than 1 GiB of memory");
}

static uint64_t take_number(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70 && !r->has_failed; shift += 7) {
		const int byte = gzgetc(r->gz);

		r->taken++;
		if (byte < 0)
			say_damage(r);
		else if (shift == 63 && byte > 1)
			fail(r, "it is damaged: a number is too long");
		else
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			break;
	}
	return r->has_failed ? 0 : value;
}

/* A text that lives as long as the reader. Two pointers are counted for it,
 * because the array grows in steps. */
static const char *take_text(struct reader *r)
{
	const uint64_t number = take_number(r);
	const uint64_t size = number == 0 ? take_number(r) : 0;
	char *text;

	if (number > r->count || size > TEXT_MOST)
		fail(r, "it is damaged: a text");
	keep(r, number == 0 ? size + 8 + 2 * sizeof(char *) : 0);
	if (r->has_failed)
		return "";
	if (number > 0)
		return r->text[number - 1];
	text = arena_alloc(r->arena, (size_t)size + 1);
	text[size] = '\0';
	r->taken += size;
	if (gzfread(text, 1, (size_t)size, r->gz) != size)
		say_damage(r);
	*vec_add(&r->text, &r->room, &r->count) = text;
	return text;
}

/* ---- tables ---- */

/* Fill in a field of a zeroed row; one that is not there, because an older weft
 * wrote the file, is 0 or "". An array of chars gets as much as fits. */
static void set_field(struct reader *r, const struct profile_field *f,
		      bool is_there, char *row)
{
	const char *const text = f->type == PROFILE_NUMBER || !is_there ? "" :
				 take_text(r);

	if (f->type == PROFILE_TEXT)
		memcpy(row + f->offset, &text, sizeof(text));
	else if (f->type == PROFILE_CHARS)
		snprintf(row + f->offset, f->size, "%s", text);
	for (size_t i = 0; f->type == PROFILE_NUMBER && is_there &&
			   i < f->count; i++)
		if (profile_set(f, row, i, take_number(r)) != 0)
			fail(r, "it is damaged: a number is too large");
}

/* The rows of a table. A row is counted twice, because arrays grow in steps. */
static void read_table(struct reader *r, enum profile_kind kind)
{
	const struct profile_table *const t = &profile_tables[kind];
	const uint64_t fields = take_number(r);
	char *const row = mem_alloc(t->row_size);

	if (fields == 0 || fields > t->field_count)
		fail(r, "it is damaged: a table");
	while (take_number(r) == 1) {
		memset(row, 0, t->row_size);
		for (size_t i = 0; i < t->field_count; i++)
			set_field(r, &t->fields[i], i < fields, row);
		keep(r, 2 * t->row_size);
		if (!r->has_failed &&
		    profile_session_add(r->session, kind, row) != 0)
			r->has_failed = true;
	}
	mem_free(row);
}

static void read_session(struct reader *r)
{
	const uint64_t tag = take_number(r);
	uint64_t kind, last = 0, version;

	if (tag == TAG_OLD)
		fail(r, "an older weft wrote it; export the trace again");
	else if (tag != TAG_SESSION)
		fail(r, "it is a profile, but not one that weft wrote: only "
		     "pprof can show it");
	take_number(r); /* its size */
	version = take_number(r);
	if (version == 0 || version > PROFILE_VERSION)
		fail(r, "its version is %llu; this weft reads up to %d",
		     (unsigned long long)version, PROFILE_VERSION);
	for (; (kind = take_number(r)) > 0; last = kind)
		if (kind <= last || kind >= PROFILE_KINDS)
			fail(r, "it is damaged: tables are out of order");
		else
			read_table(r, (enum profile_kind)kind);
}

/* What is left is for other tools. zlib's checksum of the whole file comes last
 * and shows that nothing has changed. A file that is cut gives its bytes before
 * an error. */
static void read_rest(struct reader *r)
{
	char room[STEP];
	int got = 1, status;

	while (!r->has_failed && got > 0) {
		got = gzread(r->gz, room, sizeof(room));
		r->taken += got > 0 ? (uint64_t)got : 0;
		if (r->taken > WHOLE_BYTES)
			fail(r, "it unpacks to more than 4 GiB");
	}
	gzerror(r->gz, &status);
	if (got < 0 || !gzeof(r->gz) ||
	    (status != Z_OK && status != Z_STREAM_END))
		say_damage(r);
}

/* ---- the whole ---- */

bool profile_is(const char *path)
{
	return text_file_begins(path, "\x1f\x8b", 2);
}

/* Do the last four bytes say that it unpacks to so many? For gzread of zlib
 * 1.3.2, a file that is cut ends like a whole one. */
static bool is_whole(const char *path, uint64_t size)
{
	unsigned char end[4] = { 0 };
	FILE *const file = fopen(path, "rbe");
	const bool is_read = file && fseek(file, -4, SEEK_END) == 0 &&
			     fread(end, 1, sizeof(end), file) == sizeof(end);

	if (file)
		fclose(file);
	return is_read && ((uint32_t)end[0] | (uint32_t)end[1] << 8 |
			   (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24) ==
			  (uint32_t)size;
}

/* zlib leaves errno at 0 if it has no memory. */
static void read_all(struct reader *r, const char *path)
{
	r->gz = gzopen(path, "rbe");
	if (!r->gz) {
		fail(r, "%s", errno == 0 ? "out of memory" : strerror(errno));
		return;
	}
	gzbuffer(r->gz, STEP);
	read_session(r);
	read_rest(r);
	if (!r->has_failed && !is_whole(path, (uint64_t)gztell(r->gz)))
		fail(r, "it is damaged or cut");
	gzclose(r->gz);
}

/* profile_session_end decides: it frees what was made so far if the status is
 * not 0. */
struct session *profile_read(const char *path)
{
	struct reader r = { .arena = arena_new(),
			    .session = profile_session_new() };
	struct session *s;

	read_all(&r, path);
	s = profile_session_end(r.session, r.has_failed ? -1 : 0);
	arena_free(r.arena);
	mem_free(r.text);
	if (!s)
		err_add("cannot read profile \"%s\"", path);
	return s;
}
