/* prof_kind.h - the tables of a profile: which field of which struct stands in
 * which column. Writing and reading both go by these rows alone.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_KIND_H
#define WEFT_ANALYZER_PROFILE_PROF_KIND_H

#include <stddef.h>
#include <stdint.h>

enum { PROF_VERSION = 1 };

/* Numbers stand in files: new ones at the end, none is ever used again. The
 * order in a file is this one, too. */
enum prof_kind {
	PROF_HEAD = 1,   /* struct session, one row */
	PROF_MODULE,     /* struct elf_module, from id 1 on */
	PROF_FUNC,       /* struct func, from id 1 on */
	PROF_PROCESS, PROF_THREAD, PROF_VM, PROF_NOTE, PROF_GAP,
	PROF_NODE,       /* struct cct_node, from id 1 on; parent is how much
	                  * smaller its id is, 0 for a root */
	PROF_PART, PROF_STATISTICS, PROF_EDGE, PROF_NAMING,
	PROF_COLLECTED,  /* struct prof_collected, one row, or none */
	PROF_LENGTH, PROF_CPU, PROF_LABEL,
	PROF_KINDS
};

/* Which of the two that follow there are. */
struct prof_collected { uint64_t hist, cpu; };

/* Calls of a node whose length is of a step. back: how much its id is larger
 * than that of the row before. */
struct prof_length { uint64_t back, step, calls; };

/* cct_cpu of a node that has any. */
struct prof_cpu { uint64_t back, off, unknown; };

enum prof_type {
	PROF_NUMBER,     /* 1, 2, 4 or 8 bytes, unsigned */
	PROF_TEXT,       /* const char *, never NULL */
	PROF_CHARS,      /* an array of chars with its NUL */
};

struct prof_field {
	uint16_t offset, size;
	enum prof_type type;
	uint16_t count;  /* so many of them, one after the other */
};

struct prof_table {
	size_t row_size;
	const struct prof_field *fields;
	size_t field_count;
};

/* In a file fields keep their place: new ones go to the end of a kind. */
extern const struct prof_table prof_tables[PROF_KINDS];

/* Columns of the kind. */
size_t prof_kind_columns(enum prof_kind);

/* The number in field i of such fields of a row; of a PROF_NUMBER. */
uint64_t prof_kind_get(const struct prof_field *, const void *row, size_t i);
/* 0, or -1 if it does not fit there. */
int prof_kind_set(const struct prof_field *, void *row, size_t i,
		  uint64_t value);

#endif
