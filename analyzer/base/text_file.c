/* text_file.c - reads a file of text.
 * SPDX-License-Identifier: MIT */
#include "analyzer/base/text_file.h"

#include "analyzer/base/vec.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 64 << 20, TAB = 8 };

/* O_NONBLOCK is there because a pipe is opened before it is known to be one,
 * and that would wait. */
static FILE *open_plain(const char *path, struct stat *status)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return NULL;
	if (fstat(fd, status) == 0 && S_ISREG(status->st_mode) &&
	    status->st_size <= LARGEST)
		return fdopen(fd, "r");
	close(fd);
	return NULL;
}

/* A copy without its line end, and with spaces for tabs; a NUL ends it. */
static char *copy(const char *line, size_t length)
{
	char *const to = mem_alloc(length * TAB + 1);
	size_t n = 0;

	for (size_t i = 0; i < length && line[i] != '\0'; i++) {
		if (line[i] == '\n' || (line[i] == '\r' &&
					i + 2 >= length))
			break;
		if (line[i] != '\t')
			to[n++] = line[i];
		else
			do
				to[n++] = ' ';
			while (n % TAB != 0);
	}
	return mem_grow(to, n + 1, 1);
}

int text_file_read(struct text_file *t, const char *path)
{
	struct stat status;
	FILE *const file = open_plain(path, &status);
	char *line = NULL;
	size_t room = 0, lines = 0;
	ssize_t length;

	*t = (struct text_file){ .lines = NULL };
	if (!file)
		return -1;
	t->changed = status.st_mtime;
	while ((length = getline(&line, &room, file)) >= 0)
		*vec_add(&t->lines, &lines, &t->count) = copy(line,
							(size_t)length);
	free(line);
	fclose(file);
	return 0;
}

void text_file_fini(struct text_file *t)
{
	for (size_t i = 0; i < t->count; i++)
		mem_free(t->lines[i]);
	mem_free(t->lines);
}
