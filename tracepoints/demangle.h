/* demangle.h - what mangled symbols of C++, D and Rust stand for, as the
 * recorder and the analyzer have it.
 * SPDX-License-Identifier: MIT */
#pragma once

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a symbol. What libiberty takes of the stack may grow with the
 * square: 4 MB for the longest. */
enum { DEMANGLE_SHORT = 1024, DEMANGLE_LONGEST = 4096 };

static inline bool demangle_may(const char *symbol)
{
	return symbol[0] == '_' && symbol[1] && strchr("ZDR", symbol[1]);
}

/* gcc makes three functions of a coroutine of C++20. What makes its frame has
 * its name, and the others get the frame, whose type is called by that: "f(f(
 * int)::_Z1fi.Frame*) [clone .actor]" (gcc 16: "f(_Z1fi.Frame*) ...") resumes
 * f(int), and is called "f(int) [resumed]". Takes name; what it returns is to
 * be freed. A hostile symbol's name may be longer than any symbol. */
static inline char *demangle_coroutine(char *name, size_t longest,
				       int options)
{
	static const char *const ends[] = {
		".Frame*) [clone .actor]", " [resumed]",
		".Frame*) [clone .destroy]", " [destroyed]",
	};
	char *own = NULL, *of = NULL, *all = NULL;
	size_t i = 0, length = strlen(name);

	while (i < 4 && (length < strlen(ends[i]) ||
			 strcmp(name + length - strlen(ends[i]), ends[i])))
		i += 2;
	if (i == 4)
		return name;
	length -= strlen(ends[i]);
	for (char *at = name; (at = strstr(at, "_Z")); at++)
		if (at > name && (at[-1] == '(' || at[-1] == ':'))
			own = at;
	name[length] = '\0';
	of = own && strnlen(own, longest + 1) <= longest ?
	     cplus_demangle(own, options) : NULL;
	all = of ? malloc(strlen(of) + strlen(ends[i + 1]) + 1) : NULL;
	if (all)
		strcat(strcpy(all, of), ends[i + 1]);
	free(of);
	name[length] = '.';
	if (!all)
		return name;
	free(name);
	return all;
}

/* Write a standard library's strings as programs do. */
static inline void demangle_shorten(char *name)
{
	static const char *const types[][2] = {
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, "
		  "std::allocator<char> >", "std::string" },
		{ "std::basic_string_view<char, std::char_traits<char> >",
		  "std::string_view" },
	};
	char *to = name;

	for (const char *from = name; *from;) {
		size_t i = 0, length = 0;

		while (i < 2 && length == 0) {
			length = strlen(types[i][0]);
			if (strncmp(from, types[i][0], length) != 0)
				length = 0;
			i++;
		}
		if (length == 0) {
			*to++ = *from++;
			continue;
		}
		from += length;
		to = stpcpy(to, types[i - 1][1]);
	}
	*to = '\0';
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
	if (!name)
		return NULL;
	name = demangle_coroutine(name, longest, options);
	demangle_shorten(name);
	return name;
}
