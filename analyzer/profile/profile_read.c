/* profile_read.c - unpacks a profile into the tables it was made from: rows of
 * structs whose strings are known, each number checked to fit. How much a file
 * may unpack to is bounded.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/profile.h"

#include "analyzer/base/err.h"
#include "analyzer/base/vec.h"
#include "analyzer/profile/pprof.pb-c.h"
#include "analyzer/profile/profile_session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

/* ---- fields of the outermost message, one by one ---- */

/* A field: its number, and its value or its bytes, which are valid until the
 * next field is read. */
struct field {
	uint64_t number;
	uint64_t value;        /* of a field that is a number */
	const uint8_t *bytes;  /* of one that is bytes, else NULL */
	size_t size;
};

/* Numbers of fields, as in pprof.proto; kinds of fields on the wire, which are
 * the lowest three bits of a tag: protobuf.dev/programming-guides/encoding. */
enum { FIELD_STRING = 6, FIELD_VERSION = 1000, FIELD_TEXT, FIELD_TABLE,
       FIELD_END };
enum { WIRE_NUMBER = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* A wanted field may have FIELD_BYTES bytes, a table BLOCK_ROWS rows: more than
 * any that weft writes, and little enough to be in memory at a time. STEP: the
 * size of buffers. */
enum { FIELD_BYTES = 16 << 20, STEP = 65536, BLOCK_ROWS = 65536 };

/* A file may unpack to this much: a small file of zeros unpacks to a thousand
 * times its size. */
#define WHOLE_BYTES (UINT64_C(4) << 30)

/* A file that is being unpacked. The outermost message is read by hand, one
 * field after another, so that it is never in memory as a whole; the library
 * decodes single tables. */
struct input {
	gzFile gz;
	uint8_t *bytes;        /* of the field that was read last */
	size_t room;
	uint64_t taken;        /* bytes unpacked so far */
};

/* NULL if the file cannot be opened, with the cause in the chain. Freed with
 * close_input. zlib leaves errno at 0 if it has no memory. */
static struct input *open_input(const char *path)
{
	gzFile gz = gzopen(path, "rbe");
	struct input *in;

	if (!gz) {
		err_add("%s", errno == 0 ? "out of memory" : strerror(errno));
		return NULL;
	}
	gzbuffer(gz, STEP);
	in = mem_alloc(sizeof(*in));
	in->gz = gz;
	return in;
}

/* NULL is allowed. */
static void close_input(struct input *in)
{
	if (!in)
		return;
	gzclose(in->gz);
	mem_free_all(in->bytes, in);
}

/* Why reading failed, as far as zlib tells. Always -1. */
static int say_damage(struct input *in)
{
	int status;
	const char *const why = gzerror(in->gz, &status);

	if (status == Z_ERRNO)
		return err_add("%s", strerror(errno));
	if (status != Z_OK && status != Z_STREAM_END)
		return err_add("it is damaged or cut (%s)", why);
	return err_add("it is damaged or cut");
}

/* Read size bytes: 0, or -1 if there are fewer, with the cause in the chain. */
static int take(struct input *in, void *to, size_t size)
{
	in->taken += size;
	if (in->taken > WHOLE_BYTES)
		return err_add("it unpacks to more than 4 GiB");
	if (gzfread(to, 1, size, in->gz) != size)
		return say_damage(in);
	return 0;
}

/* 0 if nothing is left and the file is whole: a file that was cut also ends,
 * but zlib has not seen its checksum then. */
static int end(struct input *in)
{
	int status;

	gzerror(in->gz, &status);
	return gzeof(in->gz) && (status == Z_OK || status == Z_STREAM_END) ?
		0 : say_damage(in);
}

/* Read a number: 0. 1 at the end of the file, if that is allowed. -1 with the
 * cause in the chain. A number has 7 bits a byte, the lowest first; the highest
 * bit says that more follow. Of a tenth byte only one bit fits. */
static int take_number(struct input *in, uint64_t *value, bool may_end)
{
	*value = 0;
	for (unsigned shift = 0; shift < 70; shift += 7) {
		const int byte = gzgetc(in->gz);

		if (byte < 0 && shift == 0 && may_end)
			return end(in) == 0 ? 1 : -1;
		if (byte < 0)
			return say_damage(in);
		if (++in->taken > WHOLE_BYTES)
			return err_add("it unpacks to more than 4 GiB");
		if (shift == 63 && byte > 1)
			break;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return 0;
	}
	return err_add("it is damaged: a number is too long");
}

/* Unpack bytes and forget them: the size is whatever the file says. */
static int skip(struct input *in, uint64_t size)
{
	uint8_t room[STEP];

	for (; size > 0; size -= size < STEP ? size : STEP)
		if (take(in, room, size < STEP ? (size_t)size : STEP) != 0)
			return -1;
	return 0;
}

/* Read a field of bytes, or skip it. A byte of room is left behind it, so that
 * an empty field has an address, too. */
static int take_bytes(struct input *in, bool is_wanted,
		      struct field *f)
{
	uint64_t size;

	if (take_number(in, &size, false) != 0)
		return -1;
	if (!is_wanted)
		return skip(in, size);
	if (size > FIELD_BYTES)
		return err_add("it is damaged: a field has %llu bytes",
			       (unsigned long long)size);
	f->size = (size_t)size;
	vec_need(&in->bytes, &in->room, f->size + 1);
	f->bytes = in->bytes;
	return take(in, in->bytes, f->size);
}

/* What weft reads back; samples and all else are for other tools. */
static bool is_wanted_field(uint64_t number)
{
	return number == FIELD_STRING ||
	       (number >= FIELD_VERSION && number <= FIELD_END);
}

/* Read the next wanted field: 1; 0 at the end; -1 if the file is damaged, with
 * the cause in the chain. */
static int next_field(struct input *in, struct field *f)
{
	for (;;) {
		uint64_t tag;
		const int status = take_number(in, &tag, true);
		bool is_wanted;

		if (status != 0)
			return status < 0 ? -1 : 0;
		*f = (struct field){ .number = tag >> 3 };
		is_wanted = is_wanted_field(f->number);
		switch (tag & 7) {
		case WIRE_NUMBER:
			if (take_number(in, &f->value, false) != 0)
				return -1;
			break;
		case WIRE_BYTES:
			if (take_bytes(in, is_wanted, f) != 0)
				return -1;
			break;
		case WIRE_64:
		case WIRE_32:
			if (skip(in, (tag & 7) == WIRE_64 ? 8 : 4) != 0)
				return -1;
			break;
		default:
			return err_add("it is damaged: a field is of an "
				       "unknown kind");
		}
		if (is_wanted)
			return 1;
	}
}

/* ---- strings ---- */

/* Tables and strings may take this much memory in all. Samples are skipped, and
 * do not count. */
#define KEPT_BYTES (UINT64_C(1) << 30)

/* The strings of a field, by their order in the file. */
struct strings { const char **text; size_t count, room; };

/* What was read so far. A string comes before the first table that has it. */
struct reader {
	struct profile_session *session;
	struct arena *arena;   /* holds the strings until the end */
	struct strings shown, exact;
	uint64_t kept;         /* bytes */
	uint64_t rows, end;    /* seen so far; how many the file says it has */
	bool has_version, has_end;
	unsigned kind;         /* of the last table */
};

/* Count memory that stays in use; -1 if it is too much. */
static int keep(struct reader *r, uint64_t bytes)
{
	r->kept += bytes;
	return r->kept > KEPT_BYTES ?
		err_add("it needs more than 1 GiB of memory") : 0;
}

/* The string's number is its position among those of its field. Two pointers
 * are counted for it, because the array grows in steps. */
static int add_string(struct reader *r, struct strings *to,
		      const struct field *f)
{
	if (keep(r, f->size + 1 + 2 * sizeof(char *)) != 0)
		return -1;
	*vec_add(&to->text, &to->room, &to->count) =
		arena_copy(r->arena, (const char *)f->bytes, f->size);
	return 0;
}

/* ---- tables ---- */

/* Set a text by its number: even ones are shown texts, odd ones exact ones. -1
 * if there is no such string yet. An array of chars gets as much as fits, with
 * a NUL. */
static int set_text(const struct reader *r, const struct profile_field *f,
		    char *row, uint64_t value)
{
	const struct strings *const from = value & 1 ? &r->exact : &r->shown;
	const char *text;

	if (value / 2 >= from->count)
		return -1;
	text = from->text[value / 2];
	if (f->type == PROFILE_TEXT)
		memcpy(row + f->offset, &text, sizeof(text));
	else
		snprintf(row + f->offset, f->size, "%s", text);
	return 0;
}

/* Set one column in all rows. The column's length was checked: it is the number
 * of rows, or 0 for a column that is not there. */
static int set_column(const struct reader *r, const struct profile_field *f,
		      size_t i, size_t row_size, const Prof__Column *column,
		      char *rows)
{
	for (size_t k = 0; k < column->n_value; k++) {
		char *const row = rows + k * row_size;

		if (f->type == PROFILE_NUMBER ?
		    profile_set(f, row, i, column->value[k]) != 0 :
		    set_text(r, f, row, column->value[k]) != 0)
			return err_add("it is damaged: a number is too large");
	}
	return 0;
}

/* Fill in zeroed rows. A column that is not there, because an older weft wrote
 * the file, has the text "" or the number 0; columns beyond the known ones are
 * skipped. */
static int set_columns(const struct reader *r, const struct profile_table *t,
		       const Prof__Table *from, char *rows)
{
	static const Prof__Column none = { .n_value = 0 };
	const char *const empty = "";
	size_t column = 0;

	for (size_t f = 0; f < t->field_count; f++) {
		const struct profile_field *const field = &t->fields[f];

		for (size_t k = 0; field->type == PROFILE_TEXT &&
				   k < from->rows; k++)
			memcpy(rows + k * t->row_size + field->offset, &empty,
			       sizeof(empty));
		for (size_t i = 0; i < field->count; i++, column++)
			if (set_column(r, field, i, t->row_size,
				       column < from->n_column ?
				       from->column[column] : &none, rows) != 0)
				return -1;
	}
	return 0;
}

/* Check the shape of a table, before memory is spent on it. Rows are counted
 * twice: as they are here, and as the session keeps them. */
static int check_table(struct reader *r, const Prof__Table *t)
{
	if (t->rows == 0 || t->rows > BLOCK_ROWS || t->n_column == 0)
		return err_add("it is damaged: a table without rows");
	for (size_t i = 0; i < t->n_column; i++)
		if (t->column[i]->n_value != t->rows)
			return err_add("it is damaged: a column's length is "
				       "wrong");
	if (t->kind < r->kind)
		return err_add("it is damaged: tables are out of order");
	r->kind = (unsigned)t->kind;
	r->rows += t->rows;
	return keep(r, t->rows * 2 * profile_tables[t->kind].row_size);
}

/* Unpack a table and add its rows to the session. Kinds of a later version are
 * skipped, but counted: the end of the file counts all. */
static int add_table(struct reader *r, const struct field *f)
{
	Prof__Table *const t = prof__table__unpack(NULL, f->size, f->bytes);
	char *rows = NULL;
	int status = -1;

	if (!t)
		return err_add("it is damaged: a table cannot be decoded");
	if (t->kind == 0 || t->kind >= PROFILE_KINDS) {
		r->rows += t->rows; /* of a later version */
		status = 0;
	} else if (check_table(r, t) == 0) {
		rows = mem_alloc((size_t)t->rows *
				 profile_tables[t->kind].row_size);
		status = set_columns(r, &profile_tables[t->kind], t, rows);
		if (status == 0)
			status = profile_session_add(r->session,
				(enum profile_kind)t->kind, rows,
				(size_t)t->rows);
	}
	mem_free(rows);
	prof__table__free_unpacked(t, NULL);
	return status;
}

/* ---- the whole ---- */

/* Take a field, whose kind must be that of its number. */
static int take_field(struct reader *r, const struct field *f)
{
	const bool is_bytes = f->bytes != NULL;

	if (is_bytes != (f->number == FIELD_STRING || f->number == FIELD_TEXT ||
			 f->number == FIELD_TABLE))
		return err_add("it is damaged: a field is of the wrong kind");
	switch (f->number) {
	case FIELD_STRING:
		return add_string(r, &r->shown, f);
	case FIELD_TEXT:
		return add_string(r, &r->exact, f);
	case FIELD_TABLE:
		return add_table(r, f);
	case FIELD_VERSION:
		r->has_version = true;
		return f->value == PROFILE_VERSION ? 0 :
			err_add("its version is %llu; this weft reads %d",
				(unsigned long long)f->value, PROFILE_VERSION);
	default:
		r->has_end = true;
		r->end = f->value;
		return 0;
	}
}

/* Read all fields. The number of rows at the end shows that no table is
 * missing; zlib's checksum shows that none has changed. */
static int read_all(struct reader *r, struct input *in)
{
	struct field f;
	int status;

	while ((status = next_field(in, &f)) > 0)
		if (take_field(r, &f) != 0)
			return -1;
	if (status < 0)
		return -1;
	if (!r->has_version)
		return err_add("it is a profile, but not one that weft wrote: "
			       "only pprof can show it");
	if (!r->has_end || r->end != r->rows)
		return err_add("it is damaged: rows are missing");
	return 0;
}

bool profile_is(const char *path)
{
	unsigned char magic[2] = { 0, 0 };
	struct stat about;
	size_t size;
	FILE *file;

	if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
		return false;
	file = fopen(path, "rbe");
	if (!file)
		return false;
	size = fread(magic, 1, sizeof(magic), file);
	fclose(file);
	return size == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

/* profile_session_end decides: it frees what was made so far if the status is
 * not 0. */
struct session *profile_read(const char *path)
{
	struct input *const in = open_input(path);
	struct reader r = { .session = NULL };
	struct session *s;
	int status = -1;

	r.arena = arena_new();
	r.session = profile_session_new();
	if (in)
		status = read_all(&r, in);
	s = profile_session_end(r.session, status);
	close_input(in);
	arena_free(r.arena);
	mem_free_all(r.shown.text, r.exact.text);
	if (!s)
		err_add("cannot read profile \"%s\"", path);
	return s;
}
