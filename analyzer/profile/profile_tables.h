/* profile_tables.h - the tables of a profile: which fields of which struct are
 * in it, in which order. Both writing and reading use these tables alone.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The session in a file is the version, then tables: of each its kind, how
 * many fields its rows have, and the rows, with a 1 before each and a 0 behind
 * the last; a kind of 0 ends it. All are numbers and texts as in
 * profile_output.h. Rows that lack fields, because an older weft wrote them,
 * are filled up with 0 and "". The version grows with each new kind and field,
 * and older readers refuse it. */
enum { PROFILE_VERSION = 3 };

/* The kinds of rows, in the order in which they come in a file. The numbers are
 * written into files: a new kind is added at the end, no number is reused. */
enum profile_kind {
	PROFILE_HEAD = 1,   /* struct session, one row */
	PROFILE_MODULE,     /* struct elf_module, from id 1 on */
	PROFILE_FUNC,       /* struct func, from id 1 on */
	PROFILE_PROCESS, PROFILE_THREAD, PROFILE_VM, PROFILE_NOTE, PROFILE_GAP,
	PROFILE_NODE,       /* struct cct_node, from id 1 on; parent is by how
	                     * much its id is smaller, 0 for a root */
	PROFILE_PART, PROFILE_STATISTICS, PROFILE_EDGE, PROFILE_NAMING,
	PROFILE_COLLECTED,  /* struct profile_collected, one row or none */
	PROFILE_LENGTH, PROFILE_CPU, PROFILE_LABEL,
	PROFILE_NET,        /* struct net, one row or none */
	PROFILE_SAMPLED, PROFILE_COUNTED,
	PROFILE_KINDS
};

/* What the tree collects beside calls and times; 0 or 1. The rows of
 * PROFILE_LENGTH and PROFILE_CPU alone could not tell: a tree may collect them
 * and have none. */
struct profile_collected { uint64_t hist, cpu; };

/* How many calls of a node have a length of that step of the histogram
 * (model/hist.h). back: by how much the node's id is larger than that of the
 * row before; 0 for another step of the same node. Small numbers take few bytes
 * in a file. */
struct profile_length { uint64_t back, step, calls; };

/* struct cct_cpu of a node, in ticks, if it is not 0; back is never 0. */
struct profile_cpu { uint64_t back, off, unknown, ready; };

/* struct cct_counted of a node, if it is not 0; back is never 0. */
struct profile_counted { uint64_t back, untimed, brief, noted; };

/* struct cct_sampled of a node, after a row of PROFILE_NET; variance has
 * the bits of a double, so that sums of it are exact. Nodes without a row have
 * no samples, and a raw self that is their self. */
struct profile_sampled {
	uint64_t back, unsampled, own, other, probe, raw, variance;
};

enum profile_type {
	PROFILE_NUMBER,     /* 1, 2, 4 or 8 bytes, unsigned */
	PROFILE_TEXT,       /* const char *, never NULL */
	PROFILE_CHARS,      /* an array of chars with its NUL */
};

/* A field of a struct. In a file it is a text, or so many numbers. */
struct profile_field {
	uint16_t offset, size;   /* size: of each element */
	enum profile_type type;
	uint16_t count;          /* of a PROFILE_NUMBER: elements */
};

/* The fields of one kind of rows. */
struct profile_table {
	size_t row_size;
	const struct profile_field *fields;
	size_t field_count;
};

/* Fields keep their place in files: a new one goes to the end of its table. */
extern const struct profile_table profile_tables[PROFILE_KINDS];

/* Get element i of a field of a row, a PROFILE_NUMBER. i is below the field's
 * count. */
uint64_t profile_get(const struct profile_field *, const void *row, size_t i);
/* Set it. 0, or -1 if the field is too small for the value; nothing is put into
 * the chain of causes. */
int profile_set(const struct profile_field *, void *row, size_t i,
		uint64_t value);
