/* process_watch.h - what /proc says of recorded processes, and what becomes of
 * a process whose recorded image is gone: it may have ended, or go on as a
 * program that is not recorded.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"

#include <sys/types.h>

/* Whether it exists and is no zombie. False for a process that is older than
 * this one, unless it is the one that is attached: no other recorded process
 * is, so that the number, which came from another PID namespace, means a
 * stranger here. */
bool process_exists(pid_t pid);
/* That process is recorded, though it is older than this one. */
void process_attached(pid_t pid);
/* The letter of its state, as in ps; '?' if it cannot be found. */
char process_state(pid_t pid);
/* How it has ended, as of waitpid, while its parent does not know it yet.
 * Negative: it lives, or is gone. */
int process_zombie_status(pid_t pid);
/* By a signal, or by a debugger. */
bool process_is_stopped(pid_t pid);
/* When it started, in a unit of the kernel's. 0 if it cannot be found. */
uint64_t process_start(pid_t pid);
/* Whether the process of that number and start has ended. False if that cannot
 * be known. */
bool process_has_ended(pid_t pid, uint64_t start);
/* Stands for the namespaces in which such numbers and starts mean the same. */
uint32_t process_namespaces(void);
/* Whether the short name of the process begins so. */
bool process_is_named(pid_t pid, const char *name);
/* How many processes, apart from this one, map the pool. Looks at all of /proc,
 * which takes milliseconds. Those that it may not look at do not count. */
uint32_t process_count_mapping(const struct pool_owner *owner);

/* All slots, and how many processes the user was told of. */
struct process_watch {
	const struct pool_owner *owner;
	uint64_t *since;           /* by process slot: ms when its process was
	                            * first seen without the pool; 0: not seen
	                            * so */
	uint32_t reported;
};

/* Returns negative if there is no memory. */
int process_watch_init(struct process_watch *w, const struct pool_owner *owner);
/* Whether the process of slot i exists and maps the pool, or we may not look.
 * False, too, if its number is of another PID namespace. */
bool process_watch_lives(const struct process_watch *w, uint32_t i);
/* Whether the image in slot i is gone for good: its process has ended, has
 * registered another image, or has not mapped the pool for half a second. Then
 * it runs a program that is not recorded, which the user is told. now_ms: of
 * any clock that does not go back. */
bool process_watch_ended(struct process_watch *w, uint32_t i, uint64_t now_ms);
/* The slot becomes another process'. */
void process_watch_forget(struct process_watch *w, uint32_t i);
