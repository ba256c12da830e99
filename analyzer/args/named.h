/* named.h - functions that the user names, and what is said if there are none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/guess.h"
#include "analyzer/model/session.h"

/* filter_match_funcs, but NULL with the cause in the chain if no function
 * matches. */
uint8_t *named_functions(struct session *, const char *pattern);

/* guess_text: which of the functions that are set in is_there, by func_id
 * (NULL: all), was meant. Returns to, of GUESS_TEXT bytes. */
const char *named_guess(struct session *, const char *name,
			const bool *is_there, const char *otherwise, char *to);

/* Say that no function that ran has the name, with that guess. where: " in ..."
 * or "". Always -1. */
int named_none(struct session *, const char *name, const bool *is_there,
	       const char *where);
