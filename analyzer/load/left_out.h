/* left_out.h - what a recording left out on purpose, as the notes of its trace
 * say. SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_LOAD_LEFT_OUT_H
#define WEFT_ANALYZER_LOAD_LEFT_OUT_H

#include "analyzer/model/session.h"

#include <stddef.h>

/* Take the functions that the recording was to leave out from the session's
 * tree: their calls that were recorded all the same, before the recorder knew
 * their names or since it never did. Needs the functions' names. */
void left_out_apply(struct session *);

/* A sentence about it for reports; false: nothing was left out. */
bool left_out_describe(const struct session *, char *to, size_t size);

#endif
