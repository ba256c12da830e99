/* process_end.h - how recorded processes end that the recorder did not start:
 * of the one that it did, it is told (program.h).
 * SPDX-License-Identifier: MIT */
#pragma once

#include "tracer/recorder/base/pool_owner.h"

#include <sys/types.h>

/* All that are watched: an array of the process slots, and one for the process
 * that is attached to. */
struct process_ends {
	const struct pool_owner *owner; /* NULL: none is watched */
	int all;                        /* epoll: readable if one ended */
	struct process_end {
		int fd;                 /* pidfd; negative: none */
		pid_t pid;
		uint32_t serial;        /* of the slot when it was looked at */
	} *slot;
};

/* status: as of waitpid; negative: it could not be found out. */
typedef void process_end_fn(void *ctx, pid_t pid, int status);

/* The caller begins with all = -1. Negative: there is no memory, or no
 * descriptor. */
int process_ends_init(struct process_ends *e, const struct pool_owner *owner);
/* Tell of those that have ended, once of each, and watch those that are new.
 * not: the recorder's own child; attached: 0 for none. What began and ended
 * since the last call is not seen. Does nothing without process_ends_init. */
void process_ends_poll(struct process_ends *e, pid_t not, pid_t attached,
		       process_end_fn *fn, void *ctx);
