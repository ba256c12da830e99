/* prof_read.c - a profile as the tables it was made from: rows of structs whose
 * strings are known, each number checked to fit. What the rows mean, and
 * whether they may be used, is prof_take.c's.
 * SPDX-License-Identifier: MIT */
#include "analyzer/profile/prof.h"

#include "analyzer/base/err.h"
#include "analyzer/base/mem.h"
#include "analyzer/base/vec.h"
#include "analyzer/profile/pprof.pb-c.h"
#include "analyzer/profile/prof_in.h"
#include "analyzer/profile/prof_kind.h"
#include "analyzer/profile/prof_take.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FIELD_STRING = 6, FIELD_VERSION = 1000, FIELD_TEXT, FIELD_TABLE,
       FIELD_END, BLOCK_ROWS = 65536 };

/* What tables and strings may take in memory. */
#define KEPT_BYTES (UINT64_C(1) << 30)

/* Strings of one of the two fields, by number. */
struct strings { const char **text; size_t count, room; };

struct reader {
	struct prof_take *take;
	struct arena *arena;
	struct strings shown, exact;
	uint64_t kept;         /* bytes */
	uint64_t rows, end;
	int has_version, has_end;
	unsigned kind;         /* of the last table */
};

static int wanted(uint64_t number)
{
	return number == FIELD_STRING ||
	       (number >= FIELD_VERSION && number <= FIELD_END);
}

static int keep(struct reader *r, uint64_t bytes)
{
	r->kept += bytes;
	return r->kept > KEPT_BYTES ?
		err_add("it wants more than 1 GiB of memory") : 0;
}

static int add_string(struct reader *r, struct strings *to,
		      const struct prof_in_field *f)
{
	if (keep(r, f->size + 1 + 2 * sizeof(char *)) != 0)
		return -1;
	*vec_add(&to->text, &to->room, &to->count) =
		arena_copy(r->arena, (const char *)f->bytes, f->size);
	return 0;
}

/* --- tables -------------------------------------------------------------- */

static int set_text(const struct reader *r, const struct prof_field *f,
		    char *row, uint64_t value)
{
	const struct strings *const from = value & 1 ? &r->exact : &r->shown;
	const char *text;

	if (value / 2 >= from->count)
		return -1;
	text = from->text[value / 2];
	if (f->type == PROF_TEXT)
		memcpy(row + f->offset, &text, sizeof(text));
	else
		snprintf(row + f->offset, f->size, "%s", text);
	return 0;
}

static int set_column(const struct reader *r, const struct prof_field *f,
		      size_t i, size_t row_size, const Prof__Column *column,
		      char *rows)
{
	for (size_t k = 0; k < column->n_value; k++) {
		char *const row = rows + k * row_size;

		if (f->type == PROF_NUMBER ?
		    prof_kind_set(f, row, i, column->value[k]) != 0 :
		    set_text(r, f, row, column->value[k]) != 0)
			return err_add("it is damaged: a number is too large");
	}
	return 0;
}

/* Columns that are not there are texts "" and numbers 0. */
static int set_columns(const struct reader *r, const struct prof_table *t,
		       const Prof__Table *from, char *rows)
{
	static const Prof__Column none = { .n_value = 0 };
	const char *const empty = "";
	size_t column = 0;

	for (size_t f = 0; f < t->field_count; f++) {
		const struct prof_field *const field = &t->fields[f];

		for (size_t k = 0; field->type == PROF_TEXT &&
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

static int check_table(struct reader *r, const Prof__Table *t)
{
	if (t->rows == 0 || t->rows > BLOCK_ROWS || t->n_column == 0)
		return err_add("it is damaged: a table without rows");
	for (size_t i = 0; i < t->n_column; i++)
		if (t->column[i]->n_value != t->rows)
			return err_add("it is damaged: a column's length");
	if (t->kind < r->kind)
		return err_add("it is damaged: tables are out of order");
	r->kind = (unsigned)t->kind;
	r->rows += t->rows;
	return keep(r, t->rows * 2 * prof_tables[t->kind].row_size);
}

static int add_table(struct reader *r, const struct prof_in_field *f)
{
	Prof__Table *const t = prof__table__unpack(NULL, f->size, f->bytes);
	char *rows = NULL;
	int status = -1;

	if (!t)
		return err_add("it is damaged: not a table");
	if (t->kind == 0 || t->kind >= PROF_KINDS) {
		r->rows += t->rows; /* of a later version */
		status = 0;
	} else if (check_table(r, t) == 0) {
		rows = mem_alloc((size_t)t->rows *
				 prof_tables[t->kind].row_size);
		status = set_columns(r, &prof_tables[t->kind], t, rows);
		if (status == 0)
			status = prof_take_rows(r->take,
						(enum prof_kind)t->kind, rows,
						(size_t)t->rows);
	}
	mem_free(rows);
	prof__table__free_unpacked(t, NULL);
	return status;
}

/* --- the whole ----------------------------------------------------------- */

static int take_field(struct reader *r, const struct prof_in_field *f)
{
	const int is_bytes = f->bytes != NULL;

	if (is_bytes != (f->number == FIELD_STRING || f->number == FIELD_TEXT ||
			 f->number == FIELD_TABLE))
		return err_add("it is damaged: a field's kind");
	switch (f->number) {
	case FIELD_STRING:
		return add_string(r, &r->shown, f);
	case FIELD_TEXT:
		return add_string(r, &r->exact, f);
	case FIELD_TABLE:
		return add_table(r, f);
	case FIELD_VERSION:
		r->has_version = 1;
		return f->value == PROF_VERSION ? 0 :
			err_add("it is of version %llu, this weft reads %d",
				(unsigned long long)f->value, PROF_VERSION);
	default:
		r->has_end = 1;
		r->end = f->value;
		return 0;
	}
}

static int read_all(struct reader *r, struct prof_in *in)
{
	struct prof_in_field f;
	int status;

	while ((status = prof_in_next(in, wanted, &f)) > 0)
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

int prof_is(const char *path)
{
	unsigned char magic[2] = { 0, 0 };
	struct stat about;
	size_t size;
	FILE *file;

	if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
		return 0;
	file = fopen(path, "rbe");
	if (!file)
		return 0;
	size = fread(magic, 1, sizeof(magic), file);
	fclose(file);
	return size == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

struct session *prof_read(const char *path)
{
	struct prof_in *const in = prof_in_new(path);
	struct reader r = { .take = NULL };
	struct session *s;
	int status = -1;

	r.arena = arena_new();
	r.take = prof_take_new();
	if (in)
		status = read_all(&r, in);
	s = prof_take_end(r.take, status);
	prof_in_free(in);
	arena_free(r.arena);
	mem_free(r.shown.text);
	mem_free(r.exact.text);
	if (!s)
		err_add("cannot read profile \"%s\"", path);
	return s;
}
