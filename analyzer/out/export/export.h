/* export.h - what the writer of any format gets.
 *
 * analyzer/out/export: a session in the format of another tool, a file for each
 * format. The folder may use base, model, watch, tables and out.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_OUT_EXPORT_EXPORT_H
#define WEFT_ANALYZER_OUT_EXPORT_EXPORT_H

#include "analyzer/model/session.h"

#include <stddef.h>
#include <stdio.h>

struct chronicle_found;
struct slow_found;
struct resumes_row;

/* All borrowed. The sentences are untrusted and have no full stop. */
struct export_from {
	struct session *session;
	const struct chronicle_found *chronicle; /* formats in the order of
	                          * time; else NULL */
	const struct slow_found *slow; /* formats of tables; NULL: not known */
	const struct resumes_row *resumes; /* the same */
	size_t resume_count;
	const char **lost;       /* what was lost; lost_count 0: nothing */
	const char **notes;      /* what else a reader of figures should know */
	size_t lost_count, note_count;
};

/* A writer of a text format. Returns 0, or -1 with the cause in the chain; the
 * caller checks the file for errors. */
typedef int (*export_fn)(FILE *, const struct export_from *);

#endif
