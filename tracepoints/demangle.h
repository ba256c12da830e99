/* demangle.h - what mangled symbols of C++, D and Rust stand for, as the
 * recorder and the analyzer have it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <string.h>

/* Bytes of a symbol. What libiberty takes of the stack may grow with the
 * square: 4 MB for the longest. */
enum { DEMANGLE_SHORT = 1024, DEMANGLE_LONGEST = 4096 };

static inline bool demangle_may(const char *symbol)
{
	return symbol[0] == '_' && symbol[1] && strchr("ZDR", symbol[1]);
}

/* gcc makes three functions of a coroutine of C++20. What makes its frame has
 * its name, and the others get the frame: "f(f(int)::_Z1fi.Frame*) [clone
 * .actor]" resumes f(int), and is called "f(int) [resumed]". In place. */
static inline void demangle_coroutine(char *name)
{
	static const char *const ends[] = {
		".Frame*) [clone .actor]", " [resumed]",
		".Frame*) [clone .destroy]", " [destroyed]",
	};
	const size_t length = strlen(name);
	const size_t head = strcspn(name, "(");
	char *const inner = name + head + 1, *end = NULL;

	for (size_t i = 0; i < 4; i += 2) {
		const size_t n = strlen(ends[i]);

		if (length <= 2 * head + n || strncmp(name, inner, head) ||
		    strcmp(name + length - n, ends[i]))
			continue;
		for (char *at = inner; (at = strstr(at, "::_Z")); at++)
			end = at;
		if (!end)
			return;
		memmove(name, inner, (size_t)(end - inner));
		strcpy(name + (end - inner), ends[i + 1]);
		return;
	}
}

/* The name, freed with free; NULL: it is not mangled, or longer than so many
 * bytes. A hostile symbol may stand for a name without end. */
static inline char *demangle(const char *symbol, size_t longest)
{
	const int options = DMGL_PARAMS | DMGL_AUTO | DMGL_NO_RECURSE_LIMIT;
	char *name;

	if (!demangle_may(symbol) || strnlen(symbol, longest + 1) > longest)
		return NULL;
	name = symbol[1] == 'D' ? dlang_demangle(symbol, options) :
				  cplus_demangle(symbol, options);
	if (name)
		demangle_coroutine(name);
	return name;
}
