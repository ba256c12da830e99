/* first_line.h - small files of the kernel and of daemons.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Read the first line of a file, without its end; the path is as of printf.
 * False: the file cannot be read or begins with an empty line; line is "". */
__attribute__((format(printf, 3, 4)))
bool first_line(char *line, size_t room, const char *format, ...);
