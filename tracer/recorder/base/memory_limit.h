/* memory_limit.h - how much memory the control groups of this process allow: of
 * a container, of a service.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

/* The smallest limit of the groups, in bytes; UINT64_MAX: there is none, or it
 * cannot be found out. groups: /proc/self/cgroup; folder: /sys/fs/cgroup. Both
 * versions of control groups are understood. */
uint64_t memory_limit(const char *groups, const char *folder);
