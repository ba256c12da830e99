/* named.h - functions that the user names, and what is said if there are none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/guess.h"
#include "analyzer/model/session.h"

/* filter_match_funcs, or else all functions whose names have that last part, as
 * in "space::part(int)" and "table.part"; NULL with the cause in the chain if
 * there are none. */
uint8_t *named_functions(struct session *, const char *pattern);

/* guess_text: which of the functions that are set in is_there, by func_id
 * (NULL: all), was meant. Returns to, of GUESS_TEXT bytes. */
const char *named_guess(struct session *, const char *name,
			const bool *is_there, const char *otherwise, char *to);

/* Say that no function that ran has the name, with that guess. where: " in ..."
 * or "". Always -1. */
int named_none(struct session *, const char *name, const bool *is_there,
	       const char *where);

/* Are all of these functions (by id, as above) Lua's that were sampled, so that
 * no record tells of their calls? */
bool named_are_noted(struct session *, const uint8_t *wanted);
