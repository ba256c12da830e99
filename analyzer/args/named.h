/* named.h - functions that the user names, and what is said if there are none.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/guess.h"
#include "analyzer/model/session.h"

/* The operands FUNCTION [DIR] of a command: 0, or -1 with the cause in the
 * chain if the function is missing: nothing is given, or only something that is
 * there as a file. also: what can stand for the function, or "". */
int named_operands(int count, char **operands, const char *also);

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
