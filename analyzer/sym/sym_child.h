/* sym_child.h - the process that reads ELF files for its parent: bounded in
 * time, memory and in what it may send, as a file may be made to do harm.
 * SPDX-License-Identifier: MIT */
#ifndef WEFT_ANALYZER_SYM_SYM_CHILD_H
#define WEFT_ANALYZER_SYM_SYM_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the child writes into the pipe: this, then the bytes of two strings,
 * each at most SYM_NAME_BYTES. What the fields mean is between the two who use
 * it; id 0 is about the module itself. */
struct sym_answer {
	uint32_t id, line, name_size, file_size;
	uint64_t offset, size;
	uint32_t flags, count;
};

enum { SYM_NAME_BYTES = 4096, SYM_WHY = 256 };

/* Done in the child: send answers into the pipe. */
typedef void (*sym_work_fn)(const void *ctx, FILE *to);
/* Done in the parent with each answer: text is the two strings, one behind the
 * other, without NULs. Non-zero: enough, end it. */
typedef int (*sym_take_fn)(void *ctx, const struct sym_answer *,
			   const char *text);

struct sym_job {
	sym_work_fn work;
	const void *work_ctx;
	sym_take_fn take;
	void *take_ctx;
	unsigned seconds;        /* at most */
	uint64_t bytes;          /* at most that much is taken */
};

/* Run the job. 0: all that the child had to say was taken. -1: it was not;
 * what came is good all the same, and why (SYM_WHY bytes) says why it ended. */
int sym_child_run(const struct sym_job *, char *why);

/* In the child: send one. Both strings are cut to what fits. */
void sym_child_send(FILE *to, struct sym_answer, const char *name,
		    const char *file);

#endif
