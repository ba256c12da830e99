/* diff_match.h - which function of one build is which of another.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* A function that occurs on one side or both; 0 where it does not. */
struct diff_match { func_id id[2]; };

/* Every function of both sides is in one match. Match 0 is a thread's root. */
struct diff_matches {
	struct diff_match *list;
	size_t count;
	uint32_t *of[2];         /* by side and function: its match; function 0,
	                          * that of roots, has match 0 */
};

/* Two functions match if build-id and offset are the same (Lua: source and
 * lines). Functions of modules that are another build on the other side match
 * by name and base name of the source file (Lua: source and the name that they
 * are called by); native ones that are left then, by name. Of several with one
 * name, the first ones of both sides match, then the second ones, and so on.
 * Then, where each side has only one left: those whose names differ only in the
 * arguments of templates, and of a Lua source, those in the same place under
 * another name, and those without a name.
 * Last come functions of Lua files that the other side does not have: by name
 * and as much of the files' paths as is the same, down to the name alone, but
 * only where both sides have as many of that name, in one file each.
 * The sessions must have their names. Ends with diff_match_fini, which frees
 * the arrays. */
void diff_match_init(struct diff_matches *, struct session *const side[2]);
void diff_match_fini(struct diff_matches *);
