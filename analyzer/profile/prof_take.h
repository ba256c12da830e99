/* prof_take.h - a session made of a profile's rows, each checked.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_PROFILE_PROF_TAKE_H
#define WEFT_ANALYZER_PROFILE_PROF_TAKE_H

#include "analyzer/model/session.h"
#include "analyzer/profile/prof_kind.h"

struct prof_take;
struct prof_take *prof_take_new(void);

/* Rows of one kind; kinds come in rising order. Strings need to live during the
 * call only. 0, or -1 with the cause in the chain. */
int prof_take_rows(struct prof_take *, enum prof_kind, const void *rows,
		   size_t count);

/* The session, now the caller's; frees the rest. NULL if status is not 0 or
 * something is missing, with the cause in the chain. */
struct session *prof_take_end(struct prof_take *, int status);

#endif
