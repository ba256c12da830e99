/* first_line.c - reads a line of a file that fits it.
 * SPDX-License-Identifier: MIT */
#include "tracer/recorder/base/first_line.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool first_line(char *line, size_t room, const char *format, ...)
{
	char path[2 * PATH_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	FILE *const f = fopen(path, "re");

	if (!f || !fgets(line, (int)room, f))
		line[0] = '\0';
	if (f)
		fclose(f);
	line[strcspn(line, "\n")] = '\0';
	return line[0] != '\0';
}
