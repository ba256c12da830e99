/* left_out.h - what a recording left out, or only counted, on purpose, as the
 * notes of its trace say. SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* Take the functions that the recording was to leave out from the session's
 * tree: their calls that were recorded all the same, before the recorder knew
 * their names or since it never did. Only count those of functions that it was
 * to count. Needs the functions' names. */
void left_out_apply(struct session *);

/* By func_id: 1 if it was to be left out, or 0. Freed by the caller with
 * mem_free. NULL: nothing was. */
uint8_t *left_out_funcs(struct session *);

/* The sentences about it for reports, from 0 on; false: this one is not to be
 * said. */
enum { LEFT_OUT_SENTENCES = 4 };
bool left_out_describe(const struct session *, int i, char *to, size_t size);
