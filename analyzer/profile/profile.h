/* profile.h - profiles: a session without its single coroutines and moments, in
 * a compact file that pprof opens, too.
 *
 * This folder writes and reads that file. It may use analyzer/base, model,
 * merge and out; it knows nothing of traces, tables or commands.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"
#include "analyzer/model/stack_table.h"

#include <stdio.h>

/* What other tools show beside the figures. weft does not read it back. */
struct profile_about {
	const char *const *comments; /* losses, notes; untrusted */
	size_t comment_count;
	uint64_t duration;           /* ns, of the recording */
};

/* Write a session whose functions have been named. The same session gives the
 * same bytes. They go to the file's descriptor, so nothing may wait in its
 * buffer; the file stays open and is the caller's. 0, or -1 with the cause in
 * the chain. */
int profile_write(FILE *, struct session *, const struct profile_about *);

/* Stacks with figures of other kinds, each beside its unit. */
enum { PROFILE_FIGURES = 4 };
struct profile_stack { stack_id stack; int64_t figure[PROFILE_FIGURES]; };
struct profile_stacks {
	const struct stack_table *table;
	const struct profile_stack *stacks;
	size_t count;
	const char *kinds[PROFILE_FIGURES][2];
	const char *usual;           /* the kind that is shown first */
};

/* Write them for other tools. weft does not read them back. Likewise. */
int profile_write_stacks(FILE *, struct session *,
			 const struct profile_stacks *);

/* Does the file begin like a profile? Looks at the two bytes that begin any
 * gzip file; profile_read says whether weft wrote it. False, without a cause,
 * if it cannot be read or is no regular file: reading from a pipe would take
 * its bytes away. */
bool profile_is(const char *path);

/* Read a profile: the session as it was written, names included, but without
 * its coroutines, which session.beyond counts. The caller frees the session
 * with session_free. NULL, with the cause in the chain, if the file is damaged,
 * needs too much memory, or was not written by weft. The file is untrusted and
 * may hold anything. */
struct session *profile_read(const char *path);
