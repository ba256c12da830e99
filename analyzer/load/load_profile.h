/* load_profile.h - a profile from a load.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/load/load.h"

/* Write the session as a profile; file "-" is standard output. 0, or -1 with
 * the cause in the chain.
 *
 * If the load was opened with want.vm, the profile tells Lua states apart. The
 * session gets the notes of load_complete and a tree without single coroutines
 * by this: write it last, and once. */
int load_profile_write(struct load *, const char *file);
