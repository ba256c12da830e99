/* resumes.h - who resumed whom: a row for each coroutine and each of its
 * resumers. Collects during a replay.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/replay/replay.h"

/* How one coroutine, or a thread outside of coroutines, resumed another. */
struct resumes_row {
	uint32_t process;        /* index */
	uint64_t coroutine, by;  /* serials; by 0: a thread */
	uint64_t resumes;
	uint64_t inferred;       /* of them, only seen at the next event */
	ticks first, last;       /* when */
	ticks slept, longest;    /* before these resumes: the sum, and the
	                          * longest */
};

struct resumes;
struct resumes *resumes_new(void);
void resumes_free(struct resumes *);     /* NULL is allowed */

/* To be called for each resume of a replay. */
void resumes_add(struct resumes *, const struct replay_event *);

/* By process, coroutine and by; borrowed. To be called once, after the last
 * resume. */
const struct resumes_row *resumes_rows(struct resumes *, size_t *count);
