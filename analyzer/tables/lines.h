/* lines.h - the source lines of a function with the samples of each. Pure.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/text.h"
#include "analyzer/tables/metric.h"

/* So many samples of a function's calls lie at a place (an index in the
 * session). is_own: by the reference, in the function's own code. is_noted:
 * Lua noted that it was there, and place is an index in the session's lines. */
struct lines_place {
	func_id func;
	uint32_t place;
	bool is_own, is_noted;
	double samples;
};

/* The places of all samples of the wanted functions (1 or 0 by func_id), sorted
 * by function. The caller frees the array with mem_free. *count: how many;
 * *all: samples of all functions, wanted or not, but for what Lua noted.
 * Functions that Lua noted have its notes instead of samples.
 *
 * Where times are of a reference, the functions' own code is that of its
 * samples; other code, which it does not give to callers, is that of the
 * recording's, each of which counts as much as it stands for there. */
struct lines_place *lines_places(const struct session *, const uint8_t *wanted,
				 size_t *count, uint64_t *all);

/* The CPU time that one of these samples stands for, ns. */
double lines_period(const struct session *);

/* What a row is. */
enum lines_kind {
	LINES_OWN,       /* a line of the function, with all that is inlined
	                  * there */
	LINES_INLINED,   /* of these: a line of what is inlined there, or of a
	                  * file that the function includes */
	LINES_BELOW,     /* code of functions that are not recorded, which it
	                  * called; also that of Lua's interpreter */
	LINES_PROBE,     /* the recording's own code, called by it */
};

/* Strings are borrowed, untrusted, and never NULL. */
struct lines_row {
	enum lines_kind kind;
	uint32_t own_line;       /* LINES_OWN, LINES_INLINED: of the function;
	                          * 0: not known */
	const char *name;        /* of the function whose code it is; "": not
	                          * known, or the function itself */
	const char *module;      /* path; "" for the function's own code */
	const char *file;        /* of the code */
	uint32_t line;           /* there; 0: not known */
	uint64_t samples;
	const char *text;        /* the source line, or NULL */
};

/* Invariant: rows are sorted by kind (inlined ones follow the line that they
 * are on), then by line; those of LINES_BELOW and LINES_PROBE by samples, which
 * fall. The samples of LINES_OWN include those of LINES_INLINED. */
struct lines {
	const char *of, *file;   /* the function's name and file; borrowed */
	struct lines_row *rows;
	size_t count, room;
	uint64_t own, below, probe; /* samples */
};

/* It starts as { .of = ..., .file = ... }. Add samples at one instruction:
 * own_line of LINES_INLINED is the line on which the inlined call is. */
void lines_add(struct lines *, const struct lines_row *);
/* Sort the rows and join those that are equal; add a LINES_OWN row for lines
 * that have only inlined ones. Take texts from the function's source; the rows
 * then borrow them. */
void lines_finish(struct lines *, const struct text_file *source);
void lines_fini(struct lines *);

/* The columns of the rows; source.table is the struct lines. Shares are of all
 * samples but those of LINES_PROBE. */
extern const struct metric_view lines_view;
