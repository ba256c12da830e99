/* recover.h - a trace of what is left of a recording.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* Make the folder `to`, which must not exist, with a spill file of all whole
 * chunks of one recording that are found: in folders, of any damage, with the
 * pools that they name; in other files, which may be stream or spill files, or
 * pools. What was found, and what was not, goes into it as the
 * notes of an end that the recording had not. 0, or -1 with the cause; then
 * there is no folder. To be called once. */
int recover_make(const char *to, int count, char **from);
