/* follow.h - what /proc tells of processes that may still be recorded.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_RECORDER_FOLLOW_H
#define WEFT_RECORDER_FOLLOW_H

#include "tracer/recorder/pool_owner.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Does it exist, and is no zombie? False for one that is older than we are: a
 * number from another PID namespace names a stranger here. */
bool follow_exists(pid_t pid);
/* Does it map the pool? False, too, where we may not look. */
bool follow_maps(pid_t pid, const struct arena *arena);
/* How many processes but ourselves map the pool. Looks at all of /proc. */
uint32_t follow_count(const struct arena *arena);
/* The program it runs: its path, or its short name where we may not look. */
bool follow_program(pid_t pid, char *out, size_t room);

#endif
