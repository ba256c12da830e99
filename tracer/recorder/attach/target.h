/* target.h - the process that the user wants to record: found by its number or
 * name, and looked at before anything is made. SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/attach/remote.h"

struct target {
	struct remote remote;
	char name[32];             /* the kernel's short name */
	char exe[PATH_MAX];        /* the program's file */
	uid_t uid;
	gid_t gid;
};

/* Find the process and open its memory. text: its number, or the name of its
 * program, which only one process may run. Prints why and returns negative if
 * there is none, or if it cannot or should not be recorded. */
int target_find(struct target *t, const char *text);

/* May this thread be killed for system calls that we may make? */
bool target_is_confined(pid_t tid);
/* Does the processor check where its calls return to? */
bool target_has_shadow_stack(pid_t tid);
