/* label.h - what labels a process has: its own, and those of its recording.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_MODEL_LABEL_H
#define WEFT_ANALYZER_MODEL_LABEL_H

#include "analyzer/model/session.h"

/* Each key once, by rising key: a process's own label wins over its
 * recording's, a later one over an earlier. The array is the caller's to free;
 * the labels are the session's, whose list is by rising process. */
const struct label **label_list(const struct session *, uint32_t process,
				size_t *count);

/* Below 0, 0, above 0: the labels of two processes, in their order. */
int label_compare(const struct session *, uint32_t process,
		  const struct session *, uint32_t other);

/* A number that is the same where label_compare says 0. */
uint64_t label_hash(const struct session *, uint32_t process);

/* Put one into an array with room for it, behind those of its process. */
void label_insert(struct session *, const struct label *);

#endif
