/* child.h - a process that reads files for its parent, because a library may
 * crash, hang, or fill the memory where a file is damaged; and the pipe through
 * which it sends what it reads. Knows nothing of what that is.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CHILD_WHY = 256 };    /* bytes of a reason, with its NUL */

/* Borrowed during child_run. */
struct child_job {
	const char *what;        /* what the child does, in reasons */
	/* Runs in the child, which ends when it returns. What it changes in
	 * memory is lost. It sends messages with child_send; those in the
	 * file's buffer are lost if it crashes. */
	void (*work)(const void *ctx, FILE *to);
	const void *work_ctx;
	/* Runs in the parent with each message, whose bytes are valid during
	 * the call. A return other than 0 ends the child. */
	int (*take)(void *ctx, const char *message, size_t size);
	void *take_ctx;
	size_t most;             /* bytes of a message */
	uint64_t bytes;          /* it may send so much in all; 0: any */
	uint64_t memory;         /* it may have so much more than it has now */
	unsigned seconds;        /* that it may take; 0: as long as messages
	                          * come */
};

/* CLOCK_MONOTONIC in ms. */
int64_t child_now(void);

/* Run the job, and wait for its end. 0: all messages of the child were taken.
 * -1: they were not, and why (CHILD_WHY bytes) says why; those that came are
 * good all the same. The child never outlives the call. */
int child_run(const struct child_job *, char *why);

/* The path of weft's recorder, which is installed beside this program. 0; or -1
 * without a cause: there is none that can be run. */
int child_find_recorder(char path[PATH_MAX]);

/* In the child: send a message of two parts, either of which may be empty, not
 * NULL. */
void child_send(FILE *to, const void *head, size_t head_size, const void *rest,
		size_t rest_size);
