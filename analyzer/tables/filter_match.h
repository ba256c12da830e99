/* filter_match.h - which functions and threads a pattern means. Pure.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_TABLES_FILTER_MATCH_H
#define WEFT_ANALYZER_TABLES_FILTER_MATCH_H

#include "analyzer/model/session.h"

/* "a|b": either. "*" stands for any text, "?" for any character. The text is
 * compared whole. */
int select_match_text(const char *text, const char *pattern);

/* A part of a pattern is compared with the function's name, whole or up to its
 * parameters or its " <file:line>"; with "module=", "file=" or "language=" in
 * front with those; modules and files by their path or its last part. */
int select_match_func(struct session *, func_id, const char *pattern);
/* By func; NULL without a pattern. The caller's to free. */
uint8_t *select_match_all(struct session *, const char *pattern);

/* By tid, or by name. */
int select_match_thread(const struct session *, uint32_t thread,
			const char *pattern);
/* For each thread whether it is; NULL if none is. The caller's to free. */
uint8_t *select_match_threads(const struct session *, const char *pattern);

#endif
