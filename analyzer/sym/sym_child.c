/* sym_child.c - answers as messages of a child. Knows nothing of what they
 * mean.
 * SPDX-License-Identifier: MIT */
#include "analyzer/sym/sym_child.h"

#include <string.h>

static uint32_t cut(const char *text)
{
	return (uint32_t)strnlen(text, SYM_NAME_BYTES);
}

void sym_child_send(FILE *to, struct sym_answer answer, const char *name,
		    const char *file)
{
	char text[2 * SYM_NAME_BYTES];

	answer.name_size = cut(name);
	answer.file_size = cut(file);
	memcpy(text, name, answer.name_size);
	memcpy(text + answer.name_size, file, answer.file_size);
	child_send(to, &answer, sizeof(answer), text,
		   answer.name_size + answer.file_size);
}

static int take(void *ctx, const char *message, size_t size)
{
	const struct sym_job *const job = ctx;
	struct sym_answer answer;

	if (size < sizeof(answer))
		return -1;
	memcpy(&answer, message, sizeof(answer));
	if (answer.name_size > SYM_NAME_BYTES ||
	    answer.file_size > SYM_NAME_BYTES ||
	    size != sizeof(answer) + answer.name_size + answer.file_size)
		return -1;
	return job->take(job->take_ctx, &answer, message + sizeof(answer));
}

int sym_child_run(const struct sym_job *job, char *why)
{
	struct sym_job copy = *job;
	const struct child_job child = {
		"naming", job->work, job->work_ctx, take, &copy,
		sizeof(struct sym_answer) + 2 * SYM_NAME_BYTES, job->bytes,
		UINT64_C(4) << 30, job->seconds };

	return child_run(&child, why);
}
