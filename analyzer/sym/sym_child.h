/* sym_child.h - what the process that reads ELF files sends to its parent.
 * SPDX-License-Identifier: MIT */
#pragma once

#include "analyzer/base/child.h"

/* What the child sends: this, then the bytes of two strings,
 * each at most SYM_NAME_BYTES. sym_child_send sets name_size and file_size
 * (bytes, without a NUL). The user of the job gives the other fields their
 * meaning, and checks them: the child is not trusted. */
struct sym_answer {
	uint32_t id, line, name_size, file_size;
	uint64_t offset, size;
	uint32_t flags, count;
};

/* Bytes: of a string in an answer; of a reason, with its NUL. */
enum { SYM_NAME_BYTES = 4096, SYM_WHY = CHILD_WHY };

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

/* As child_run. */
int sym_child_run(const struct sym_job *, char *why);

/* In the child: send an answer. Both strings are cut to SYM_NAME_BYTES. */
void sym_child_send(FILE *to, struct sym_answer, const char *name,
		    const char *file);
