/* lumped.h - rows that may stand for more than one function.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/model/session.h"

/* How many Lua functions of the session may each stand for several: sources
 * share their name, others of which are told apart by what they do, and these
 * are not. *first: one of them, or NULL. Needs the functions' names. */
size_t lumped_count(const struct session *, const struct func **first);
