/* profile_session.h - a session made of a profile's rows, each of which is
 * checked: a profile is untrusted.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"
#include "analyzer/profile/profile_tables.h"

/* A session that is being made. */
struct profile_session;
/* An empty one; profile_session_end frees it. */
struct profile_session *profile_session_new(void);

/* Add a row; kinds come in rising order. Rows are structs of profile_tables; no
 * text in them is NULL. Strings need to live during the call only. 0, or -1
 * with the cause in the chain; after that, only profile_session_end may
 * follow. */
int profile_session_add(struct profile_session *, enum profile_kind,
			const void *row);

/* The session, which is the caller's; frees the rest. status is that of reading
 * the rows. NULL if it is not 0 or if the head is missing, with the cause in
 * the chain. */
struct session *profile_session_end(struct profile_session *, int status);
