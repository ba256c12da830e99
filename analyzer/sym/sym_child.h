/* sym_child.h - the process that reads ELF files for its parent: bounded in
 * time, memory and in what it may send, as a file may be made to do harm.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the child writes into the pipe: this, then the bytes of two strings,
 * each at most SYM_NAME_BYTES. sym_child_send sets name_size and file_size
 * (bytes, without a NUL). The user of the job gives the other fields their
 * meaning, and checks them: the child is not trusted. */
struct sym_answer {
	uint32_t id, line, name_size, file_size;
	uint64_t offset, size;
	uint32_t flags, count;
};

/* Bytes: of a string in an answer; of a reason, with its NUL. */
enum { SYM_NAME_BYTES = 4096, SYM_WHY = 256 };

/* Runs in the child: sends answers into the pipe with sym_child_send. The child
 * ends when it returns. What it changes in memory is lost. */
typedef void (*sym_work_fn)(const void *ctx, FILE *to);
/* Runs in the parent with each answer, whose sizes have been checked. text is
 * the two strings, one behind the other, without NULs at their ends, valid
 * during the call. A return other than 0 ends the child. */
typedef int (*sym_take_fn)(void *ctx, const struct sym_answer *,
			   const char *text);

/* Borrowed during sym_child_run. */
struct sym_job {
	sym_work_fn work;
	const void *work_ctx;
	sym_take_fn take;
	void *take_ctx;
	unsigned seconds;        /* the child may take at most this long, */
	uint64_t bytes;          /* and send at most this much */
};

/* CLOCK_MONOTONIC in ms. */
int64_t sym_child_now(void);

/* Run the job, and wait for its end. 0: all answers of the child were taken.
 * -1: they were not, and why (SYM_WHY bytes) says why; the answers that came
 * are good all the same. The child never outlives the call. */
int sym_child_run(const struct sym_job *, char *why);

/* In the child: send an answer. Both strings are cut to SYM_NAME_BYTES. */
void sym_child_send(FILE *to, struct sym_answer, const char *name,
		    const char *file);
