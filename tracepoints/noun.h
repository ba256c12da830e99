/* noun.h - nouns that a count stands before.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Write nouns, a plural, to a buffer of room bytes, as a singular if the count
 * is 1: "processes", "process". Returns the buffer. */
static inline char *noun_print(char *to, size_t room, uint64_t count,
			       const char *nouns)
{
	/* Plurals, and what the noun ends with instead. The first that fits is
	 * taken, so that "s" is the last: "matches" is not "matche". */
	static const struct { const char *many, *one; } endings[] = {
		{ "sses", "ss" }, { "ches", "ch" }, { "ies", "y" }, { "s", "" }
	};
	size_t length = strlen(nouns);
	const char *ending = "";

	for (size_t i = 0; count == 1 && i < 4; i++) {
		const size_t n = strlen(endings[i].many);

		if (length < n || strcmp(nouns + length - n, endings[i].many))
			continue;
		length -= n;
		ending = endings[i].one;
		break;
	}
	snprintf(to, room, "%.*s%s", (int)length, nouns, ending);
	return to;
}
