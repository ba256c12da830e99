/* pattern_list.h - patterns as the command lines of the recorder and of the
 * analyzer take them: text, or the lines of a file.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Append an alternative. */
static inline bool pattern_list_append(char **to, const char *text, size_t size,
				       size_t most)
{
	const size_t used = !*to ? 0 : strlen(*to);
	char *grown;

	if (size == 0)
		return true;
	if (used + size + 2 > most)
		return false;
	grown = realloc(*to, used + size + 2);
	if (!grown)
		return false;
	sprintf(grown + used, "%s%.*s", used > 0 ? "|" : "", (int)size, text);
	*to = grown;
	return true;
}

static inline const char *pattern_list_line(char **to, const char *line,
					    size_t most)
{
	while (*line) {
		const size_t size = strcspn(line, "|\r\n");

		if (!pattern_list_append(to, line, size, most))
			return "the patterns are too long";
		line += size + (line[size] != '\0');
	}
	return NULL;
}

static inline const char *pattern_list_file(char **to, const char *path,
					    size_t most)
{
	FILE *const file = fopen(path, "re");
	const char *why = NULL;
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return strerror(errno);
	while (!why && getline(&line, &room, file) >= 0)
		if (line[0] != '#')
			why = pattern_list_line(to, line, most);
	if (!why && ferror(file))
		why = "the file cannot be read";
	free(line);
	fclose(file);
	return why;
}

/* Add a pattern to those at *to, which are the caller's to free: "@FILE" stands
 * for the patterns in that file, one a line. Empty lines and those that begin
 * with "#" do not count. All together have at most so many bytes. NULL, or why
 * it cannot be taken. */
static inline const char *pattern_list_add(char **to, const char *pattern,
					   size_t most)
{
	const char *const before = *to;
	const size_t size = !before ? 0 : strlen(before);
	const char *const why = pattern[0] == '@' ?
		pattern_list_file(to, pattern + 1, most) :
		pattern_list_line(to, pattern, most);

	if (!why && (!*to || strlen(*to) == size))
		return "there is no pattern in it";
	return why;
}
